"""Explanations of rankings: exact contributions of the features to a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted

from .boosting import has_tree_parts, tree_parts
from .data import MissingQidError, arrays, check, is_lazy, tables
from .data.types import ArrayLike, Floats, Ints, Matrix
from .pipeline import transform_rows

__all__ = ["Explanation", "explain_order"]

# Largest error of a score that counts as linear in the features, relative to its terms.
_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    r"""Difference of two scores as a sum over the features.

    For a linear score it is :math:`\sum_k w_k (x_k - z_k)`, for trees the difference of the SHAP
    values of the two rows.

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
        Coefficients, or the difference of the coefficients of two items; NaN for trees.
    contributions : ndarray of shape (d,)
        Contribution of each feature: ``weights * (values - reference)``, or `parts`.
    constant : float
        Difference of the intercepts of two items, else 0.
    first, second : str
        Names of the two documents or items in tables and titles.
    parts : ndarray of shape (d,) or None
        Contributions for trees; None for a linear score.

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
            With columns ``value``, ``reference``, ``weight`` (not for trees) and ``contribution``,
            and the names of the features as index.
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
            cells.append([str(self.feature_names[k]), *map(_said, numbers), f"{parts[k]:+.4g}"])
        left = by_size[n_features:]
        if len(left):
            cells.append([f"{len(left)} others", "", "", "", f"{parts[left].sum():+.4g}"])
        if self.constant:
            cells.append(["constant", "", "", "", f"{self.constant:+.4g}"])
        cells.append(["difference of scores", "", "", "", f"{self.total:+.4g}"])
        if self.parts is not None:
            cells = [row[:3] + row[4:] for row in cells]
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in cells
        ]
        return "\n".join([f"{self.first} against {self.second}", *lines])

    __str__ = to_string

    def __repr__(self) -> str:
        """Return the names of both and the difference of their scores."""
        return f"Explanation({self.first} against {self.second}: {self.total:+.4g})"


def _said(value):
    """Return a number or the name of a category as text; None becomes the empty text."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:.4g}"


def explain_order(
    ranker: Any,
    X: Matrix,
    first: int,
    second: int | None = None,
    *,
    qid: ArrayLike | None = None,
    instance: int | None = None,
    feature_names: ArrayLike | None = None,
) -> Explanation:
    r"""Explain why a document is ranked above another, or above the mean of its query.

    A linear score ranks x above z if :math:`w \cdot (x - z) > 0`. This sum has one term for each
    feature, its contribution, which is exact and not a local approximation of the model. The
    contributions of trees are differences of SHAP values, computed along the paths of the trees;
    they also sum to the difference of the scores. LightGBM and XGBoost compute them; for trees of
    scikit-learn, `shap <https://shap.readthedocs.io>`_ must be installed.

    Parameters
    ----------
    ranker : fitted ranker, or a pipeline or search of a ranker
        A ranker with a linear score (``coef_``), a :class:`~skcalrank.BoostedRanker`, or a ranker
        of documents around trees of scikit-learn, such as ``HistGradientBoostingRegressor()``. In
        a pipeline, the features are those after the other steps.
    X : array-like or sparse matrix of shape (n_rows, d)
        Documents, or instances in the label-ranking form.
    first : int
        Row number of the document to explain; in the label-ranking form, number of the item.
    second : int, default=None
        Row number, or item, to compare with. If None, the mean of the query, or of all items: then
        the total is the score minus the mean score of the query.
    qid : array-like of shape (n_rows,), default=None
        Query of each row. Required if `second` is None and the ranker was fitted with a qid.
    instance : int, default=None
        In the label-ranking form, row number of the instance whose items are compared.
    feature_names : array-like of str of shape (d,), default=None
        Names of the columns of X. If None, the names seen in `fit`, else x0, x1, ...

    Returns
    -------
    explanation : Explanation
        Its `contributions` and its `constant` sum to the difference of the scores.

    Raises
    ------
    ImportError
        If the trees are those of scikit-learn, and shap is not installed.
    ValueError
        If the score is neither linear nor a sum of trees that can be explained (trees of
        scikit-learn with columns of categories cannot), the rows are of two queries, or there is
        no such row or item.
    MissingQidError
        If a document is compared with the mean of its query, and the qid is not given.

    See Also
    --------
    skcalrank.displays.ContributionDisplay : Plots an explanation.
    skcalrank.BoostedRanker.contributions : SHAP values of all rows.
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
    if is_lazy(X):
        raise ValueError(
            "X must be in memory, got a dask collection. Compute the rows of the query and pass "
            "these only."
        )
    ranker, steps = unwrapped(ranker)
    of_documents = getattr(ranker, "n_items_", 1) is None
    of_trees = hasattr(ranker, "contributions") or (
        of_documents and has_tree_parts(getattr(ranker, "estimator_", None))
    )
    if not of_trees:
        _check_linear(ranker)
    if ranker.n_items_ is not None:
        if qid is not None:
            raise ValueError(
                "qid must be None for a ranker fitted in the label-ranking form, in which each row "
                "is its own query. Drop qid."
            )
        return _of_items(ranker, steps, X, first, second, instance, feature_names)
    if instance is not None:
        raise ValueError(
            f"instance must be None for a ranker fitted to documents, got {instance!r} (it is for "
            "the label-ranking form). Pass row numbers as first and second."
        )
    rows, against = _compared_rows(ranker, X, first, second, qid)
    explain = _of_trees if of_trees else _of_documents
    return explain(ranker, steps, X, rows, first, against, feature_names, qid)


