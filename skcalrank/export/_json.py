"""Scores as JSON."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..data.types import ArrayLike, Estimator
from ._folding import folded
from ._scorer import scorer_document
from ._trees import Kinds, Split, scaled, splits_of

FORMAT = 1

_BRANCH = {True: "yes", False: "no"}


def to_json(ranker: Estimator, *, feature_names: ArrayLike | None = None) -> str:
    """Write a ranker of a table, or a linear ranker with the steps before it, as JSON.

    Parameters
    ----------
    ranker : estimator
        A fitted :class:`~skcalrank.TabularRanker`, :class:`~skcalrank.BoostedRanker`, linear
        ranker, stack of these, or a pipeline or search around one. Scalers, logarithms
        (:func:`~skcalrank.preprocessing.signed_log1p`), hinges, splines of degree 1,
        ``SimpleImputer``, ``OneHotEncoder`` and feature selection before a linear ranker are
        written with it, as functions of the features of the pipeline; feature selection alone
        before trees.
    feature_names : list of str, default=None
        Names of the features; None takes the names of the data frame of `fit`.

    Returns
    -------
    text : str
        An object, in one of two formats.

    Raises
    ------
    ValueError
        If the ranker is neither linear nor made of trees, a step before it cannot be written, or
        names are missing.

    Notes
    -----
    **Format 2** is that of :class:`~skcalrank.TabularRanker`, of boosted trees without `start`, and
    of stacks of these and of linear views. It holds all that scores follow from: how the columns of
    a table are read, the linear views as vectors and tables of levels, the trees as arrays, and
    weights. ``scorer.schema.json`` in the package describes it, and :doc:`/exporting` has
    readers of a hundred lines in Python and JavaScript. Scores are those of `predict`, for missing
    values and levels that `fit` has not seen as well. Dates are ISO texts, durations are seconds.

    **Format 1** is that of other rankers, sums of functions of single features. It has
    `intercept`, `coefficients` by feature, `log_coefficients` by feature, which multiply
    ``sign(x) * log(1 + abs(x))``, `hinges`, a list of `feature`, `log`, `start`, `end` and
    `weight`, which multiplies ``clip((v - start) / (end - start), 0, 1)`` for the feature v or,
    where `log` is true, its logarithm; `categories`, a list of `feature`, `value` and `weight`,
    which is added where the feature has the value; `missing`; `trees`; and `known_categories`.
    Where a feature is missing, the number that `missing` has for it replaces all these terms but
    trees; without a number there, the feature must have a value. A node of a tree has a `value`; or
    a `feature`, a threshold `less` or a list of categories `in`, and the branches `yes` for
    features below the threshold or in the list, and `no`. `missing` names the branch of missing
    values. `known_categories` lists the categories of each feature that a node has a list for, and
    `unseen` of such a node names the branch of those that are not in it. Thresholds are for
    features in single precision. The score is the sum, that of `predict` up to a constant. None and
    NaN are the same missing value, while ``SimpleImputer`` and ``OneHotEncoder`` distinguish them
    in columns of objects: scores are those of `predict` if it is given the one that `fit` was
    given.

    Examples
    --------
    >>> import json
    >>> from skcalrank import PrecisionRanker
    >>> from skcalrank.export import to_json
    >>> ranker = PrecisionRanker(k=1, alpha=0).fit([[0.0], [4.0]], [0, 1], [0, 0])
    >>> found = json.loads(to_json(ranker, feature_names=["match"]))
    >>> list(found)
    ['format', 'intercept', 'coefficients', 'log_coefficients', 'hinges', 'categories', 'missing',
    'trees', 'known_categories']
    >>> round(found["coefficients"]["match"], 6)
    0.25
    """
    document = scorer_document(ranker, feature_names)
    if document is not None:
        return json.dumps(document, allow_nan=False)
    score = folded(ranker, feature_names)
    known = _known_categories(tree for _, tree in score.trees)
    return json.dumps(
        {
            "format": FORMAT,
            "intercept": score.constant,
            "coefficients": {v.feature: w for v, w in score.slopes.items() if not v.log},
            "log_coefficients": {v.feature: w for v, w in score.slopes.items() if v.log},
            "hinges": [
                {
                    "feature": hinge.value.feature,
                    "log": hinge.value.log,
                    "start": hinge.start,
                    "end": hinge.end,
                    "weight": weight,
                }
                for hinge, weight in score.hinges.items()
            ],
            "categories": [
                {"feature": category.feature, "value": category.value, "weight": weight}
                for category, weight in score.categories.items()
            ],
            "missing": dict(score.missing),
            "trees": [_node(scaled(tree, weight), known) for weight, tree in score.trees],
            "known_categories": {feature: list(names) for feature, names in known.items()},
        },
        indent=2,
        allow_nan=False,
    )


def _known_categories(trees: Iterator[Any]) -> dict[str, dict[Any, None]]:
    """Return the categories of each feature that trees split by categories."""
    known: defaultdict[str, dict[Any, None]] = defaultdict(dict)
    for split in splits_of(trees):
        if isinstance(split, Kinds):
            known[str(split.feature)].update(dict.fromkeys(split.known))
    return known


def _node(tree: Any, known: dict[Any, Any]) -> dict[str, Any]:
    if isinstance(tree, float):
        return {"value": tree}
    if isinstance(tree, Split):
        rule: dict[str, Any] = {"less": tree.threshold}
    else:
        rule = {"in": _below(tree, known[tree.feature]), "unseen": _BRANCH[tree.unseen_below]}
    return {
        "feature": tree.feature,
        **rule,
        "missing": _BRANCH[tree.missing_below],
        "yes": _node(tree.below, known),
        "no": _node(tree.above, known),
    }


def _below(split: Kinds, known: dict[str, None]) -> list[Any]:
    """Return the categories below a split, with those that only other trees know."""
    others = known.keys() - split.known if split.unseen_below else ()
    return split.categories + [name for name in known if name in others]
