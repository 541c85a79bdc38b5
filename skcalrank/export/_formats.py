"""Scores as JSON and as SQL."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from ._folding import folded
from ._trees import Kinds, Split, scaled, splits_of

FORMAT = 1

# In texts of MySQL, BigQuery and Spark. BigQuery has no doubled quotes, and texts of one line.
_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r"})


def to_json(ranker: Any, *, feature_names: Any = None) -> str:
    """Write a linear ranker or boosted trees, with the steps before them, as JSON.

    Parameters
    ----------
    ranker : estimator
        A fitted linear ranker, boosted trees, a stack of these, or a pipeline or search around
        one. Scalers, logarithms (:func:`~skcalrank.preprocessing.signed_log1p`), hinges, splines of
        degree 1, ``SimpleImputer``, ``OneHotEncoder`` and feature selection before a linear ranker
        are written with it, as functions of the features of the pipeline; feature selection alone
        before trees.
    feature_names : list of str, default=None
        Names of the features; None takes the names of the data frame of `fit`.

    Returns
    -------
    text : str
        An object with `intercept`, `coefficients` by feature, `log_coefficients` by feature, which
        multiply ``sign(x) * log(1 + abs(x))``, `hinges`, a list of `feature`, `log`, `start`,
        `end` and `weight`, which multiplies ``clip((v - start) / (end - start), 0, 1)`` for the
        feature v or, where `log` is true, its logarithm; `categories`, a list of `feature`,
        `value` and `weight`, which is added where the feature has the value; `missing`; `trees`;
        and `known_categories`. Where a feature is missing, the number that `missing` has for it
        replaces all these terms but trees; without a number there, the feature must have a value.
        A node of a tree has a `value`; or a `feature`, a threshold `less` or a list of categories
        `in`, and the branches `yes` for features below the threshold or in the list, and `no`.
        `missing` names the branch of missing values. `known_categories` lists the categories of
        each feature that a node has a list for; in trees, a category that is not in
        `known_categories` counts as missing. Thresholds are for features in single precision. The
        score is the sum. None and NaN are the same missing value, while ``SimpleImputer`` and
        ``OneHotEncoder`` distinguish them in columns of objects: scores are those of `predict` if
        it is given the one that `fit` was given.

    Raises
    ------
    ValueError
        If the ranker is neither linear nor made of trees, a step before it cannot be written, or
        names are missing.

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


def _known_categories(trees) -> dict[str, dict[Any, None]]:
    """Return the categories of each feature that trees split by categories."""
    known: defaultdict[str, dict[Any, None]] = defaultdict(dict)
    for split in splits_of(trees):
        if isinstance(split, Kinds):
            known[str(split.feature)].update(dict.fromkeys(split.known))
    return known


def _node(tree, known) -> dict[str, Any]:
    if isinstance(tree, float):
        return {"value": tree}
    is_split = isinstance(tree, Split)
    return {
        "feature": tree.feature,
        **({"less": tree.threshold} if is_split else {"in": _below(tree, known[tree.feature])}),
        "missing": "yes" if tree.missing_below else "no",
        "yes": _node(tree.below, known),
        "no": _node(tree.above, known),
    }


def _below(split, known) -> list[Any]:
    """Return the categories below a split, with those that only other trees know."""
    others = known.keys() - split.known if split.missing_below else ()
    return split.categories + [name for name in known if name in others]


