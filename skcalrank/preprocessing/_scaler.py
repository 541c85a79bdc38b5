"""Scaling of features within queries."""

from collections.abc import Iterable
from typing import Any, ClassVar, NoReturn

import numpy as np
from sklearn.utils import Tags

from ..columns import arrays, tables
from ..columns.types import Array, ArrayLike, Floats, Ints, Self
from ..data import Queries, check, limits
from ._base import QueryTransformer
from ._context import in_range, statistics_of
from ._table_encoder import TableEncoder, encoded
from ._values import numbers_of

# Of what is appended: no tree splits what the order of the rows changes, and a model that computes
# it in single precision finds the values that thresholds are.
_DECIMALS = 4


class QueryScaler(QueryTransformer):
    """Scale features within each query.

    Documents are compared only with documents of the same query. If the level or the scale of a
    feature differs between queries, as that of a text-match score does, its value relative to the
    other documents of the query is more informative.

    Parameters
    ----------
    method : {"standard", "minmax", "rank"}, default="standard"
        With "standard", features have mean 0 and standard deviation 1 in each query. With
        "minmax", the smallest value in the query becomes 0, and the largest becomes 1. "rank"
        applies "minmax" to the ranks of the values; equal values share their mean rank. Features
        that are constant in a query become 0. Missing values (NaN) are ignored, and stay missing.
    append : bool, default=False
        Whether the features are kept, and scaled numbers are columns to the right of them, rounded
        to four decimals. A data frame stays one, with columns such as ``price_in_query``, or
        numbered where no name is text; columns of categories, text and dates are passed through.
        Trees can then split both the number itself and its place within the query.

    Attributes
    ----------
    scaled_ : ndarray of int
        Numbers of the columns that are scaled, with ``append=True``.
    encoder_ : TableEncoder or None
        Reader of the table for a :class:`~skcalrank.StackingRanker`, with ``append=True``.
    has_qid_ : bool
        Whether `fit` was given a qid, which `transform` then requires.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    QueryContext : Adds columns with statistics of the query.
    skcalrank.pipeline.make_query_pipeline : A pipeline that passes the qid to every step.

    Notes
    -----
    Queries are scaled independently of each other, so that new queries are scaled in the same way
    as the queries in `fit`. If rows of a query are missing, it is scaled by its remaining rows.

    Examples
    --------
    >>> from skcalrank.preprocessing import QueryScaler
    >>> X, qid = [[1.0], [3.0], [2.0], [700.0], [900.0]], ["a", "a", "a", "b", "b"]
    >>> QueryScaler("minmax").fit_transform(X, qid=qid).ravel()
    array([0. , 1. , 0.5, 0. , 1. ])
    >>> QueryScaler("minmax", append=True).fit_transform(X, qid=qid)[:3]
    array([[1. , 0. ],
           [3. , 1. ],
           [2. , 0.5]])

    Before a ranker, together with columns that are not scaled:

    >>> from sklearn.compose import make_column_transformer
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.pipeline import make_query_pipeline
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=10)
    >>> scaled = make_column_transformer((QueryScaler(), slice(0, 32)), remainder="passthrough")
    >>> pipe = make_query_pipeline(scaled, NDCGRanker()).fit(X, y, qid)
    >>> pipe.rank(X, qid).shape
    (200,)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "method": [limits.one_of("standard", "minmax", "rank")],
        "append": ["boolean"],
    }

    def __init__(self, method: str = "standard", *, append: bool = False) -> None:
        self.method = method
        self.append = append

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = self.append
        return tags

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns of :meth:`transform`.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the features. If None, the names in `fit`, or x0, x1 and so on.

        Returns
        -------
        names : ndarray of str
            Names of the features; with ``append=True`` followed by names such as
            ``price_in_query``.
        """
        if getattr(self, "_reader", None) is not None:
            return self._reader.get_feature_names_out(input_features)
        names = super().get_feature_names_out(input_features)
        scaled = getattr(self, "scaled_", np.arange(len(names)))
        return with_scaled(names, scaled) if self.append else names

    def _features(self, X: Any, reset: bool) -> Any:
        if not self.append:
            return super()._features(X, reset)
        if not reset and getattr(self, "encoder_", None) is not None:
            X = encoded(X, self.encoder_)
        # A ranker that was given an array by a stack reads columns as numbers.
        is_array = not reset and getattr(self, "_reader", None) is not None
        checks = check.Reads.of(self, tables=not is_array).checks()
        checked = check.features(self, X, reset=reset, **checks)
        if not isinstance(X, tables.EncodedTable):
            X = tables.EncodedTable(checked, None, X) if is_array else checked
        if reset:
            self.encoder_: Any = getattr(X, "encoder", None)
            self._reader: Any = None
            if isinstance(X, tables.EncodedTable):
                self._reader = ScaledBeside.of(self.encoder_, X.shape[1], self.method)
            self.scaled_ = numeric(X) if self._reader is None else self._reader.scaled_
        return X

    def _transformed(self, X: Any, queries: Queries) -> Any:
        if not self.append:
            return scaled_within(X, queries, self.method).astype(X.dtype, copy=False)
        is_read = isinstance(X, tables.EncodedTable)
        table = X.matrix if is_read else X
        numbers = self.scaled_ if hasattr(self, "scaled_") else numeric(table)
        scaled = scaled_within(_numbers_in(table, numbers), queries, self.method)
        names = with_scaled(tables.column_names(X) or range(X.shape[1]), numbers)[X.shape[1] :]
        wide = tables.beside(table, scaled_beside(scaled), names.tolist())
        return tables.EncodedTable(wide, self._reader, X.table) if is_read else wide


