"""The reader of tables: one matrix of numbers from data frames of every library."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate, compress
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import InputTags, Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..columns import tables
from ..columns.arrays import check_feature_names_in, is_plain
from ..columns.types import Array, ArrayLike, Floats, Ints, Matrix, Self
from ..data import (
    LabelOrder,
    check,
    check_qid,
    fitting,
    lazy_transformer,
    limits,
    refuse_lazy,
    say,
    warn,
    warn_of_label,
    workers_of_fit,
)
from ._column_kinds import Category, Column, Flag, Number, column_from_dict, column_to_dict
from ._rules import CHOICES, column_of, summarized
from ._summaries import Summary
from ._table_matrix import TableMatrix, joined

# Attributes that follow from the columns.
_PREPARED = {"_is_used", "_used", "_are_numbers", "_sizes", "_categories"}


@lazy_transformer
class TableEncoder(TransformerMixin, BaseEstimator):
    """Read a table of numbers, categories, text, dates and missing values as one matrix.

    What a column holds is decided by its values in `fit`, whatever its type: the same table as a
    data frame of pandas (with any of its types for text and missing values), of polars, as a
    table of pyarrow, as an array of objects or as a list of dicts gives the same matrix, to the
    last bit. `transform` reads every column as `fit` did.

    * Numbers, truth values and durations (in seconds) become one column, missing values NaN.
    * Categories become one column of codes: 0 for the most frequent level in `fit`, and so on. NaN
      is missing, and -1 a level that `fit` has not seen. 1, 1.0 and True are one level, "1" is
      another. Text of digits, such as "01234", is a category.
    * Dates and times become days since the first, and the weekday, the day of the year and the
      hour as far as they vary.
    * Text, which has blanks in 80% of its values and 1.5 of them in the mean, becomes columns for
      its words: up to 20 for frequent words, and 10 that all words share. A column of codes comes
      before them if texts recur as names of things, such as titles of films, do. They recur if
      there are at most a fifth as many as rows, and the `max_categories` most frequent are in half
      of the rows. They are names if they do not recur by chance: of all texts that their words
      could make, at most 1% occur. Up to 100 texts that recur are a category.
    * Columns of one value and, with a warning, identifiers are left out: text of one word that
      differs in nearly all rows, and the qid.

    Parameters
    ----------
    columns : dict, default=None
        Kinds of columns, by name or, for arrays, by number: "number", "category", "text", "date",
        or "drop" to leave a column out. "text" is words alone, and "category" is codes alone.
        Kinds of other columns follow from their values.
    max_categories : int, default=1000
        Maximum number of codes of a column of categories. Rarer levels share the last.
    verbose : int, default=0
        If not 0, `fit` prints what the columns hold.

    Attributes
    ----------
    columns_ : list
        The fitted columns of the table, with a `name`, a `kind` and their `outputs`.
    kinds_ : dict
        Kind of each column by name: "number", "flag", "category", "text", "date", "duration",
        "constant", "identifier" or "drop". The last three have no column in the matrix.
    sources_ : ndarray of int of shape (n_features_out,)
        Number of the column of the table that each column of the matrix comes from.
    categorical_ : list of int
        Numbers of the columns of the matrix that hold codes of categories, or of texts.
    n_features_in_ : int
        Number of columns of the table.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the columns, if they are all strings.

    See Also
    --------
    skcalrank.TabularRanker : Ranker that reads its table in this way.
    sklearn.preprocessing.OrdinalEncoder : Codes of categories alone.

    Notes
    -----
    A sparse matrix holds numbers, and is returned as it is: `columns` is then None.

    Numbers that single precision cannot tell apart, such as seconds since 1970, are read less their
    smallest value.

    A DataFrame or array of dask is read in one pass over its partitions, and gives the encoder of
    the whole table. Only columns that order documents by their labels are not looked for.
    `transform` returns a lazy DataFrame or array. The levels of all partitions come together in
    memory, also those of text and of identifiers, which `columns` may drop. A column that holds
    numbers in one partition and text in another is an error. Dask itself makes text of columns of
    objects, unless its option ``dataframe.convert-string`` is False.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank.preprocessing import TableEncoder
    >>> rows = [{"price": 9.5, "brand": "x"}, {"price": None, "brand": "y"},
    ...         {"price": 3.0, "brand": "x"}]
    >>> encoder = TableEncoder().fit(rows)
    >>> encoder.kinds_
    {'price': 'number', 'brand': 'category'}
    >>> encoder.transform([{"brand": "y", "price": 7}, {"brand": None, "price": 8}])
    array([[ 7.,  1.],
           [ 8., nan]])
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "columns": [Mapping, None],
        "max_categories": [limits.Integers(2)],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        columns: Mapping[Any, str] | None = None,
        *,
        max_categories: int = 1000,
        verbose: int = 0,
    ) -> None:
        self.columns = columns
        self.max_categories = max_categories
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags = InputTags(sparse=True, allow_nan=True, string=True, categorical=True)
        return tags

    # -- fit ----------------------------------------------------------------------

    def fit(self, X: Matrix, y: ArrayLike | None = None, qid: ArrayLike | None = None) -> Self:
        """Decide what the columns hold.

        Parameters
        ----------
        X : data frame, table of pyarrow, list of dicts, array-like or sparse matrix
            Rows of the table, of shape (n_rows, n_columns). May be a collection of dask.
        y : array-like of shape (n_rows,), default=None
            Labels, for a warning of columns that order documents by their labels without an error.
            May carry the qid.
        qid : array-like of shape (n_rows,), default=None
            Query of each row. A column that holds it is left out with a warning.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is invalid, names of columns repeat, a column holds infinite numbers
            or values of which no kind consists, or `columns` sets a kind of a sparse X.
        """
        self._fit(X, y, qid)
        return self

    def fit_transform(
        self, X: Matrix, y: ArrayLike | None = None, qid: ArrayLike | None = None
    ) -> Any:
        """Decide what the columns hold, and return the matrix.

        Parameters
        ----------
        X, y, qid
            As in :meth:`fit`.

        Returns
        -------
        matrix : ndarray of shape (n_rows, n_features_out), or a frame after `set_output`
            Numbers, codes and NaN; a sparse X as it is. Lazy if X is.
        """
        return self._fit(X, y, qid)

    @fitting
    def _fit(self, X: Any, y: Any, qid: Any, *, by_rows: bool = False) -> Any:
        check.params(self)
        refuse_lazy(type(self).__name__, X=X, y=y, qid=qid)
        qid = check.carried_qid(y, qid, X=X)
        X = self._checked(X, reset=True)
        self._set_names(X)
        if issparse(X):
            if set((self.columns or {}).values()) - {"number"}:
                raise ValueError(
                    "columns must be None for a sparse X, whose columns are all numbers, got "
                    f"{self.columns!r}: leave columns out of X itself, or pass X.toarray()."
                )
            self._use([])
            self.is_sparse_ = True
            return X
        values: Any = tables.columns_of(X) if is_plain(X) else list(tables.columns_of(X))
        if qid is not None:
            qid = check_qid(qid, tables.n_rows_of(X))
        summaries = summarized(self.names_, values, self.columns, qid)
        self._set_columns(workers_of_fit().reduce(summaries, merged))
        if is_plain(X):  # whose columns are made again
            values = X.T if by_rows else tables.columns_of(X)
        used = compress(values, self._is_used)
        out = TableMatrix(self._used, used, tables.n_rows_of(X)) if by_rows else self._read(X, used)
        if workers_of_fit().size == 1:
            self._warn_of_labels(out, y, qid)
        return out

    def _warn_of_labels(self, matrix: Any, y: Any, qid: Any) -> None:
        labels = np.asarray([] if y is None else y)
        if labels.shape == matrix.shape[:1] and labels.dtype.kind in "biuf":
            y = labels.astype(float)
            order = LabelOrder(y, check.queries(qid, len(matrix)))
            firsts = accumulate((column.n_outputs for column in self._used), initial=0)
            for column, first in zip(self._used, firsts):
                if order.is_told and _may_tell(column, y):
                    x = matrix[:, first]
                    if order.is_of(_label_of_level(x, y) if column.kind == "category" else x):
                        name = column.name
                        warn_of_label(name, f": columns={{{name!r}: 'drop'}}, or X without it")

    def _set_columns(self, summaries: list[Summary]) -> None:
        """Decide what the columns hold."""
        choices = self.columns or {}
        kinds, most = [choices.get(name) for name in self.names_], self.max_categories
        self._use([column_of(*of, most) for of in zip(self.names_, summaries, kinds)])
        if self.verbose:
            say(self.describe())

    def _use(self, columns: list[Column]) -> None:
        """Set the fitted columns."""
        self.columns_, self.is_sparse_ = columns, False
        self._prepare()

    def _prepare(self) -> None:
        """Set what every call reads of the columns."""
        self._is_used = [column.n_outputs > 0 for column in self.columns_]
        self._used = list(compress(self.columns_, self._is_used))
        self._are_numbers = all(type(column) in (Number, Flag) for column in self._used)
        self._sizes = [column.n_outputs for column in self._used]
        readers = zip(accumulate(self._sizes, initial=0), self._used)
        self._categories = {k: of.category for k, of in readers if of.category is not None}

    def __getstate__(self) -> dict[str, Any]:
        return {k: value for k, value in super().__getstate__().items() if k not in _PREPARED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "columns_" in state:
            self._prepare()

    def _set_names(self, X: Any) -> None:
        """Set the names of the columns, or their numbers if they have no names.

        Raise ValueError for columns of one name, and for kinds or columns that do not exist.
        """
        names = tables.column_names(X)
        self._name(list(range(X.shape[1])) if names is None else names)
        _refuse_twins(self.names_)
        for name, kind in (self.columns or {}).items():
            if name not in self.names_:
                raise ValueError(
                    f"columns must have names of columns of X, got {name!r}: X has "
                    f"{', '.join(map(repr, self.names_))}."
                )
            check.option(f"columns[{name!r}]", kind, CHOICES)

    def _name(self, names: list[Any]) -> None:
        """Set the names of the columns."""
        self.names_, self.n_features_in_ = names, len(names)
        self.__dict__.pop("feature_names_in_", None)
        if all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.array(names, dtype=object)

    # -- transform ----------------------------------------------------------------

    def transform(self, X: Matrix) -> Any:
        """Return the matrix of a table, whose columns are read as those of `fit`.

        Parameters
        ----------
        X : data frame, table of pyarrow, list of dicts, array-like or sparse matrix
            Rows of a table with the columns of `fit`, in any order and possibly among others;
            those that were left out may be missing. In
            an array the columns must be those of `fit`, in the same order.

        Returns
        -------
        matrix : ndarray of shape (n_rows, n_features_out), or a frame after `set_output`
            Numbers, codes and NaN; a sparse X as it is. Lazy if X is.

        Raises
        ------
        ValueError
            If a column is missing (of a list of dicts: all of them), holds infinite numbers, or
            holds values that cannot be read as the kind that it had in fit.

        Warns
        -----
        UnseenLevelsWarning
            If a column of codes has no level that `fit` has seen: in more than 5 rows with several
            levels, in more than 1000 rows with one, or in levels of another type.
        """
        return self._matrix(X)

    def _matrix(self, X: Any) -> Any:
        if "columns_" not in vars(self):
            check_is_fitted(self)  # takes longer than to read a column
        refuse_lazy(type(self).__name__, X=X)
        names = tables.column_names(X)
        if names is None and not self._is_checked(X):
            X = self._checked(X, reset=False)
        if self.is_sparse_:
            return X
        X = X.toarray() if issparse(X) else X
        if names is None or names == self.names_:
            few = tables.few_numbers(X) if self._are_numbers else None
            X = X if few is None else few
            return self._read(X, tables.columns_of(X, wanted=self._is_used))
        used = [column.name for column in self._used]
        refuse_names(X, names, used)
        return self._read(X, tables.columns_of(X, used))

    def _read(self, X: Any, values: Iterable[Any]) -> Floats:
        """Return the matrix, from the values of the columns of X that have a place in it."""
        if is_plain(X) and self._are_numbers:
            out = self._of_numbers(X)
        else:
            parts = (column.read(of_column) for column, of_column in zip(self._used, values))
            out = joined(parts, self._sizes, tables.n_rows_of(X))
        infinite = np.isinf(out)
        if infinite.any():
            name = self.names_[self.sources_[int(infinite.any(axis=0).argmax())]]
            raise ValueError(f"Input X contains infinity in column {name!r}.")
        return out

    def _of_numbers(self, X: Array) -> Floats:
        """Return the matrix of an array, of which all columns are read as numbers."""
        used = X if all(self._is_used) else X[:, self._is_used]
        out = np.array(used, dtype=np.float64, order="C")
        for number, column in enumerate(self._used):
            if column.offset:  # type: ignore[attr-defined]
                out[:, number] -= column.offset  # type: ignore[attr-defined]
        return out

    def _is_checked(self, X: Any) -> bool:
        """Return whether X is an array in which the checks, which take longer, find nothing."""
        shape: tuple[int, ...] = X.shape if is_plain(X) else ()
        is_expected = len(shape) == 2 and shape[0] and shape[1] == self.n_features_in_
        return bool(is_expected) and not hasattr(self, "feature_names_in_")

    def _checked(self, X: Any, reset: bool) -> Any:
        """Return X; an array is validated, of a table its shape and names are recorded."""
        names = tables.column_names(X)
        if names is None:
            checks = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": "allow-nan"}
            return validate_data(self, tables.as_array(X), reset=reset, **checks)
        n_rows = tables.n_rows_of(X)
        if not n_rows or not names:
            raise ValueError(f"X must have rows and columns, got the shape {(n_rows, len(names))}.")
        return X

    # -- what was fitted --------------------------------------------------------------

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the fitted columns as plain Python types, apart from their names and levels.

        Returns
        -------
        columns : list of dict
            A `name`, a `kind` and what the kind is made of, for each column of the table.
        """
        check_is_fitted(self)
        return [column_to_dict(column) for column in self.columns_]

    @classmethod
    def from_dicts(cls, columns: list[dict[str, Any]]) -> Self:
        """Return the fitted encoder whose columns :meth:`to_dicts` has written.

        Parameters
        ----------
        columns : list of dict

        Returns
        -------
        encoder : TableEncoder
            It reads tables as the other does. Its parameters are the default ones.
        """
        encoder = cls()
        encoder._name([column["name"] for column in columns])
        encoder._use(list(map(column_from_dict, columns)))
        return encoder

    @property
    def kinds_(self) -> dict[Any, str]:
        """Kind of each column by name."""
        return {column.name: column.kind for column in self.columns_}

    @property
    def sources_(self) -> Ints:
        """Number of the column of the table that each column of the matrix comes from."""
        if self.is_sparse_:
            return np.arange(self.n_features_in_)
        n_outputs = [column.n_outputs for column in self.columns_]
        return np.repeat(np.arange(len(n_outputs)), n_outputs)

    @property
    def categorical_(self) -> list[int]:
        """Numbers of the columns of the matrix that hold codes of categories."""
        return list(self.categories_)

    @property
    def categories_(self) -> dict[int, Category]:
        """Readers of codes by the number of their column of the matrix."""
        return self._categories

    def describe(self) -> str:
        """Return a table of what the columns hold, as text.

        Returns
        -------
        text : str
            A line for each column: its name, its kind, and what `fit` has seen.
        """
        check_is_fitted(self)
        lines = [(str(c.name), c.kind, c.about()) for c in self.columns_]
        widths = [max(map(len, cells), default=0) for cells in list(zip(*lines))[:2]]
        return "\n".join(
            f"{name:{widths[0]}}  {kind:{widths[1]}}  {about}".rstrip()
            for name, kind, about in lines
        )

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Array:
        """Return the names of the columns of the matrix.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Ignored if the table had names; else names of its columns, x0, x1 and so on if None.

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self)
        named = hasattr(self, "feature_names_in_")
        names = self.names_ if named else check_feature_names_in(self, input_features)
        if self.is_sparse_:
            return np.asarray(names, dtype=object)
        columns = zip(map(str, names), self.columns_)
        made = [(out != name, out) for name, column in columns for out in column.output_names(name)]
        # Columns of the table keep their names.
        order = np.argsort([is_made for is_made, _ in made], kind="stable")
        out = np.array([name for _, name in made], dtype=object)
        out[order] = tables.distinct(out[order])
        return out


