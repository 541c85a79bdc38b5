"""The score document, a ranker as data: columns that are read, linear views, trees and weights."""

import json
from collections.abc import Iterator
from itertools import chain
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..columns.types import ArrayLike, Estimator
from ..preprocessing import TableEncoder
from ..stacking import scorer_of
from ._additive import Additive, Category, Curve, plain
from ._folding import Grown, folded, number_column
from ._score_tree import names_of_features, score_tree, unwrapped

FORMAT = 2

# Scores whose spread in a query is below this share of the largest count as equal.
ROUNDING = 1e-9


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
        An object, in format 2.

    Raises
    ------
    ValueError
        If the ranker is neither linear nor made of trees, a step before it cannot be written, or
        names are missing.

    Notes
    -----
    The object holds all that scores follow from: how the columns of a table are read, linear views
    as vectors and tables of levels, trees as arrays, and weights. ``scorer.schema.json`` in the
    package describes it, and :doc:`/exporting` has readers of a hundred lines in Python and
    JavaScript. Scores are those of `predict`, for missing values and levels that `fit` has not seen
    as well; where `predict` refuses a missing value they are NaN. Dates are ISO texts, durations
    are seconds.

    A linear ranker has a view for each kind of curve: numbers, logarithms, hinges. Steps before it
    are folded into the coefficients. None and NaN are the same missing value, while
    ``SimpleImputer`` and ``OneHotEncoder`` distinguish them in columns of objects: scores are those
    of `predict` if it is given the one that `fit` was given.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from skcalrank import PrecisionRanker
    >>> from skcalrank.export import to_json
    >>> ranker = PrecisionRanker(k=1, alpha=0).fit([[0.0], [4.0]], [0, 1], [0, 0])
    >>> found = json.loads(to_json(ranker, feature_names=["match"]))
    >>> [column["name"] for column in found["columns"]]
    ['match']
    >>> [(view["kind"], np.round(view["coefficients"], 6).tolist()) for view in found["views"]]
    [('linear', [0.25])]
    """
    return json.dumps(document_of(ranker, feature_names), allow_nan=False)


def document_of(ranker: Any, feature_names: Any = None) -> dict[str, Any]:
    """Return what JSON holds of a ranker; raise if its score has no such form."""
    document = compiled_document(ranker, feature_names)
    if document is not None:
        return document
    score, trees = folded(score_tree(ranker), names_of_features(ranker, feature_names))
    return {"format": FORMAT, **_Written(score, trees).document()}


def compiled_document(ranker: Any, feature_names: Any = None) -> dict[str, Any] | None:
    """Return what JSON holds of a ranker that predicts by a compiled scorer; None of other rankers.

    Columns have the names of features, and an array has columns of numbers.
    """
    check_is_fitted(ranker)
    scorer = scorer_of(unwrapped(ranker))
    if scorer is None:
        return None
    document = scorer.to_dict()
    names = names_of_features(ranker, feature_names)
    columns = document["columns"] or map(number_column, names)
    named = [_named(column, name) for column, name in zip(columns, names)]
    return {"format": FORMAT, **document, "columns": named}


def _named(column: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a column with another name, and with levels that JSON holds."""
    parts = ("levels", "rare") if "levels" in column else ()
    return {**column, "name": name} | {part: list(map(plain, column[part])) for part in parts}