def unwrapped(ranker):
    """Return the ranker inside a pipeline or search, and the transformers before it."""
    check_is_fitted(ranker)
    steps = []
    while True:
        if hasattr(ranker, "best_estimator_"):
            ranker = ranker.best_estimator_
        elif hasattr(ranker, "steps"):
            steps += [step for _, step in ranker.steps[:-1] if hasattr(step, "transform")]
            ranker = ranker[-1]
        else:
            return ranker, steps


def _check_linear(ranker):
    if not hasattr(ranker, "n_items_") or not hasattr(ranker, "coef_"):
        raise ValueError(
            "ranker must have a score that is linear in the features (coef_), got "
            f"{type(ranker).__name__}. Pass a ranker around Ridge, GramRidge or another linear "
            "regressor, a linear scorer, or a ranker of trees."
        )
    if ranker.record_.plan.surrogate != "score":
        raise ValueError(
            "ranker must rank by scores, got one fitted with surrogate='pairwise', which has none."
        )


def _compared_rows(ranker, X, first, second, qid):
    """Return the row numbers to compare, and the name of the reference."""
    n_rows = _num_samples(X)
    _check_number("first", first, n_rows, "row")
    if second is not None:
        _check_number("second", second, n_rows, "row")
    elif qid is None and ranker.record_.has_qid:
        raise MissingQidError(
            f"qid must be given to compare row {first} with its query, since the ranker was fitted "
            "with a qid, got None. Pass qid=qid, or second= for a row to compare with."
        )
    codes = check.queries(qid, n_rows).codes
    if second is None:
        return np.flatnonzero(codes == codes[first]), "the mean of its query"
    if codes[first] != codes[second]:
        raise ValueError(
            f"first and second must be rows of one query, got rows {first} and {second} of two "
            "queries."
        )
    return np.array([first, second]), f"row {second}"


def _of_documents(ranker, steps, X, rows, first, against, names, qid):
    X, names = _linear_rows(ranker, steps, X, rows, names, qid)
    values = X[np.flatnonzero(rows == first)[0]]
    coef = np.ravel(ranker.coef_)
    return Explanation(names, values, _other(X, against), coef, 0.0, f"row {first}", against)


def _other(values, against):
    """Return the row to compare with: the second of two rows, or the mean of a query."""
    return values[1] if against.startswith("row") else values.mean(axis=0)


def _of_trees(ranker, steps, X, rows, first, against, names, qid):
    place = np.flatnonzero(rows == first)[0]
    table = _rows_behind(steps, X, rows, qid)
    if hasattr(ranker, "contributions"):
        parts = ranker.contributions(table)[:, :-1]
    else:
        parts = tree_parts(ranker.estimator_, table, ranker.decision_function(table))[:, :-1]
    values, reference = _cells(ranker, table, place, against)
    names = _names_of(ranker, steps, names, parts.shape[1])
    weights = np.full(len(values), np.nan)
    parts = parts[place] - _other(parts, against)
    return Explanation(names, values, reference, weights, 0.0, f"row {first}", against, parts)


