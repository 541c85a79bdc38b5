"""Rankers of this package in programs that state queries as other libraries do, or not at all."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from ..columns import arrays, tables
from ..columns.types import Array, ArrayLike, Estimator, Floats, Labels, Matrix, Self
from ..data import available_if, check, fitting, is_lazy, takes_eval_set, warn


def _place_of(column: Any, X: Any) -> int:
    """Return the number of a column: of a table that with the name, of an array the position."""
    names = tables.column_names(X)
    known = list(range(X.shape[-1]) if names is None else names)
    if isinstance(column, (bool, np.bool_)) or column not in known:
        what, kind = ("position", "array") if names is None else ("name", "table")
        raise ValueError(
            f"qid_column must be the {what} of a column of X, got {column!r}, and the columns of "
            f"the {kind} are {', '.join(map(repr, known[:10]))}{', ...' * (len(known) > 10)}. Pass "
            "X with its queries to fit and to predict, or set qid_column=None."
        )
    return known.index(column)


class HostedRanker(MetaEstimatorMixin, BaseEstimator):
    """A ranker of this package in the dialects of other programs.

    Use it where a program calls ``fit(X, y)`` and ``predict(X)`` by itself, and states the queries
    as LightGBM or XGBoost takes them, or not at all. It is the mirror of
    :class:`~skcalrank.ExternalRanker`. In your own code pass `qid` to the ranker itself.

    Parameters
    ----------
    ranker : ranker
        A ranker of this package, or a pipeline that ends in one. It is cloned.
    qid_column : str or int, default=None
        Column of X that holds the query of each row: the name of a column of a data frame, or the
        position of a column of an array. The ranker does not get it. If None, all columns are
        features.

    Attributes
    ----------
    ranker_ : ranker
        The fitted ranker, which does not get the column with the queries.
    column_ : int or None
        Number of that column, None without one.
    n_features_in_ : int
        Number of columns of X in :meth:`fit`, that of the queries included.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.
    feature_importances_ : ndarray of shape ``(n_features_in_,)``
        Importances of the columns, if the ranker has some; 0 for that of the queries.

    See Also
    --------
    skcalrank.ExternalRanker : A ranker of another library as one of this package.
    QueryPipeline : Passes the qid to every step.

    Notes
    -----
    Queries that are stated twice, such as by a column and by `group`, must be the same.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.pipeline import HostedRanker
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=10)
    >>> as_lightgbm = HostedRanker(NDCGRanker()).fit(X, y, group=[10] * 20)
    >>> table = np.column_stack([qid, X])
    >>> ranker = HostedRanker(NDCGRanker(), qid_column=0).fit(table, y)
    >>> bool(np.allclose(ranker.predict(table), as_lightgbm.predict(X)))
    True
    >>> ranker.rank(table)[:10]
    array([ 1,  8,  6,  7,  3,  2, 10,  9,  5,  4])
    """

    __metadata_request__fit = {"qid": True}
    __metadata_request__predict = {"qid": True}
    __metadata_request__score = {"qid": True}

    column_: int | None

    def __init__(self, ranker: Estimator, *, qid_column: str | int | None = None) -> None:
        self.ranker = ranker
        self.qid_column = qid_column

    def __sklearn_tags__(self) -> Any:
        """Return the tags of the ranker."""
        return get_tags(self.ranker) if hasattr(self.ranker, "rank") else super().__sklearn_tags__()

    @fitting
    def fit(
        self,
        X: Matrix,
        y: Labels,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        eval_set: list[tuple[Matrix, Labels]] | None = None,
        eval_group: Any = None,
        eval_qid: Any = None,
    ) -> Self:
        """Fit the ranker to queries that are stated in one of several ways.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents, with the column of the queries if `qid_column` is set.
        y : array-like of shape (n_rows,)
            Relevances, higher is better. May carry the queries.
        qid : array-like of shape (n_rows,), default=None
            Query of each row.
        group : array-like of shape (n_queries,), default=None
            Number of rows of each query, one query after the other, as for LightGBM. The queries
            are numbered from 0.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows.
        eval_set : list of tuple, default=None
            ``[(X, y)]``, queries for early stopping, of which the last set stops. A ranker that is
            not stopped early does without them.
        eval_group : list of array-like, default=None
            What `group` is, for each set of `eval_set`.
        eval_qid : list of array-like, default=None
            What `qid` is, for each set of `eval_set`, as for XGBoost.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If sizes do not add up to the rows, two statements differ, or the column is missing.

        Warns
        -----
        UserWarning
            If there is an `eval_set` and the ranker is not stopped early.
        """
        ranker = self.ranker
        if isinstance(ranker, type) or not hasattr(ranker, "rank"):
            raise ValueError(
                "ranker must be a ranker of this package, or a pipeline that ends in one, got "
                f"{ranker!r}: pass one of another library as ExternalRanker(...)."
            )
        X, qid = self._read(X, y, qid, group, reset=True)
        sets = self._eval_sets(eval_set, eval_group, eval_qid)
        options = {"qid": qid, "sample_weight": sample_weight, "eval_set": sets}
        options = {name: value for name, value in options.items() if value is not None}
        self.ranker_ = clone(ranker).fit(X, y, **options)
        return self

    def _eval_sets(self, sets: Any, groups: Any, qids: Any) -> Any:
        """Return evaluation sets by name, with their queries; None if the ranker takes none."""
        sets = [sets] if isinstance(sets, tuple) else sets or []
        lengths = [len(values) for values in (sets, groups, qids) if values is not None]
        are_pairs = all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in sets)
        if not are_pairs or len(set(lengths)) > 1:
            raise ValueError(
                "eval_set must be a list of tuples (X, y), with as many elements of eval_group and "
                f"eval_qid, got {sets!r:.60} and lengths {', '.join(map(str, lengths))}: pass "
                "eval_set=[(X, y)] and eval_group=[sizes] or eval_qid=[qid]."
            )
        if sets and not takes_eval_set(self.ranker):
            how = f"as {type(self.ranker).__name__} is not stopped early: choose BoostedRanker or"
            warn(f"eval_set is left out, {how} TabularRanker.", UserWarning)
            return None
        stated = zip(sets, *([None] * len(sets) if of is None else of for of in (qids, groups)))
        read = ((y, *self._read(X, y, *of_rows, of="eval_")) for (X, y), *of_rows in stated)
        return {f"validation_{k}": (X, y, qid) for k, (y, X, qid) in enumerate(read)} or None

    def _read(
        self, X: Any, y: Any, qid: Any, group: Any = None, *, reset: bool = False, of: str = ""
    ) -> Any:
        """Return the features, and the qid that all statements agree on.

        The qid is None if y carries it, or there is none. `of` begins the names of the arguments.
        """
        # scikit-learn counts no columns of records, and knows no names of lazy frames.
        are_records = tables.is_records(X) or (is_lazy(X) and tables.column_names(X) is not None)
        X = X if are_records or tables.is_empty(X) else tables.as_array(X)
        stated = {"y": check.carried_qid(y), f"{of}qid": qid}
        if are_records or len(getattr(X, "shape", ())) == 2:  # the ranker refuses other shapes
            if not are_records:
                validate_data(self, X, reset=reset, skip_check_array=True)
            elif reset:
                self.feature_names_in_ = np.array(tables.column_names(X), dtype=object)
                self.n_features_in_ = len(self.feature_names_in_)
            X, stated[f"qid_column={self.qid_column!r}"] = self._split(X, reset)
        if group is not None:
            stated[f"{of}group"] = _of_sizes(group, arrays.num_samples(X), f"{of}group")
        stated = {name: value for name, value in stated.items() if value is not None}
        if len(stated) > 1:
            _refuse_others(stated, arrays.num_samples(X))
        return X, None if "y" in stated else next(iter(stated.values()), None)

    def _split(self, X: Any, reset: bool) -> tuple[Any, Any]:
        """Return the features, and the column of the queries or None."""
        if reset:
            self._column = name = self.qid_column
            self.column_ = None if name is None else _place_of(name, X)
        if self.column_ is None:
            return X, None
        names = tables.column_names(X) or ()
        place = names.index(self._column) if self._column in names else self.column_
        if tables.is_records(X):
            features = [{k: v for k, v in row.items() if k != self._column} for row in X]
            return features, [row.get(self._column) for row in X]
        if is_lazy(X) and names:  # a frame, whose columns have names alone
            return X[[name for name in names if name != names[place]]], X[names[place]]
        X = arrays.subscriptable(X)
        # Sparse arrays of older versions of scipy have no columns of one dimension.
        column = arrays.safe_indexing(X, [place] if issparse(X) else place, axis=1)
        features = np.flatnonzero(np.arange(X.shape[1]) != place)
        qid = np.ravel(column.toarray() if issparse(column) else column)
        return arrays.safe_indexing(X, features, axis=1), qid

    # -- what was fitted --------------------------------------------------------------

    @property
    def feature_importances_(self) -> Floats:
        """Importances of the columns of X, 0 for that of the queries."""
        return self._of_columns(np.asarray(self.ranker_.feature_importances_))

    def _of_columns(self, values: Floats) -> Floats:
        """Return values of the features as values of the columns of X."""
        return values if self.column_ is None else np.insert(values, self.column_, 0.0, axis=-1)

    def _call(self, method: str, X: Any, qid: Any, **options: Any) -> Any:
        """Return what a method of the fitted ranker returns for the features."""
        check_is_fitted(self)
        X, qid = self._read(X, options.get("y"), qid)
        return getattr(self.ranker_, method)(X, qid=qid, **options)

    def predict(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return scores of the documents, whose decreasing order is the predicted ranking.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents, with the column of the queries if `qid_column` is set.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row, or a scalar, if all rows are one query.

        Returns
        -------
        scores : ndarray of shape (n_rows,)
        """
        return self._call("predict", X, qid)

    def rank(self, X: Matrix, qid: ArrayLike | None = None) -> Any:
        """Rank the documents of each query.

        Parameters
        ----------
        X, qid
            As in :meth:`predict`.

        Returns
        -------
        positions : ndarray of int of shape (n_rows,)
            1-based positions; a pandas Series with the index of X if X is a pandas DataFrame.
        """
        return self._call("rank", X, qid)

    def top_k(self, X: Matrix, qid: ArrayLike | None = None, k: int | None = 10) -> Any:
        """Return the best documents of each query, best first.

        Parameters
        ----------
        X, qid
            As in :meth:`predict`.
        k : int, default=10
            Number of documents to return per query; None returns all.

        Returns
        -------
        rows : ndarray of int
            Rows of the documents, as the ranker returns them.
        """
        return self._call("top_k", X, qid, k=k)

    def surrogate_values(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the surrogate values of the documents.

        Parameters
        ----------
        X, qid
            As in :meth:`predict`.

        Returns
        -------
        u : ndarray of shape (n_rows,)
        """
        return self._call("surrogate_values", X, qid)

    def score(self, X: Matrix, y: Labels, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the mean of the ranker's own measure over the queries, higher is better.

        Parameters
        ----------
        X, qid
            As in :meth:`predict`.
        y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        score : float
        """
        return self._call("score", X, qid, y=y, sample_weight=sample_weight)

    @available_if(lambda self: hasattr(getattr(self, "ranker_", self.ranker), "contributions"))
    def contributions(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the scores as exact sums over the columns of X.

        Available if the ranker has `contributions`.

        Parameters
        ----------
        X, qid
            As in :meth:`predict`.

        Returns
        -------
        parts : ndarray of shape (n_rows, d + 1)
            What each column adds to the score of each row, 0 for that of the queries; the last
            column is a constant.
        """
        return self._of_columns(self._call("contributions", X, qid))


def hosted_rows(host: HostedRanker, X: Any, qid: Any) -> Any:
    """Return the features and the qid that the ranker of a fitted host gets."""
    return host._read(X, None, qid)  # noqa: SLF001


def _refuse_others(stated: dict[str, Any], n_rows: int) -> None:
    """Raise unless all statements of the queries are the same."""
    (first, codes), *others = [(k, check.queries(qid, n_rows).codes) for k, qid in stated.items()]
    for name, other in others:
        if len(apart := np.flatnonzero(other != codes)):
            raise ValueError(
                f"{first} and {name} must state the same queries, got others from row {apart[0]} "
                f"on ({codes.max() + 1} and {other.max() + 1} queries): leave one of them out."
            )


def _of_sizes(sizes: Any, n_rows: int, name: str) -> Array:
    """Return the query of each row, given the sizes of the queries.

    Queries for early stopping have other names than those of fit, which are numbers.
    """
    counts = np.asarray(arrays.as_array(sizes, name).tolist())  # integers of pandas are objects
    is_count = counts.ndim == 1 and counts.dtype.kind in "iu" and (counts >= 0).all()
    if not is_count or counts.sum() != n_rows:
        got = f"{len(counts)} sizes with sum {counts.sum()}" if is_count else f"{sizes!r:.60}"
        raise ValueError(
            f"{name} must be the number of rows of each query, in the order of X, with sum "
            f"{n_rows}, got {got}: pass the query of each row as {name[:-5]}qid=."
        )
    codes = np.repeat(np.arange(len(counts)), counts.astype(np.intp))
    return codes if name == "group" else np.char.mod(f"{name} %d", codes)
