"""Splitters that keep the rows of a query together."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator, KFold, ShuffleSplit
from sklearn.utils import check_consistent_length

from .columns.arrays import num_samples, safe_indexing
from .columns.types import ArrayLike, Ints, Labels, Seed
from .data import MissingQidError, Queries, Target, check, check_qid

__all__ = ["QueryKFold", "QueryShuffleSplit", "train_test_query_split"]


class _QuerySplitter(BaseCrossValidator):  # type: ignore[misc]
    """Base class of splitters that apply a splitter of scikit-learn to queries instead of rows."""

    _splitter: Callable[[], Any]

    __metadata_request__split = {"qid": True}

    def split(
        self,
        X: Any,
        y: Labels | None = None,
        groups: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield the row numbers of the training part and of the test part of each split.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
            Features, of which only the number of rows is used.
        y : array-like, default=None
            Labels, which may carry the qid. If two-dimensional, each row is a query.
        groups : array-like of shape (n_rows,), default=None
            Alias of `qid`, which tools of scikit-learn pass if metadata routing is off.
        qid : array-like of shape (n_rows,), default=None
            Query of each row, in any order. If None, `groups`, or the qid that `y` carries.

        Yields
        ------
        train, test : ndarray of int
            Row numbers. The rows of a query are consecutive.

        Raises
        ------
        MissingQidError
            If no qid is given, and `y` carries none.
        ValueError
            If there are fewer queries than folds.
        """
        queries = _queries_of(X, y, groups if qid is None else qid)
        splitter = self._splitter()
        n_splits = splitter.get_n_splits()
        if isinstance(splitter, KFold) and queries.n_queries < n_splits:
            raise ValueError(
                f"n_splits must be at most the number of queries, {queries.n_queries}, got "
                f"{n_splits}."
            )
        rows = np.arange(queries.n_rows) if queries.order is None else queries.order
        number = np.arange(queries.n_queries)
        for train, test in splitter.split(number):
            yield (
                rows[queries.repeat(np.isin(number, train))],
                rows[queries.repeat(np.isin(number, test))],
            )

    def get_n_splits(
        self, X: object = None, y: object = None, groups: object = None, qid: object = None
    ) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups, qid : object, default=None
            Ignored.
        """
        return self._splitter().get_n_splits()


def _queries_of(X: Any, y: Any, qid: ArrayLike | None) -> Queries:
    qid = check.carried_qid(y, qid, X=X)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    check_consistent_length(X, y)
    if qid is None:
        is_matrix = np.ndim(y) == 2 and np.shape(y)[1] > 1
        if is_matrix or (isinstance(y, Target) and y.n_items is not None):
            return Queries.equal(n_rows, 1)
        raise MissingQidError(
            "Splitters of queries require a qid, got none. Pass qid=qid, or y=RankingTarget(y, "
            "qid). Tools of scikit-learn pass a qid on only after "
            "sklearn.set_config(enable_metadata_routing=True); without it, groups=qid works too."
        )
    return check.queries(qid, n_rows)


class QueryKFold(_QuerySplitter):
    """K-fold cross-validation with whole queries.

    Use it in place of KFold wherever rows belong to queries. Every query is in the test part of
    exactly one split, with all its rows. With metadata routing, the splitter requests ``qid``
    without being told to. Without metadata routing, it reads the qid from ``groups``, or from a
    target that carries it.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    shuffle : bool, default=False
        Whether to shuffle the queries first. Otherwise, folds are runs of queries in order of
        first appearance.
    random_state : int, RandomState instance or None, default=None
        Seed for shuffling, which also begins with the order of first appearance. Ignored if
        `shuffle` is false.

    See Also
    --------
    QueryShuffleSplit : Random splits of whole queries.
    train_test_query_split : One random split of arrays.
    sklearn.model_selection.GroupKFold : Folds of groups, balanced by their numbers of rows.

    Examples
    --------
    >>> from skcalrank.model_selection import QueryKFold
    >>> for train, test in QueryKFold(2).split([[0]] * 5, qid=["a", "b", "a", "c", "b"]):
    ...     print(train, test)
    [3] [0 2 1 4]
    [0 2 1 4] [3]
    """

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Seed = None
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def _splitter(self) -> Any:
        # KFold refuses a seed without shuffling, but some tools seed every splitter.
        seed = self.random_state if self.shuffle else None
        return KFold(self.n_splits, shuffle=self.shuffle, random_state=seed)


class QueryShuffleSplit(_QuerySplitter):
    """Random splits of whole queries into a training part and a test part.

    Parameters
    ----------
    n_splits : int, default=10
        Number of splits.
    test_size, train_size : float, int or None, default=None
        Share (float) or number (int) of queries in each part. If one is None, it is the
        complement of the other; if both are None, a tenth of the queries is in the test part.
    random_state : int, RandomState instance or None, default=None
        Seed of the random splits, which draw from the queries in order of first appearance: rows in
        another order are another split.

    See Also
    --------
    QueryKFold : K-fold cross-validation with whole queries.
    train_test_query_split : One random split of arrays.

    Examples
    --------
    >>> from skcalrank.model_selection import QueryShuffleSplit
    >>> splitter = QueryShuffleSplit(3, test_size=1, random_state=0)
    >>> [len(test) for _, test in splitter.split([[0]] * 4, qid=[1, 1, 2, 2])]
    [2, 2, 2]
    """

    def __init__(
        self,
        n_splits: int = 10,
        *,
        test_size: float | None = None,
        train_size: float | None = None,
        random_state: Seed = None,
    ) -> None:
        self.n_splits = n_splits
        self.test_size = test_size
        self.train_size = train_size
        self.random_state = random_state

    def _splitter(self) -> Any:
        # By name, as set_split_request adds an attribute.
        names = ("n_splits", "test_size", "train_size", "random_state")
        return ShuffleSplit(**{name: getattr(self, name) for name in names})


def train_test_query_split(
    *arrays: Any,
    qid: ArrayLike | None = None,
    test_size: float | None = None,
    train_size: float | None = None,
    random_state: Seed = None,
) -> list[Any]:
    """Split arrays into a training part and a test part of whole queries.

    Use it in place of :func:`~sklearn.model_selection.train_test_split`, which divides the
    documents of a query between both parts.

    Parameters
    ----------
    *arrays : sequence of indexables of the same length
        Arrays such as X and y. Targets that carry a qid keep it.
    qid : array-like of shape (n_rows,), default=None
        Query of each row. If None, the qid that one of the arrays carries. If given, its two parts
        are returned last.
    test_size, train_size : float, int or None, default=None
        Share or number of queries in each part, as in :class:`QueryShuffleSplit`; if both are
        None, a quarter of the queries is in the test part.
    random_state : int, RandomState instance or None, default=None
        Seed of the random split, as in :class:`QueryShuffleSplit`.

    Returns
    -------
    parts : list
        The training part and the test part of each array, and of `qid` if it is given.

    Raises
    ------
    MissingQidError
        If no qid is given, and no array carries one.
    ValueError
        If there are no arrays.

    See Also
    --------
    QueryShuffleSplit : Several random splits of whole queries.
    sklearn.model_selection.train_test_split : The same for single rows.

    Examples
    --------
    >>> from skcalrank.model_selection import train_test_query_split
    >>> parts = train_test_query_split([1, 2, 3], qid=[7, 7, 8], test_size=1, random_state=0)
    >>> [len(part) for part in parts]
    [2, 1, 2, 1]
    """
    if not arrays:
        raise ValueError("arrays must hold at least one array, got none.")
    names = ["X", "y", *(f"arrays[{place}]" for place in range(2, len(arrays)))]
    check.row_order(**dict(zip(names, arrays)), qid=qid)
    if qid is not None:
        names = check_qid(qid, num_samples(arrays[0]))
        qid = names if np.ndim(qid) == 0 else qid
    check_consistent_length(*arrays, qid)
    # By convention the second array is y; if it is a matrix, it is in the label-ranking form.
    second = arrays[1] if len(arrays) > 1 else None
    carrier = next((array for array in arrays if check.carried_qid(array) is not None), second)
    test_size = 0.25 if test_size is None and train_size is None else test_size
    splitter = QueryShuffleSplit(
        1, test_size=test_size, train_size=train_size, random_state=random_state
    )
    train, test = next(splitter.split(arrays[0], carrier, qid=qid))
    arrays = arrays if qid is None else (*arrays, qid)
    return [safe_indexing(array, rows) for array in arrays for rows in (train, test)]
