"""Permutation importance of groups of columns, over whole queries."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..columns import arrays, tables, texts
from ..columns.types import ArrayLike, Estimator, Floats, Ints, Labels, Seed
from ..data import Queries, check
from ..measures import Measure
from ..metrics import measure_score, predict_with_queries
from ._parts import Explained


class PermutationImportance(NamedTuple):
    """What a measure loses if columns are shuffled.

    Attributes
    ----------
    names : list
        Names of the groups, or of the columns.
    importances : ndarray of shape (n_groups,)
        Mean loss over the queries; 0 or below if the ranker does not need the columns.
    errors : ndarray of shape (n_groups,)
        Standard errors of these means over the queries.
    of_queries : ndarray of shape (n_groups, n_queries)
        Loss of each query, a mean over the repeats; NaN where the measure is undefined.
    """

    names: list[Any]
    importances: Floats
    errors: Floats
    of_queries: Floats

    def to_frame(self) -> Any:
        """Return the losses as a pandas DataFrame, largest first.

        Returns
        -------
        frame : DataFrame
            With columns ``importance`` and ``error``, and the names as index.
        """
        import pandas as pd

        columns = {"importance": self.importances, "error": self.errors}
        index = pd.Index(self.names, name="feature", tupleize_cols=False)
        return pd.DataFrame(columns, index=index).iloc[self._order()]

    def __repr__(self) -> str:
        """Return the losses and their errors as a table in text, largest first."""
        rows = [["feature", "importance", "error"]]
        for k in self._order():
            numbers = f"{self.importances[k]:>+10.4f}", f"{self.errors[k]:>8.4f}"
            rows.append([texts.line(self.names[k]), *numbers])
        return "\n".join(texts.aligned(rows, "  "))

    def _order(self) -> Ints:
        return np.argsort(-self.importances, kind="stable")


def query_permutation_importance(
    ranker: Estimator,
    X: Any,
    y: Labels,
    qid: ArrayLike | None = None,
    *,
    measure: str | Measure = "ndcg@10",
    groups: Mapping[Any, Iterable[Any]] | None = None,
    n_repeats: int = 5,
    random_state: Seed = None,
) -> PermutationImportance:
    """Return what a measure loses if columns are shuffled among the documents of each query.

    Use it to ask which columns, or groups of columns that say the same, the order depends on, for
    any ranker. Unlike :func:`sklearn.inspection.permutation_importance` it keeps the values of a
    query in the query, so that the shuffled documents remain candidates of their query, and it has
    errors over the queries. A column that is constant in every query is shuffled among the queries.

    Parameters
    ----------
    ranker : fitted estimator
        A ranker, a pipeline or search of a ranker, or any regressor.
    X : array, DataFrame of pandas or polars, or table of pyarrow, of shape (n_rows, d)
        Rows of whole queries that the ranker has not seen.
    y : array-like of shape (n_rows,)
        Relevances, higher is better. May be a :class:`~skcalrank.RankingTarget`.
    qid : array-like of shape (n_rows,), default=None
        Query of each row. If None, that of `y` or of a column that a host reads, or all rows are
        one query.
    measure : str or Measure, default="ndcg@10"
        What is lost.
    groups : dict of list, default=None
        Columns by the name of their group, as names in a frame and as numbers in an array; those of
        a group are shuffled together. If None, each column is a group.
    n_repeats : int, default=5
        Number of times that each group is shuffled.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffles. They depend on the names of the queries, whatever their order, and on
        the order of the documents within them.

    Returns
    -------
    importance : PermutationImportance

    Raises
    ------
    ValueError
        If a column does not exist, or X is no array or frame.

    See Also
    --------
    explain_scores : Exact contributions of the features to the scores.
    sklearn.inspection.permutation_importance : Shuffles each column over all rows.

    Examples
    --------
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.inspection import query_permutation_importance
    >>> X, y, qid = load_digits_queries(n_queries=40)
    >>> train, test = qid < 20, qid >= 20
    >>> ranker = NDCGRanker().fit(X[train], y[train], qid[train])
    >>> halves = {"first half": range(32), "second half": range(32, 64)}
    >>> found = query_permutation_importance(
    ...     ranker, X[test], y[test], qid[test], groups=halves, random_state=0
    ... )
    >>> found.names, (found.importances > found.errors).tolist()
    (['first half', 'second half'], [True, True])
    """
    X = tables.as_frame(X)
    qid = check.carried_qid(y, qid, X=X)
    qid = Explained.of(ranker, X, None, None).qid if qid is None else qid
    if not (isinstance(X, np.ndarray) or tables.is_frame(X)):
        raise ValueError(
            f"X must be an array or a frame of pandas or polars, got {type(X).__name__}."
        )
    check.count("n_repeats", n_repeats)
    known = tables.column_names(X) or list(range(X.shape[1]))
    groups = {name: [name] for name in known} if groups is None else groups
    columns = groups.values() if isinstance(groups, Mapping) else ()
    if not columns or not all(
        isinstance(of, Iterable) and not isinstance(of, str) for of in columns
    ):
        raise ValueError(f"groups must be a mapping of names to lists of columns, got {groups!r}.")
    lists = {name: [*columns] for name, columns in groups.items()}
    for name, columns in lists.items():
        lost = [column for column in columns if column not in known]
        if lost:
            raise ValueError(f"groups[{name!r}] must have columns of X, got {lost[0]!r}.")
    queries, rng = check.queries(qid, tables.n_rows_of(X)), check_random_state(random_state)

    def values(rows: Any) -> Floats:
        scores = predict_with_queries(ranker, rows, qid)
        return measure_score(measure, y, scores, qid=qid, average=False)

    whole = values(X)

    def loss(columns: list[Any]) -> Floats:
        constant = [_is_constant(_column(X, column, known), queries) for column in columns]
        shuffled = (_shuffled(X, columns, known, constant, queries, rng) for _ in range(n_repeats))
        return np.asarray(np.mean([whole - values(rows) for rows in shuffled], axis=0))

    losses = np.array([loss(columns) for columns in lists.values()])
    n = np.maximum((~np.isnan(losses)).sum(axis=1), 1)
    means = np.nansum(losses, axis=1) / n
    squares = np.nansum((losses - means[:, None]) ** 2, axis=1)
    errors = np.sqrt(arrays.safe_divide(squares, (n - 1) * n, np.nan))
    return PermutationImportance([*lists], means, errors, losses)


def _column(X: Any, column: Any, known: list[Any]) -> Any:
    return X[:, known.index(column)] if isinstance(X, np.ndarray) else X[column]


def _is_constant(values: Any, queries: Queries) -> bool:
    """Return whether a column has one value in each query."""
    is_number = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    codes = queries.group(tables.coded(values if is_number else list(values)).codes)
    return bool((queries.max(codes) == -queries.max(-codes)).all())


def _shuffled(
    X: Any, columns: list[Any], known: list[Any], constant: list[bool], queries: Queries, rng: Any
) -> Any:
    """Return X with columns shuffled together: within the queries, constant ones among these."""
    place = queries.name_ranks[queries.codes]
    rows, first = np.argsort(place, kind="stable"), np.unique(place, return_index=True)[1]
    within: Ints = np.empty_like(rows)
    within[rows] = rows[np.lexsort((rng.random(queries.n_rows), place[rows]))]
    among = first[rng.permutation(queries.n_queries)][place]
    out = X.clone() if hasattr(X, "clone") else X.copy()
    for column, is_constant in zip(columns, constant):
        values, order = _column(X, column, known), among if is_constant else within
        if isinstance(X, np.ndarray):
            out[:, known.index(column)] = values[order]
        elif hasattr(X, "with_columns"):
            out = out.with_columns(values[order])
        else:
            out[column] = values.take(order).set_axis(X.index)
    return out
