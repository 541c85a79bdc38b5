"""Columns of numbers for a linear ranker of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import InputTags, Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from ..columns import CACHE_CELLS, tables
from ..columns.arrays import check_feature_names_in
from ..columns.types import Array, ArrayLike, Floats, Ints, Matrix, Self
from ..data import (
    OutOfRangeError,
    Queries,
    check,
    fitting,
    handed_to,
    lazy_transformer,
    limits,
    transform_rows,
    workers_of_fit,
)
from ._base import QueryTransformer
from ._hinges import COLUMNS, QuantileHinges, fit_blocks
from ._indicators import Indicators
from ._logs import signed_log1p
from ._table_encoder import encoded, fit_encoded

# Larger numbers, such as the largest of double precision, stand for missing ones.
_LARGEST = 1e290

_RowsNow = Callable[[Floats], Floats]


@lazy_transformer
class LinearColumns(TransformerMixin, BaseEstimator):
    """Replace the categories of a table by indicators, and its numbers by curves.

    The table is read by a :class:`~skcalrank.preprocessing.TableEncoder`. Missing numbers are
    replaced by the mean of their column. Each of the most frequent categories of a column gets an
    indicator; if there are rarer ones, they share one with those that `fit` has not seen. A missing
    category has an indicator if `fit` has seen one.

    Parameters
    ----------
    curve : transformer, default=None
        Transformer of the numbers, such as :class:`~skcalrank.preprocessing.QuantileHinges` or
        :class:`~skcalrank.preprocessing.QueryScaler`. None keeps them.
    max_categories : int, default=100
        Maximum number of indicators of a column, without the one for missing values.
    columns : dict, default=None
        Kinds of columns by name, as :class:`~skcalrank.preprocessing.TableEncoder` takes them.

    Attributes
    ----------
    encoder_ : TableEncoder or None
        Reader of the columns, if X is a table or an array of objects.
    means_ : ndarray of shape (n_numbers,) or None
        Means of the numbers, which replace missing ones.
    curve_ : transformer or None
        The fitted curve.
    indicators_ : list of Indicators
        What the indicators of each column of categories stand for.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the columns, if they are all strings.

    See Also
    --------
    TableEncoder : The reader of the table, with codes for trees.
    skcalrank.TabularRanker : Ranker whose linear parts read tables in this way.

    Notes
    -----
    Put it before a linear ranker:
    ``make_query_pipeline(LinearColumns(QuantileHinges()), NDCGRanker())``.

    Examples
    --------
    >>> from skcalrank.preprocessing import LinearColumns
    >>> rows = [{"price": 9.0, "brand": "x"}, {"price": None, "brand": "y"},
    ...         {"price": 3.0, "brand": "x"}]
    >>> LinearColumns().fit_transform(rows)
    array([[1., 0., 9.],
           [0., 1., 6.],
           [1., 0., 3.]])
    """

    fits_among_workers = True

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "curve": limits.OWN_ERROR,
        "max_categories": [limits.Integers(2)],
        "columns": [Mapping, None],
    }

    def __init__(
        self,
        curve: Any = None,
        *,
        max_categories: int = 100,
        columns: Mapping[Any, str] | None = None,
    ) -> None:
        self.curve = curve
        self.max_categories = max_categories
        self.columns = columns

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = InputTags(allow_nan=True, string=True, categorical=True)
        return tags

    @fitting
    def fit(self, X: Matrix, y: ArrayLike | None = None, qid: ArrayLike | None = None) -> Self:
        """Read the table, and compute the means, the curves and the indicators.

        Parameters
        ----------
        X : data frame or other table, or array-like of shape (n_rows, n_columns)
            May be a collection of dask.
        y : array-like, default=None
            Labels, for warnings of :class:`~skcalrank.preprocessing.TableEncoder`.
        qid : array-like of shape (n_rows,), default=None
            Query of each row, for a curve that reads it.

        Returns
        -------
        self : LinearColumns
            The fitted transformer.
        """
        check.params(self)
        qid = check.carried_qid(y, qid, X=X)
        X = fit_encoded(X, self.columns, y, qid)
        fit_together([self], X, qid)
        return self

    def fit_transform(
        self, X: Matrix, y: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> Any:
        """Fit and transform the same rows.

        Parameters
        ----------
        X, y, qid
            As in :meth:`fit`.

        Returns
        -------
        X_out : ndarray of shape (n_rows, n_features_out), or a frame after `set_output`
        """
        return transform_rows(self.fit(X, y, qid), X, check.carried_qid(y, qid))

    def transform(self, X: Matrix, **params: Any) -> Floats:
        """Return the indicators of the categories, then the curves of the numbers.

        Parameters
        ----------
        X : data frame or other table, or array-like of shape (n_rows, n_columns)
        **params
            `qid`, if the curve reads it.

        Returns
        -------
        X_out : ndarray of shape (n_rows, n_features_out), or a frame after `set_output`
        """
        check_is_fitted(self)
        if self.encoder_ is not None:
            X = encoded(X, self.encoder_)
        # A curve of the user's may write to what it is given.
        matrix = self._matrix(X, reset=False).copy()

        def made(curve: Any, numbers: Floats) -> Any:
            return curve.transform(_validated(numbers, curve), **params)

        return next(transform_together([self], matrix, made))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which methods hand metadata to the curve."""
        router = MetadataRouter(owner=type(self).__name__)
        if self.curve is not None:
            mapping = MethodMapping()
            for method in ("fit", "transform"):
                for caller in (method, "fit_transform"):
                    mapping.add(caller=caller, callee=method)
            router.add(curve=self.curve, method_mapping=mapping)
        return router

    def _matrix(self, X: Any, reset: bool) -> Any:
        """Return the matrix of a table that has been read, or a validated array."""
        checks: dict[str, Any] = {"ensure_all_finite": "allow-nan", "ensure_min_samples": 1 + reset}
        return check.features(self, X, reset=reset, **checks)

    def _learn(self, X: Any, order: Ints | None, rows: _RowsNow) -> Floats:
        """Learn what stands before the curve, and return the matrix of the rows."""
        self.encoder_ = getattr(X, "encoder", None)
        matrix = self._matrix(X, reset=True)
        kinds = [] if self.encoder_ is None else self.encoder_.categorical_
        n_columns = self.n_features_in_ if self.encoder_ is None else matrix.shape[1]
        self.numbers_: Ints = np.setdiff1d(np.arange(n_columns), kinds)
        seen: _Seen = workers_of_fit().total(
            lambda: _seen(rows(matrix), kinds, self.numbers_, order), _Seen.of_all
        )
        self.indicators_ = [
            Indicators(k, *of_codes, self.max_categories) for k, of_codes in zip(kinds, seen.codes)
        ]
        self.means_: Any = None
        if len(self.numbers_):
            self._refuse_large(seen.totals)
            means = seen.totals / np.maximum(seen.counts, 1)
            self.means_ = means.astype(matrix.dtype if matrix.dtype.kind == "f" else float)
            if self.encoder_ is None and (seen.lows >= seen.highs).all():
                raise ValueError(
                    "X must have a column with two different values, got constant columns only: "
                    f"{', '.join(map(str, range(min(n_columns, 5))))}. Check how X was made."
                )
        return matrix

    def _refuse_large(self, totals: Floats) -> None:
        """Raise for numbers that stand for missing ones, beside which all others vanish."""
        is_large = ~(np.abs(totals) < _LARGEST)
        if is_large.any():
            k = int(is_large.argmax())
            raise OutOfRangeError(
                f"X must have columns whose sums are below {_LARGEST:g}, got {totals[k]:.3g}",
                int(self.numbers_[k]),
                "Divide the column by a number, or replace values that stand for missing ones by "
                "NaN.",
            )

    def _filled(self, matrix: Floats, pick: slice = slice(None)) -> Floats:
        """Return numbers, with means in place of missing ones."""
        columns = self.numbers_[pick]
        numbers = matrix[:] if len(columns) == matrix.shape[1] else matrix.take(columns, axis=1)
        numbers = numbers if numbers.dtype.kind == "f" else numbers.astype(float)
        missing = np.isnan(numbers)
        return np.where(missing, self.means_[pick], numbers) if missing.any() else numbers

    def _blocks(self, matrix: Floats, rows: _RowsNow) -> Iterator[Floats]:
        """Yield some of the columns of numbers at a time."""
        matrix = rows(matrix)
        for start in range(0, len(self.numbers_), COLUMNS):
            yield self._filled(matrix, slice(start, start + COLUMNS))

    def _fit_curve(self, matrix: Floats, qid: Any, rows: _RowsNow) -> None:
        """Fit the curve to the numbers, without a copy of them where it needs none."""
        self.curve_: Any = None
        if self.curve is None or not len(self.numbers_):
            return
        self.curve_ = curve = clone(self.curve)
        check_learns_from_all(curve)
        shape = len(matrix), len(self.numbers_)
        if type(curve) is QuantileHinges:
            fit_blocks(curve, partial(self._blocks, matrix, rows), shape[1])
        elif isinstance(curve, QueryTransformer) or getattr(curve, "func", None) is signed_log1p:
            # It learns how many numbers there are.
            zeros = _validated(np.broadcast_to(0.0, shape), curve)
            curve.fit(zeros, **handed_to(curve, "fit", qid=qid))
        else:
            curve.fit(self._filled(matrix).copy(), None, **handed_to(curve, "fit", qid=qid))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns, such as ``brand_x`` for an indicator.

        An indicator whose name is that of another column has a number behind it: ``brand_x_2``.

        Parameters
        ----------
        input_features : array-like of str, default=None
            As in :meth:`TableEncoder.get_feature_names_out`.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        encoder, categories = self.encoder_, {}
        if encoder is None:
            names = check_feature_names_in(self, input_features)
        else:
            names, categories = encoder.get_feature_names_out(input_features), encoder.categories_
        out = [
            f"{names[indicators.column]}_{level}"
            for indicators in self.indicators_
            for level in indicators.names(categories[indicators.column].levels)
        ]
        numbers = names[self.numbers_]
        if self.curve_ is not None:
            numbers = self.curve_.get_feature_names_out(numbers)
        # Numbers keep their names.
        return np.roll(tables.distinct([*numbers, *out]), -len(numbers))