class ScaledBeside(TableEncoder):
    """The reader of a matrix with numbers scaled within the query to the right of its columns.

    Rankers behind a :class:`QueryScaler` take it for the reader of the table: columns to the right
    come from the columns of the table from which their numbers come.
    """

    before: TableEncoder | None  # reader of the other columns, None if they are an array
    scaled_: Ints
    method: str

    @classmethod
    def of(cls, encoder: TableEncoder | None, n_columns: int, method: str) -> Self:
        """Return the reader of the matrix of an encoder, or of an array of so many columns."""
        beside = cls()
        beside.before, beside.method = encoder, method
        if encoder is None:
            number = {"kind": "number", "from_text": False, "offset": 0.0}
            encoder = TableEncoder.from_dicts([{**number, "name": k} for k in range(n_columns)])
        beside.__dict__ = {**vars(encoder), **vars(beside)}
        beside.scaled_ = np.setdiff1d(np.arange(n_columns), encoder.categorical_)
        return beside

    @property
    def standard(self) -> Ints | None:
        """The numbers whose z-scores are all that there is beside a table or array, else None."""
        is_first = not isinstance(self.before, ScaledBeside)
        return self.scaled_ if is_first and self.method == "standard" else None

    @property
    def sources_(self) -> Ints:
        """Number of the column of the table that each column of the matrix comes from."""
        sources = super().sources_ if self.before is None else self.before.sources_
        return np.append(sources, sources[self.scaled_])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns of the matrix, those to the right last."""
        reader: Any = super() if self.before is None else self.before
        return with_scaled(reader.get_feature_names_out(input_features), self.scaled_)

    def _matrix(self, X: Any) -> NoReturn:
        del X
        raise ValueError(
            "This ranker reads numbers scaled within the query beside the columns, got X without "
            "them: call the pipeline around it, as named_rankers_ of a stack has it."
        )


def with_scaled(names: Iterable[Any], scaled: Ints) -> Array:
    """Return names of columns, followed by those of columns that are scaled within the query."""
    names = list(names)
    return tables.distinct([*names, *(f"{names[k]}_in_query" for k in scaled)])


def numeric(X: Any) -> Ints:
    """Return the numbers of the columns of a table or array that hold numbers, not text of them."""
    if not tables.is_table(X):
        return np.arange(X.shape[1])
    columns = enumerate(tables.columns_of(X))
    return np.array([k for k, of in columns if _as_floats(of) is not None], dtype=np.intp)


def _numbers_in(X: Any, columns: Ints) -> Floats:
    """Return columns of a table or array as floats; raise ValueError if one holds no numbers."""
    if not tables.is_table(X):
        return X if len(columns) == X.shape[1] else X[:, columns]
    names, values = tables.column_names(X) or range(X.shape[1]), list(tables.columns_of(X))
    floats: list[Any] = [_as_floats(values[column]) for column in columns]
    for column, numbers in zip(columns, floats):
        if numbers is None:
            raise ValueError(
                f"Column {names[column]!r} of X must hold numbers, as in fit, got others: make "
                "numbers of them, or missing values."
            )
    return np.column_stack([np.empty((len(X), 0)), *floats])


def _as_floats(values: tables.Values) -> Array | None:
    """Return a column as floats; None for categories, dates and text, also of numbers."""
    if isinstance(values, np.ndarray):
        return values.astype(float) if values.dtype.kind in "biuf" else None
    is_category = isinstance(values, tables.Coded) and hasattr(values.levels, "take")
    return None if is_category else numbers_of(values)


# Statistics of each method: the one that is subtracted, and the one that determines the unit.
_BY_STATISTICS = {"standard": ("mean", "std"), "minmax": ("min", "max"), "rank": ("min", "max")}


def scaled_within(X: Array, queries: Queries, method: str) -> Floats:
    """Return columns that are scaled within each query, as :class:`QueryScaler` does.

    * `X` (n_rows, d): rows, in the order of the queries' codes.
    """
    values = queries.group(X).astype(float)
    if method == "rank":
        values = _ranks(values, queries)
    values, _, missing = in_range(values, queries)
    if method == "standard" and not missing:
        return queries.ungroup(_standard(values, queries))
    values -= queries.repeat(np.fmin.reduceat(values, queries.ptr[:-1], axis=0))
    start, unit = statistics_of(values, queries, _BY_STATISTICS[method])
    if method != "standard":
        unit = unit - start
    scaled = arrays.safe_divide(values - queries.repeat(start), queries.repeat(unit))
    scaled[np.isnan(values)] = np.nan
    return queries.ungroup(scaled)


def scaled_beside(scaled: Floats) -> Floats:
    """Return scaled columns as :class:`QueryScaler` appends them."""
    return np.round(scaled, _DECIMALS)


def _standard(values: Floats, queries: Queries) -> Floats:
    """Return values, none of which is missing, less their mean and in standard deviations.

    The values, in grouped order, are written to.
    """
    first, sizes = queries.ptr[:-1], queries.sizes[:, None]
    # Relative to a value of the query, so that equal values are exactly 0.
    values -= queries.repeat(values[first])
    values -= queries.repeat(np.add.reduceat(values, first, axis=0) / sizes)
    # Divide by the largest deviation, so that squares stay in range.
    largest = np.maximum.reduceat(np.abs(values), first, axis=0)
    values /= queries.repeat(np.where(largest > 0, largest, 1.0))
    deviations = np.sqrt(np.add.reduceat(values**2, first, axis=0) / sizes)
    values /= queries.repeat(np.where(deviations > 0, deviations, 1.0))
    return values


def _ranks(X: Floats, queries: Queries) -> Floats:
    """Return the ranks of values within each query, with mean ranks for equal values.

    Rows are in grouped order.
    """
    codes = queries.repeat(np.arange(queries.n_queries))
    ranks = np.full(X.shape, np.nan)
    for k, values in enumerate(X.T):
        # Missing values come last in their query. The codes are sorted.
        order = np.lexsort((values, codes))
        first = arrays.run_starts(values[order], codes)
        last = np.append(first[1:], len(values)) - 1
        ranks[order, k] = np.repeat((first + last) / 2, last - first + 1)
    return np.where(np.isnan(X), np.nan, ranks)
