"""Why a document is ranked above another: the difference of two scores as a sum over features."""

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from ..columns import is_missing, tables, texts
from ..columns.arrays import num_samples
from ..columns.types import Array, ArrayLike, Estimator, Floats, Ints, Matrix
from ..data import MissingQidError, check
from ._parts import Explained, adds_parts, dense, parts_of

# Of the document that is explained, and of what it is compared with.
_Names = tuple[str, str]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    r"""Difference of two scores as a sum over the features.

    For a linear score it is :math:`\sum_k w_k (x_k - z_k)`, for trees the difference of the SHAP
    values of the two rows, and for a stack the sum of what its rankers add.

    Attributes
    ----------
    feature_names : ndarray of str of shape (d,)
        Names of the features.
    values : ndarray of shape (d,)
        Features of the explained document, as the ranker gets them (after the other steps of a
        pipeline).
    reference : ndarray of shape (d,)
        Features of the document it is compared with, or their means over the query; 0 if two items
        of one instance are compared.
    weights : ndarray of shape (d,)
        Coefficients, or the difference of the coefficients of two items; NaN for trees and stacks.
    contributions : ndarray of shape (d,)
        Contribution of each feature: ``weights * (values - reference)``, or `parts`.
    constant : float
        Difference of the intercepts of two items, else 0.
    first, second : str
        Names of the two documents or items in tables and titles.
    parts : ndarray of shape (d,) or None
        Contributions for trees and stacks; None for a linear score.

    See Also
    --------
    explain_order : Makes an explanation.
    skcalrank.displays.ContributionDisplay : Plots an explanation.
    """

    feature_names: np.ndarray
    values: np.ndarray
    reference: np.ndarray
    weights: np.ndarray
    constant: float
    first: str
    second: str
    parts: Any = None

    @property
    def contributions(self) -> Floats:
        """Contribution of each feature to the difference of the scores, of shape (d,)."""
        if self.parts is not None:
            return self.parts
        return self.weights * (self.values - self.reference)

    @property
    def total(self) -> float:
        """Difference of the scores, positive if the first is ranked above the second."""
        return float(self.contributions.sum() + self.constant)

    def order(self) -> Ints:
        """Return the numbers of the features, sorted by absolute contribution, largest first.

        Returns
        -------
        order : ndarray of int of shape (d,)
        """
        return np.argsort(-np.abs(self.contributions), kind="stable")

    def to_frame(self) -> Any:
        """Return the contributions as a pandas DataFrame, largest first.

        Returns
        -------
        frame : DataFrame
            With columns ``value``, ``reference``, ``weight`` (for linear scores) and
            ``contribution``, and the names of the features as index.
        """
        import pandas as pd

        columns = {
            "value": self.values,
            "reference": self.reference,
            "weight": self.weights,
            "contribution": self.contributions,
        }
        if self.parts is not None:
            del columns["weight"]
        index = pd.Index(self.feature_names, name="feature")
        return pd.DataFrame(columns, index=index).iloc[self.order()]

    def to_string(self, n_features: int = 10) -> str:
        """Return the contributions as a table in text.

        Parameters
        ----------
        n_features : int, default=10
            Number of features with their own line; the others share one.

        Returns
        -------
        table : str
        """
        check.count("n_features", n_features)
        by_size, parts = self.order(), self.contributions
        cells = [["feature", "value", "reference", "weight", "contribution"]]
        for k in by_size[:n_features]:
            numbers = self.values[k], self.reference[k], self.weights[k]
            name = texts.line(self.feature_names[k])
            cells.append([name, *map(_said, numbers), f"{parts[k]:+.4g}"])
        left = by_size[n_features:]
        if len(left):
            cells.append([texts.others(len(left)), "", "", "", f"{parts[left].sum():+.4g}"])
        if self.constant:
            cells.append(["constant", "", "", "", f"{self.constant:+.4g}"])
        cells.append(["difference of scores", "", "", "", f"{self.total:+.4g}"])
        if self.parts is not None:
            cells = [row[:3] + row[4:] for row in cells]
        return "\n".join(
            [texts.line(f"{self.first} against {self.second}"), *texts.aligned(cells, "  ")]
        )

    __str__ = to_string

    def __repr__(self) -> str:
        """Return the names of both and the difference of their scores."""
        return f"Explanation({self.first} against {self.second}: {self.total:+.4g})"


def _said(value: Any) -> str:
    """Return a value as text; None becomes the empty text, and NaN says that it is missing."""
    if value is None:
        return ""
    if not isinstance(value, (int, float, np.number)):
        return str(value)
    number = float(value)
    if number != number:
        return "missing"
    return f"{number:.0f}" if 1e4 <= abs(number) < 1e12 else f"{number:.4g}"