def fit_together(
    transformers: list[LinearColumns],
    X: Any,
    qid: ArrayLike | None,
    order: Ints | None = None,
    rows: _RowsNow = lambda matrix: matrix,
) -> None:
    """Fit transformers to a table that has been read, or an array, once for all of them.

    * `transformers`: transformers that differ in their curves only.
    * `qid` (n_rows,)
    * `order` (n_rows,): order in which rows are added up, where the order of X is arbitrary.
    * `rows`: function of the matrix that returns the rows to learn from in its place. These may be
      others each time that the workers of the fit ask for a part of a sum.
    """
    first, *others = transformers
    matrix = first._learn(X, order, rows)
    learned = {name: value for name, value in vars(first).items() if name.endswith("_")}
    for other in others:
        other.__dict__.update(learned)
    for transformer in transformers:
        transformer._fit_curve(matrix, qid, rows)


def curve_of(curve: Any, numbers: Floats, queries: Queries) -> Floats:
    """Return what a curve of this package, or a logarithm, makes of validated numbers of queries.

    Nothing is validated again, and scikit-learn's output of frames is left aside.
    """
    if isinstance(curve, QueryTransformer):
        return curve._transformed(numbers, queries)
    if isinstance(curve, QuantileHinges):
        return curve._transformed(numbers)
    return curve.func(numbers)