class _Written:
    """A sum of functions of features, and trees, as the views and the trees of a scorer."""

    def __init__(self, score: Additive, trees: list[tuple[float, Grown]]) -> None:
        self.score, self.trees, self.columns = score, trees, list[dict[str, Any]]()
        self.curves: dict[str, list[tuple[Curve, float]]] = {}
        levels: dict[str, dict[Any, float]] = {name: {} for name in score.missing}
        for term, weight in score.terms.items():
            if isinstance(term, Category):
                levels.setdefault(term.feature, {})[term.value] = weight
            else:
                self.curves.setdefault(term.kind, []).append((term, weight))
        tables = {name: (list(of), self._table(name, of)) for name, of in levels.items()}
        self.tables = {name: of for name, of in tables.items() if any(x != 0 for x in of[1])}
        self.numbers = list(dict.fromkeys(curve.number for curve, _ in self._all_curves()))

    def document(self) -> dict[str, Any]:
        """Return the scorer as lists, numbers, texts and dicts."""
        views = self._views()
        weights = [1.0] * len(views) + [weight for weight, _ in self.trees]
        return {
            "columns": self.columns,  # which what follows adds, first those of one number each
            "numbers": [self._number(number_column(*number)) for number in self.numbers],
            "in_query": False,
            "means": [0.0 if name in self.score.missing else None for name, _ in self.numbers],
            "categories": [
                self._number({"name": name, "kind": "category", "levels": levels, "rare": []})
                for name, (levels, _) in self.tables.items()
            ],
            "views": views,
            "trees": [self._forests(grown) for _, grown in self.trees],
            "weights": weights,
            "spreads": [1.0] * len(weights),
            "by_query": False,
        }

    def _number(self, column: dict[str, Any]) -> int:
        """Return the number of a column of the table; add it if it is new."""
        column = _named(column, column["name"])
        if column not in self.columns:
            self.columns.append(column)
        return self.columns.index(column)

    def _forests(self, grown: Grown) -> list[dict[str, Any]]:
        read = {k: (self._number(column), output) for k, (column, output) in grown.columns.items()}
        sources = _sources(self.columns)
        places = {k: sources.index(number) + output for k, (number, output) in read.items()}
        features = ([places[feature] for feature in forest.features] for forest in grown.forests)
        return [forest.to_dict() | {"features": of} for forest, of in zip(grown.forests, features)]

    def _views(self) -> list[dict[str, Any]]:
        """Return a view for each kind of curve, the first with the constant and the categories."""
        is_needed = self.tables or self.score.constant or not self.trees
        kinds = list(self.curves) or (["linear"] if is_needed else [])
        views, tables = list[dict[str, Any]](), [table for _, table in self.tables.values()]
        for kind in kinds:
            curves, weights = zip(*self.curves[kind]) if self.curves else ((), ())
            view: dict[str, Any] = {"kind": kind, "coefficients": list(weights)}
            if "hinges" in kind:
                view["features"] = [self.numbers.index(hinge.number) for hinge in curves]
                view["starts"] = [hinge.start for hinge in curves]
                view["ends"] = [hinge.end for hinge in curves]
            else:
                of_numbers = dict(zip((curve.number for curve in curves), weights))
                view["coefficients"] = [of_numbers.get(number, 0.0) for number in self.numbers]
            view["intercept"] = 0.0 if views else self.score.constant
            view["levels"] = [[0.0] * len(table) for table in tables] if views else tables
            views.append(view)
        return views

    def _table(self, name: str, levels: dict[Any, float]) -> list[float | None]:
        """Return what each level of a feature adds, then an unseen and a missing one.

        Where the feature is missing its curves are those of a number 0, which this takes back.
        """
        at_zero = sum(w * curve.at_zero for curve, w in self._all_curves() if curve.feature == name)
        missing = self.score.missing.get(name)
        return [*(levels.values() or [0.0]), 0.0, None if missing is None else missing - at_zero]

    def _all_curves(self) -> Iterator[tuple[Curve, float]]:
        return chain.from_iterable(self.curves.values())


def weights_of(document: dict[str, Any]) -> list[float]:
    """Return the weights of the members, whose scores are divided by their spreads."""
    weights, spreads = document["weights"], document["spreads"]
    if document["by_query"]:  # they are scaled already
        return weights
    return [weight / spread for weight, spread in zip(weights, spreads)]


def reads_queries(document: dict[str, Any]) -> bool:
    """Return whether a score depends on the other documents of the query."""
    is_scaled = any(view["kind"] == "scaled" for view in document["views"])
    return is_scaled or document["in_query"] or document["by_query"]


def matrix_columns(
    document: dict[str, Any], kinds: tuple[str, ...], what: str
) -> list[tuple[int, dict[str, Any], bool]]:
    """Return the column of the table that each column of the matrix comes from.

    With its number in the table, and whether a member reads the column of the matrix.

    Raises ValueError if members read columns that are of other kinds.
    """
    sources = _sources(document["columns"])
    used = {*_split(document), *scaled_columns(document, len(sources)).values()}
    if document["views"]:
        used |= {*document["numbers"], *document["categories"]}
    columns = [(k, document["columns"][k], place in used) for place, k in enumerate(sources)]
    refused = {
        column["name"]: "text" if column.get("from_text") else column["kind"]
        for _, column, is_used in columns
        if is_used and (column["kind"] not in kinds or column.get("from_text"))
    }
    if refused:
        said = ", ".join(f"{name!r} ({kind})" for name, kind in refused.items())
        raise ValueError(
            f"Columns must hold {what}, got {said}: compute their numbers where features are "
            f"computed, fit with columns={dict.fromkeys(refused, 'drop')}, or use to_json."
        )
    return columns


def scaled_columns(document: dict[str, Any], n_columns: int) -> dict[int, int]:
    """Return the columns to the right of a matrix of so many columns that trees read.

    With the column of the matrix that each is, scaled within the query.
    """
    beside = dict(enumerate(document["numbers"], n_columns))
    return {place: beside[place] for place in sorted(_split(document)) if place >= n_columns}


def _split(document: dict[str, Any]) -> set[int]:
    """Return the columns that trees split."""
    return {k for trees in document["trees"] for forest in trees for k in forest["features"]}


def _sources(columns: list[dict[str, Any]]) -> list[int]:
    """Return the column of the table that each column of the matrix comes from."""
    return TableEncoder.from_dicts(columns).sources_.tolist()