def explain_order(
    ranker: Estimator,
    X: Matrix,
    first: Hashable,
    second: Hashable = None,
    *,
    qid: ArrayLike | None = None,
    instance: Hashable = None,
    feature_names: ArrayLike | None = None,
) -> Explanation:
    r"""Explain why a document is ranked above another, or above the mean of its query.

    A linear score ranks x above z if :math:`w \cdot (x - z) > 0`. This sum has one term for each
    feature, its contribution, which is exact and not a local approximation of the model. The
    contributions of trees are differences of SHAP values, computed along the paths of the trees;
    they also sum to the difference of the scores. A stack adds up what its rankers add, in the
    unit of its score.

    Parameters
    ----------
    ranker : fitted ranker, or a pipeline, search or host of a ranker
        A ranker with a linear score (``coef_``), a :class:`~skcalrank.BoostedRanker`, a ranker of
        documents around trees of scikit-learn, such as ``HistGradientBoostingRegressor()``, or a
        :class:`~skcalrank.TabularRanker` or other stack of these. In a pipeline, the features are
        those after the other steps. Columns of a table that `fit` left out are no features.
    X : array-like or sparse matrix of shape (n_rows, d)
        Documents, or instances in the label-ranking form.
    first : int or label
        Row of the document to explain: its number or, if X is a pandas DataFrame whose index is not
        0, 1, ... in order, its label there, as :func:`~skcalrank.evaluation.rank_frame` has it. In
        the label-ranking form, number of the item.
    second : int or label, default=None
        Row, or item, to compare with. If None, the mean of the query, or of all items: then
        the total is the score minus the mean score of the query.
    qid : array-like of shape (n_rows,) or scalar, default=None
        Query of each row; a scalar means that all rows are one query. Required if the ranker was
        fitted with a qid, and `second` is None or the ranker is a stack, of which X then must have
        the whole query. A :class:`~skcalrank.pipeline.HostedRanker` may find it in X.
    instance : int or label, default=None
        In the label-ranking form, row of the instance whose items are compared.
    feature_names : array-like of str of shape (d,), default=None
        Names of the columns of X, that of a host's queries included. If None, the names seen in
        `fit`, else x0, x1, ...

    Returns
    -------
    explanation : Explanation
        Its `contributions` and its `constant` sum to the difference of the scores.

    Raises
    ------
    ValueError
        If the score is neither linear nor a sum of trees that can be explained, the rows
        are of two queries, there is no such row or item, or several rows have its label.
    MissingQidError
        If the qid is required, and not given.

    See Also
    --------
    skcalrank.displays.ContributionDisplay : Plots an explanation.
    skcalrank.BoostedRanker.contributions : SHAP values of all rows.
    skcalrank.StackingRanker.contributions : Contributions to all scores of a stack.
    sklearn.inspection.permutation_importance : Importance of features for a whole data set.

    Examples
    --------
    >>> from skcalrank import NDCGRanker
    >>> from skcalrank.inspection import explain_order
    >>> X, y, qid = [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [3.0, 5.0]], [0, 1, 0, 1], [0, 0, 1, 1]
    >>> ranker = NDCGRanker().fit(X, y, qid)
    >>> found = explain_order(ranker, X, 1, 0)
    >>> scores = ranker.predict(X)
    >>> abs(found.total - float(scores[1] - scores[0])) < 1e-12
    True
    >>> print(explain_order(ranker, X, 3, qid=qid))
    row 3 against the mean of its query
    feature               value  reference  weight  contribution
    x0                        3          2  0.1507       +0.1507
    x1                        5          3  0.0395      +0.07899
    difference of scores                                 +0.2297
    """
    explained = Explained.of(ranker, X, qid, feature_names)
    ranker = explained.ranker
    of_documents = getattr(ranker, "n_items_", 1) is None
    in_parts = adds_parts(ranker, of_documents)
    if ranker.n_items_ is not None:
        if explained.qid is not None:
            raise ValueError(
                "qid must be None for a ranker fitted in the label-ranking form, in which each row "
                "is its own query. Drop qid."
            )
        return _of_items(explained, first, second, instance)
    if instance is not None:
        raise ValueError(
            f"instance must be None for a ranker fitted to documents, got {instance!r} (it is for "
            "the label-ranking form). Pass row numbers as first and second."
        )
    said = f"row {first}", "the mean of its query" if second is None else f"row {second}"
    first = check.row_number("first", first, X)
    second = None if second is None else check.row_number("second", second, X)
    rows = _compared_rows(explained, first, second)
    explain = _of_parts if in_parts else _of_documents
    return explain(explained, rows, first, said)


def _compared_rows(explained: Explained, first: int, second: int | None) -> Ints:
    """Return the row numbers to compare."""
    if second is None and explained.qid is None and explained.ranker.record_.has_qid:
        raise MissingQidError(
            "qid must be given to compare a row with its query, since the ranker was fitted "
            "with a qid, got None. Pass qid=qid, qid=0 if all rows are one query, or second= for a "
            "row to compare with."
        )
    codes = explained.queries.codes
    if second is None:
        return np.flatnonzero(codes == codes[first])
    if codes[first] != codes[second]:
        raise ValueError(
            f"first and second must be rows of one query, got rows {first} and {second} of two "
            "queries."
        )
    return np.array([first, second])