def transform_together(
    transformers: list[LinearColumns], matrix: Floats, made: Callable[[Any, Floats], Floats]
) -> Iterator[Floats]:
    """Yield the columns that transformers, fitted together, make of the rows of a matrix.

    * `transformers`: transformers with curves that do not write to what they are given.
    * `matrix` (n_rows, n_columns): rows as their encoder reads them.
    * `made`: what a fitted curve makes of numbers.
    """
    first = transformers[0]
    indicators = [one.of(matrix) for one in first.indicators_]
    numbers = None if first.means_ is None else first._filled(matrix)
    for transformer in transformers:
        parts, curve = list(indicators), transformer.curve_
        if numbers is not None:
            parts.append(numbers if curve is None else made(curve, numbers))
        yield np.hstack(parts) if len(parts) != 1 else parts[0]


def check_learns_from_all(transformer: Any) -> None:
    """Raise for a transformer that learns from the rows of one worker of several."""
    if workers_of_fit().size == 1 or isinstance(transformer, FrozenEstimator):
        return
    if get_tags(transformer).requires_fit and not getattr(transformer, "fits_among_workers", False):
        raise ValueError(
            "Transformers must be those of skcalrank.preprocessing, or learn nothing, for dask "
            f"collections, got {type(transformer).__name__}, which would learn from the rows of "
            "one partition alone: fit it before, and pass FrozenEstimator of it."
        )


def _validated(numbers: Any, curve: Any) -> Any:
    """Return numbers in the form in which curves of this package do not validate them again."""
    knows = isinstance(curve, (QueryTransformer, QuantileHinges))
    knows = knows and not getattr(curve, "append", False)  # which would return another table
    return tables.EncodedTable(numbers, None, numbers) if knows else numbers


class _Seen(NamedTuple):
    """What the columns of a matrix hold."""

    codes: list[tuple[float, bool]]  # largest code of categories, and whether some are missing
    totals: Floats  # of numbers that are not missing
    counts: Floats
    lows: Floats  # ends of the numbers, which need not be all
    highs: Floats

    @staticmethod
    def of_all(parts: list[_Seen]) -> _Seen:
        """Return what the rows of all parts hold."""
        codes, totals, counts, lows, highs = zip(*parts)
        ends = [tuple(map(max, zip(*of_column))) for of_column in zip(*codes)]
        counted = np.sum(totals, axis=0), np.sum(counts, axis=0)
        return _Seen(ends, *counted, np.min(lows, axis=0), np.max(highs, axis=0))


def _seen(matrix: Floats, kinds: Sequence[int], columns: Ints, order: Ints | None) -> _Seen:
    """Return what columns of categories and of numbers hold, adding up rows in an order."""
    codes = [
        (float(np.nanmax(matrix[:, k], initial=-1.0)), bool(np.isnan(matrix[:, k]).any()))
        for k in kinds
    ]
    order = np.arange(len(matrix)) if order is None else order
    totals, counts = np.zeros(len(columns)), np.zeros(len(columns))
    lows, highs = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    step = max(1, CACHE_CELLS // matrix.shape[1])
    for start in range(0, len(matrix) if len(columns) else 0, step):
        rows = matrix[order[start : start + step]]
        rows = rows if len(columns) == matrix.shape[1] else np.take(rows, columns, axis=1)
        there = ~np.isnan(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            totals += rows.sum(axis=0, where=there, dtype=float)
        counts += there.sum(axis=0)
        if (lows >= highs).all():  # until a column is known to vary
            lows, highs = np.fmin(lows, np.fmin.reduce(rows)), np.fmax(highs, np.fmax.reduce(rows))
    return _Seen(codes, totals, counts, lows, highs)