def by_column(parts: Floats, encoder: TableEncoder | None) -> Floats:
    """Return values of the columns of a matrix, added up by the columns of the table.

    * `parts` (n_rows, n_columns): a last column that belongs to none of the matrix is kept.
    * `encoder`: reader that has made the matrix; None if there is no table.

    Returns `sums` (n_rows, n_features_in) or (n_rows, n_features_in + 1).
    """
    if encoder is None:
        return parts
    sources, n_features = encoder.sources_, encoder.n_features_in_
    out = np.zeros((len(parts), n_features + parts.shape[1] - len(sources)))
    out[:, n_features:] = parts[:, len(sources) :]
    np.add.at(out.T, sources, parts[:, : len(sources)].T)
    return out


def _may_tell(column: Column, y: Floats) -> bool:
    """Return whether an order by the first number of a column would tell the labels.

    A category with more levels than there are labels may do so by chance.
    """
    if isinstance(column, Category):
        return column.n_codes <= len(np.unique(y))
    return column.kind != "text"


def _label_of_level(codes: Floats, y: Floats) -> Floats:
    """Return the mean label of the level of each row."""
    level = np.nan_to_num(codes, nan=-1.0).astype(np.intp) + 1
    return (np.bincount(level, y) / np.maximum(np.bincount(level), 1))[level]


