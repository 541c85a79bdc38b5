"""Models of search engines, and of the libraries of boosted trees."""

import json
import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Any

from ..boosting import tree_scores
from ..columns.types import ArrayLike, Estimator
from ..trees import Forest
from ._additive import Category, Curve
from ._folding import folded
from ._score_tree import Score, Steps, Sum, names_of_features, score_tree, unwrapped
from ._trees import columns_of, forests_of_numbers, single_above, sources_of


def to_elasticsearch(
    ranker: Estimator,
    name: str,
    *,
    feature_names: ArrayLike | None = None,
    feature_set: Sequence[str] | None = None,
) -> str:
    """Write a ranker as a model of the Learning to Rank plugin of Elasticsearch.

    A linear ranker is a model of the type ``model/linear``, boosted trees are one of the type
    ``model/xgboost+json``, whichever library grew them. The plugin computes in single precision.
    It takes a feature that a document lacks for 0 or, in newer versions, for missing: fill in 0 in
    the training data, with which a model is right in both, as :doc:`/exporting` describes.

    Parameters
    ----------
    ranker : estimator
        A fitted linear ranker, also with scalers and feature selection before it;
        :class:`~skcalrank.BoostedRanker`, or a ranker around ``HistGradientBoostingRegressor``,
        ``LGBMRegressor`` or ``XGBRegressor``.
    name : str
        Name of the model.
    feature_names : list of str, default=None
        Names of the features in the plugin; None takes the names of the data frame of `fit`.
    feature_set : list of str, default=None
        Names in the feature set of the plugin, to be checked here: the plugin refuses a model
        with other names.

    Returns
    -------
    text : str
        The body of ``POST _ltr/_featureset/<feature set>/_createmodel``. Scores of the plugin are
        those of `predict` up to a constant, which ranks nothing. They may be negative, and Lucene
        wants scores that are not: :doc:`/exporting` tells how to add a constant.

    Raises
    ------
    ValueError
        If the ranker has neither form, trees split categories or begin at a `start`, the score
        bends or takes logarithms of features, or names are missing or unknown.

    Examples
    --------
    >>> import json
    >>> from skcalrank import PrecisionRanker
    >>> from skcalrank.export import to_elasticsearch
    >>> ranker = PrecisionRanker(k=1, alpha=0).fit([[0.0], [4.0]], [0, 1], [0, 0])
    >>> body = json.loads(to_elasticsearch(ranker, "mine", feature_names=["title_match"]))
    >>> body["model"]["model"]["type"]
    'model/linear'
    """
    score, names = score_tree(ranker), names_of_features(ranker, feature_names)
    transformers, grown = [], score
    while isinstance(grown, Steps):
        transformers += grown.transformers
        grown = grown.score
    if not isinstance(grown, Sum) or grown.trees is None:
        kind, definition = "model/linear", _weights(score, names)
        used = set(definition)
    elif grown.terms:
        raise ValueError(
            f"{type(grown.trees).__name__} begins at the scores of a start, which are not trees: "
            "fit with start=None, or use to_json or to_onnx."
        )
    elif transformers:
        raise ValueError(
            "Boosted trees split the columns that the steps before them make, and the plugin has "
            "the features alone: fit the trees without these steps, or use to_onnx."
        )
    else:
        kind, forests = "model/xgboost+json", forests_of_numbers(grown.trees)
        names = [names[source] for source in sources_of(grown.trees)]
        roots = ((forest, root) for forest in forests for root in forest.roots)
        definition = [_tree(*root, names, grown.missing) for root in roots]
        used = {names[column] for column in columns_of(forests)}
    if feature_set is not None and (unknown := used - set(feature_set)):
        raise ValueError(
            f"feature_set must hold every feature of the ranker, got none named "
            f"{', '.join(sorted(unknown))}: add them to it, or pass feature_names= as it has them."
        )
    model = {"type": kind, "definition": json.dumps(definition, allow_nan=False)}
    return json.dumps({"model": {"name": name, "model": model}}, indent=2)


def to_opensearch(
    ranker: Estimator,
    name: str,
    *,
    feature_names: ArrayLike | None = None,
    feature_set: Sequence[str] | None = None,
) -> str:
    """Write a ranker as a model of the Learning to Rank plugin of OpenSearch.

    The plugin is a port of that for Elasticsearch, and takes the same models: see
    :func:`to_elasticsearch`.

    Parameters
    ----------
    ranker, name, feature_names, feature_set
        As in :func:`to_elasticsearch`.

    Returns
    -------
    text : str
        The body of ``POST _ltr/_featureset/<feature set>/_createmodel``.
    """
    return to_elasticsearch(ranker, name, feature_names=feature_names, feature_set=feature_set)