def to_sql(ranker: Any, *, feature_names: Any = None, quote: str = '"') -> str:
    """Write a linear ranker, with the steps before it, as an expression of SQL.

    Parameters
    ----------
    ranker, feature_names
        As in :func:`to_json`, but without trees; names of features are names of columns.
    quote : str, default='"'
        Character around names of columns: ``"`` in the standard, a backtick in MySQL, BigQuery
        and Spark. Quotes in categories are doubled, as in the standard; with a backtick, quotes and
        backslashes are escaped by backslashes, as these dialects read them.

    Returns
    -------
    expression : str
        Expression to order by, descending. It consists of numbers, columns, ``+``, ``-``, ``*``,
        ``/``, ``CASE`` and, for logarithms, ``LN``. Where a column is NULL the score is NULL,
        unless a step of the pipeline fills or encodes missing values.

    Raises
    ------
    ValueError
        As in :func:`to_json`; if `quote` is not one character.

    Examples
    --------
    >>> from skcalrank import PrecisionRanker
    >>> from skcalrank.export import to_sql
    >>> ranker = PrecisionRanker(k=1, alpha=0).fit([[0.0], [4.0]], [0, 1], [0, 0])
    >>> to_sql(ranker, feature_names=["match"]).split(" * ")[1]
    '"match"'
    """
    if not isinstance(quote, str) or len(quote) != 1:
        raise ValueError(f"quote must be one character, got {quote!r}.")
    score = folded(ranker, feature_names)
    if score.trees:
        raise ValueError("Boosted trees have no form in to_sql: use to_json or to_onnx.")
    terms: defaultdict[str, list[str]] = defaultdict(list)
    for value, weight in score.slopes.items():
        terms[value.feature].append(f"{_number(weight)} * {_value(value, quote)}")
    for hinge, weight in score.hinges.items():
        terms[hinge.value.feature].append(_hinge(hinge, weight, _value(hinge.value, quote)))
    cases: defaultdict[str, dict[Any, float]] = defaultdict(dict)
    for category, weight in score.categories.items():
        cases[category.feature][category.value] = weight
    for feature, weights in cases.items():
        terms[feature].append(_cases(feature, weights, quote))
    features = dict.fromkeys([*terms, *score.missing])
    summands = [_summand(_name(f, quote), terms[f], score.missing.get(f)) for f in features]
    return " + ".join([_number(score.constant), *summands])


def _cases(feature, weights, quote) -> str:
    """Return the weight of the category of a column, NULL where the column is NULL."""
    column = _name(feature, quote)
    # A comparison with NULL is not true, and the last branch is for the other categories.
    whens = [f"WHEN {_literal(c, quote)} THEN {_number(w)}" for c, w in weights.items()]
    cases = f"CASE {column} {' '.join(whens)} ELSE 0.0e0 END"
    return f"(CASE WHEN {column} IS NULL THEN NULL ELSE {cases} END)"


def _summand(column, terms, missing) -> str:
    added = " + ".join(terms) or "0.0e0"
    if missing is None:
        return added
    return f"(CASE WHEN {column} IS NULL THEN {_number(missing)} ELSE {added} END)"


def _literal(value, quote) -> str:
    if isinstance(value, str):
        escaped = value.translate(_ESCAPES) if quote == "`" else value.replace("'", "''")
        return f"'{escaped}'"
    if isinstance(value, int):
        # TRUE and FALSE are integers of Python, and floats do not hold all large integers.
        text = str(value).upper()
        return f"({text})" if text.startswith("-") else text
    return _number(value)


def _name(feature, quote) -> str:
    return quote + feature.replace(quote, quote * 2) + quote


def _number(value: float) -> str:
    # An exponent makes a number one in floating point, and not a decimal.
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text.startswith("-") else text


def _value(value, quote) -> str:
    column = _name(value.feature, quote)
    if not value.log:
        return column
    return f"(CASE WHEN {column} < 0 THEN -LN(1.0e0 - {column}) ELSE LN(1.0e0 + {column}) END)"


def _hinge(hinge, weight, value) -> str:
    start, end = _number(hinge.start), _number(hinge.end)
    rise = f"({value} - {start}) / {_number(hinge.end - hinge.start)}"
    # A comparison with NULL is not true, and the last branch is NULL then.
    height = (
        f"CASE WHEN {value} <= {start} THEN 0.0e0 WHEN {value} >= {end} THEN 1.0e0 ELSE {rise} END"
    )
    return f"{_number(weight)} * ({height})"