def refuse_names(X: Any, names: list[Any], used: list[Any]) -> None:
    """Raise if names of columns with a place in the matrix are not among names, or repeat.

    A key that some dicts lack counts as missing there, and so does one that all of them lack:
    a request for one document has as few keys as that document.
    """
    missing = [name for name in used if name not in names]
    if missing and len(missing) < len(used) and tables.is_records(X):
        warn(
            f"No dict of X has the key {' or '.join(map(repr, missing))}, which "
            f"{'is a column' if len(missing) == 1 else 'are columns'} of fit: the values count "
            "as missing. Pass None for values that are not known."
        )
    elif missing:
        raise ValueError(
            f"X must have the columns of fit, got none named "
            f"{', '.join(map(repr, missing))}: X has {', '.join(map(repr, names))}."
        )
    _refuse_twins([name for name in names if name in used])


def _refuse_twins(names: list[Any]) -> None:
    """Raise if columns have one name."""
    twins = [name for name, number in Counter(names).items() if number > 1]
    if twins:
        raise ValueError(
            f"X must have columns of different names, got several {min(twins, key=str)!r}."
        )


def merged(parts: list[list[Summary]]) -> list[Summary]:
    """Return the summary of each column of the parts of a table."""
    return parts[0] if len(parts) == 1 else list(map(Summary.merge, zip(*parts)))