def _weights(tree: Score, names: list[str]) -> dict[str, float]:
    score, trees = folded(tree, names)
    if trees:
        raise ValueError(
            "The ranker adds trees to other scores, and a model of the plugin holds one kind: "
            "export the rankers of the stack one by one, or use to_json or to_onnx."
        )
    curves = [term for term in score.terms if isinstance(term, Curve)]
    if bent := sorted({curve.feature for curve in curves if curve.kind != "linear"}):
        raise ValueError(
            f"The score bends or takes logarithms of {', '.join(bent)}, and model/linear has a "
            "number for each feature: let features of the plugin compute the columns and export a "
            "ranker of these, or use to_sql, to_json or to_onnx."
        )
    if names := sorted({term.feature for term in score.terms if isinstance(term, Category)}):
        raise ValueError(
            f"{', '.join(names)} must be numbers in model/linear, got categories: let features of "
            "the plugin be 1 where a document has a category and export a ranker of these, or use "
            "to_sql, to_json or to_onnx."
        )
    weights, at_zero = defaultdict[str, float](float), defaultdict[str, float](float)
    for curve in curves:
        weights[curve.feature] += score.terms[curve]
        at_zero[curve.feature] -= score.terms[curve] * curve.offset
    filled = score.missing.items()
    if names := sorted(name for name, x in filled if not math.isclose(x, at_zero[name])):
        raise ValueError(
            f"{', '.join(names)} must count as 0 where missing, as the plugin takes them, got "
            "another value of SimpleImputer: use SimpleImputer(strategy='constant', fill_value=0) "
            "as the first step, or to_sql, to_json or to_onnx."
        )
    return weights


def _tree(
    forest: Forest, node: int, names: list[str], missing: Any, numbers: Any = None, depth: int = 0
) -> dict[str, Any]:
    """Return a tree as XGBoost writes it.

    What is missing goes where 0 goes unless it was missing in fit, too: some versions of the plugin
    take it for 0, and others for missing. `missing` are the columns that had missing values in fit,
    None if that is not known.
    """
    numbers = count() if numbers is None else numbers
    number = next(numbers)
    if node < 0:
        return {"nodeid": number, "leaf": forest.weight * forest.values[-1 - node]}
    below = _tree(forest, forest.below[node], names, missing, numbers, depth + 1)
    above = _tree(forest, forest.above[node], names, missing, numbers, depth + 1)
    column, threshold = forest.features[node], forest.thresholds[node]
    lacked = missing is None or column in missing
    missing_below = forest.missing_below[node] if lacked else threshold >= 0.0
    return {
        "nodeid": number,
        "depth": depth,
        "split": names[column],
        "split_condition": single_above(threshold),
        "yes": below["nodeid"],
        "no": above["nodeid"],
        "missing": (below if missing_below else above)["nodeid"],
        "children": [below, above],
    }


def to_engine(ranker: Estimator) -> str:
    """Write the trees of a ranker as the library has them.

    Parameters
    ----------
    ranker : BoostedRanker or ExternalRanker
        Fitted, with ``n_models=1`` and without `start`, by LightGBM or XGBoost.

    Returns
    -------
    text : str
        What ``lightgbm.Booster(model_str=text)`` reads, or
        ``xgboost.Booster(model_file=bytearray(text, "utf-8"))``. Of a table it reads the matrix of
        ``encoder_``, with NaN for codes of -1; where categories were missing in `fit`, missing is
        the code 0, and the others are larger by 1.

    Raises
    ------
    ValueError
        If the scores are not those of one model of such a library.

    Examples
    --------
    >>> from skcalrank import BoostedRanker, load_digits_queries
    >>> from skcalrank.export import to_engine
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=20)
    >>> ranker = BoostedRanker(n_estimators=2, n_jobs=1).fit(X, y, qid)
    >>> len(to_engine(ranker)) > 100
    True
    """
    score_tree(ranker)
    model = unwrapped(ranker)
    trees = tree_scores(model)
    if trees is None and not hasattr(model, "model_weights_"):
        raise ValueError(
            f"{type(model).__name__} holds no trees of a library: pass a BoostedRanker, or use "
            "to_onnx or to_json."
        )
    if trees is None or len(trees.boosters) > 1:
        raise ValueError(
            f"{type(model).__name__} adds up {len(model.model_weights_)} models and its start, and "
            "a file of the library holds one model: fit with n_models=1 and start=None, or use "
            "to_json or to_onnx."
        )
    text = trees.text()
    if not isinstance(text, str):
        raise ValueError(
            "Trees of scikit-learn have no text: use to_elasticsearch, to_onnx or "
            "skcalrank.persistence."
        )
    return text