def _cells(ranker, table, place, against):
    """Return the features of a row and of its reference, with names of categories."""
    if not tables.is_frame(table):
        cells = table.toarray() if issparse(table) else np.asarray(table, dtype=float)
        return cells[place], _other(cells, against)
    cells = np.empty(table.shape, dtype=object)
    for k, name in enumerate(table.columns):
        cells[:, k] = table[name].to_list() if hasattr(table[name], "to_list") else table[name]
    numbers = np.setdiff1d(np.arange(table.shape[1]), getattr(ranker, "categorical_features_", []))
    reference = np.full(table.shape[1], None)
    if against.startswith("row"):
        return cells[place], cells[1]
    reference[numbers] = cells[:, numbers].astype(float).mean(axis=0)
    return cells[place], reference


def _of_items(ranker, steps, X, first, second, instance, names):
    if instance is None:
        raise ValueError(
            "instance must be a row number of X for a ranker fitted in the label-ranking form, got "
            "None. Pass instance=, and items as first and second."
        )
    _check_number("instance", instance, _num_samples(X), "row")
    for name, item in (("first", first), ("second", second)):
        if item is not None:
            _check_number(name, item, ranker.n_items_, "item")
    X, names = _linear_rows(ranker, steps, X, np.array([instance]), names)
    coef, level = ranker.coef_, np.broadcast_to(ranker.intercept_, ranker.n_items_)
    other = slice(None) if second is None else slice(second, second + 1)
    weights = coef[first] - coef[other].mean(axis=0)
    constant = float(level[first] - level[other].mean())
    against = "the mean of all items" if second is None else f"item {second}"
    said = f"item {first} of row {instance}"
    return Explanation(names, X[0], np.zeros(len(weights)), weights, constant, said, against)


def _linear_rows(ranker, steps, X, rows, names, qid=None):
    """Return rows as the ranker gets them and names of features; raise if scores are not linear."""
    table = _rows_behind(steps, X, rows, qid)
    X = table.toarray() if issparse(table) else np.asarray(table, dtype=float)
    scores = ranker.decision_function(table)
    names = _names_of(ranker, steps, names, X.shape[1])
    coef = np.asarray(ranker.coef_)
    scale = 1.0 + np.abs(X).max() * np.abs(coef).sum()
    gaps = X @ coef.reshape(-1, X.shape[1]).T + ranker.intercept_
    if np.abs(gaps.reshape(scores.shape) - scores).max() > _TOLERANCE * scale:
        raise ValueError(
            f"ranker must have a score that is linear in X, got {type(ranker).__name__}, whose "
            "scores differ from X @ coef_ + intercept_."
        )
    return X, names


def _rows_behind(steps, X, rows, qid):
    """Return rows after the transformers of a pipeline."""
    # Steps that take the queries need whole ones.
    codes = None if qid is None else check.queries(qid, _num_samples(X)).codes
    whole = rows if codes is None else np.flatnonzero(np.isin(codes, codes[rows]))
    codes = None if codes is None else codes[whole]
    arrays.refuse_masked(X=X)
    # Sparse matrices in COO format cannot be indexed by rows.
    table = _safe_indexing(X.tocsr() if issparse(X) else X, whole)
    for step in steps:
        table = transform_rows(step, table, codes)
    return table if codes is None else _safe_indexing(table, np.searchsorted(whole, rows))


def _names_of(ranker, steps, names, n_features):
    """Return the names of the features that the ranker gets, given those of X or None."""
    if names is None and hasattr(ranker, "feature_names_in_"):
        return ranker.feature_names_in_.astype(object)
    for step in steps:
        # Functions as steps do not have names of features.
        names = getattr(step, "get_feature_names_out", lambda _: None)(names)
    if names is None:
        names = [f"x{k}" for k in range(n_features)]
    names = np.asarray(names, dtype=object)
    if names.shape != (n_features,):
        raise ValueError(f"feature_names must have {n_features} names, got shape {names.shape}.")
    return names


def _check_number(name, value, most, what):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise ValueError(f"{name} must be the number of one {what}, got {value!r}.")
    if not 0 <= value < most:
        raise ValueError(f"{name} must be a {what} number from 0 to {most - 1}, got {value}.")