def fit_encoded(X: Any, columns: Any, y: Any, qid: Any, *, by_rows: bool = False) -> Any:
    """Return X as a new encoder reads it: tables, and arrays of which `columns` sets a kind.

    The encoder is fitted to the rows of all workers of the fit.

    * `X`: arrays of numbers, sparse matrices and a table that has been read are returned as they
      are.
    * `columns`: kinds of columns by name, as :class:`TableEncoder` takes them.
    * `y`, `qid`: as in :meth:`TableEncoder.fit`.
    * `by_rows`: whether the matrix is a :class:`TableMatrix`, whose rows are made when they are
      read.

    Raises ValueError: as in :meth:`TableEncoder.fit`, or if no column is left.
    """
    if isinstance(X, tables.EncodedTable) or not (columns or tables.has_columns(X)):
        return X
    encoder = TableEncoder(columns)
    matrix = encoder._fit(X, y, qid, by_rows=by_rows)  # noqa: SLF001
    table = tables.EncodedTable(matrix, encoder, X)
    if not table.shape[1]:
        kinds = ", ".join(f"{name!r} ({kind})" for name, kind in encoder.kinds_.items())
        raise ValueError(
            "X must have a column with two different values that is no identifier, got only "
            f"{kinds}. Check how X was made."
        )
    return table


@fitting
def fit_summaries(
    encoder: TableEncoder, X: Any, summaries: Callable[[list[Any], Any], list[Summary]]
) -> None:
    """Fit an encoder to a table that is not in memory.

    * `X`: only its shape and the names of its columns are read.
    * `summaries`: function of the names of the columns and of the kinds that are set for them, as
      :func:`summarized` takes them, that returns the summary of each column.
    """
    check.params(encoder)
    encoder._set_names(X)  # noqa: SLF001
    encoder._set_columns(summaries(encoder.names_, encoder.columns))  # noqa: SLF001


def encoded(X: Any, encoder: TableEncoder) -> tables.EncodedTable:
    """Return a table as a fitted encoder reads it.

    * `X`: a table that this encoder has read already is returned as it is.
    * `encoder`: fitted encoder.
    """
    if isinstance(X, tables.EncodedTable):
        if X.encoder is encoder:
            return X
        X = X.table
    return tables.EncodedTable(encoder._matrix(X), encoder, X)  # noqa: SLF001 (without set_output)