def _of_documents(explained: Explained, rows: Ints, first: int, said: _Names) -> Explanation:
    X, names = explained.linear_rows(rows)
    values, weights = X[np.flatnonzero(rows == first)[0]], explained.ranker.coef_.flatten()
    return Explanation(names, values, _other(X, said[1]), weights, 0.0, *said)


def _other(values: Floats, against: str) -> Floats:
    """Return the row to compare with: the second of two rows, or the mean of a query."""
    return values[1] if against.startswith("row") else values.mean(axis=0)


def _of_parts(explained: Explained, rows: Ints, first: int, said: _Names) -> Explanation:
    whole, codes, ranker = np.unique(rows), None, explained.ranker
    if getattr(ranker, "_explains_queries", False):  # as contributions within a query
        codes = explained.queries.codes
        whole = np.flatnonzero(codes == codes[first])
        codes = None if explained.qid is None else codes[whole]
    table = explained.rows(whole)
    scores = None if hasattr(ranker, "contributions") else ranker.surrogate_values(table)
    chosen = np.searchsorted(whole, rows)
    parts = parts_of(ranker, table, scores, codes)[chosen]
    place = np.flatnonzero(rows == first)[0]
    seen = getattr(ranker, "feature_names_in_", None)
    values, reference = _cells(tables.take_rows(table, chosen), place, said[1], seen)
    names = explained.features(parts.shape[1])
    parts, kept = parts[place] - _other(parts, said[1]), np.ones(len(names), dtype=bool)
    if getattr(ranker, "encoder_", None) is not None:
        kept = np.isin(np.arange(len(names)), ranker.encoder_.sources_) | (parts != 0)
    cells = (names[kept], values[kept], reference[kept], np.full(kept.sum(), np.nan))
    return Explanation(*cells, 0.0, *said, parts[kept])


def _cells(table: Any, place: int, against: str, seen: Array | None) -> tuple[Array, Array]:
    """Return the features of a row and of its reference, with values of any type.

    `seen` are the names of the columns in fit, or None.
    """
    if not tables.has_columns(table):
        cells = dense(table)
        is_row = against.startswith("row")
        return cells[place], cells[1] if is_row else np.array(list(map(_mean, cells.T.tolist())))
    columns = list(map(_values_of, _columns_seen(table, seen)))
    values = np.array([rows[place] for rows in columns] + [None], dtype=object)[:-1]
    others = [rows[1] if against.startswith("row") else _mean(rows) for rows in columns]
    return values, np.array([*others, None], dtype=object)[:-1]


def _columns_seen(table: Any, seen: Any) -> list[Any]:
    """Return the values of the columns of fit; those that fit left out may be missing."""
    names = tables.column_names(table)
    if names is None or seen is None:
        return list(tables.columns_of(table))
    there = [name for name in seen if name in names]
    values = dict(zip(there, tables.columns_of(table, there)))
    return [values.get(name, [np.nan] * num_samples(table)) for name in seen]


def _values_of(values: Any) -> list[Any]:
    """Return the values of a column as a list, NaN where they are missing."""
    rows = values.values() if isinstance(values, tables.Coded) else tables.listed(values)
    return [np.nan if is_missing(value) else value for value in rows]


def _mean(rows: list[Any]) -> float | None:
    """Return the mean of numbers, without missing ones; None for other values."""
    if not all(isinstance(value, (Number, np.bool_)) for value in rows):
        return None
    known = [float(value) for value in rows if value == value]
    return float(np.mean(known)) if known else np.nan


def _of_items(explained: Explained, first: Any, second: Any, instance: Any) -> Explanation:
    if instance is None:
        raise ValueError(
            "instance must be a row number of X for a ranker fitted in the label-ranking form, got "
            "None. Pass instance=, and items as first and second."
        )
    said = f"item {first} of row {instance}"
    ranker, instance = explained.ranker, check.row_number("instance", instance, explained.X)
    for name, item in (("first", first), ("second", second)):
        if item is not None:
            check.number_of(name, item, ranker.n_items_, "item")
    X, names = explained.linear_rows(np.array([instance]))
    coef, level = ranker.coef_, np.broadcast_to(ranker.intercept_, ranker.n_items_)
    other = slice(None) if second is None else slice(second, second + 1)
    weights = coef[first] - coef[other].mean(axis=0)
    constant = float(level[first] - level[other].mean())
    against = "the mean of all items" if second is None else f"item {second}"
    return Explanation(names, X[0], np.zeros(len(weights)), weights, constant, said, against)
