"""Input validation shared by estimators, metrics and splitters."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.validation import validate_data

from ._arrays import (
    as_array,
    checked_array,
    exact_ranks,
    is_finite,
    is_plain,
    naming,
    refuse_masked,
    refuse_no_numbers,
    refuse_other_arrays,
    refuse_rounding,
    scale_of,
)
from ._exceptions import CutQueriesWarning, OneQueryWarning, warn
from ._queries import Queries, check_qid
from ._tables import check_table, is_table, refuse_categories
from ._targets import Target
from ._types import Array, ArrayLike, Floats


def carried_qid(y: Any, qid: ArrayLike | None = None) -> ArrayLike | None:
    """Return `qid` if it is given, else the qid that `y` carries; raise if the two differ.

    A pandas Series carries a qid in an index, or in a level of its index, named ``"qid"``.
    """
    if isinstance(y, Target):
        y.check_qid_beside(qid)
        carried = y.qid
    else:
        carried = _qid_of_index(y)
    if carried is None or qid is None:
        return carried if qid is None else qid
    if not _same_groups(check_qid(qid, len(y)), check_qid(carried, len(y))):
        raise ValueError("qid must equal the qid that y carries, got another one. Pass only one.")
    return qid


def warn_of_one_query(y: Any, qid: ArrayLike | None, caller: str) -> None:
    """Warn if several rows of relevances are treated as one query because no qid is given."""
    if qid is not None or isinstance(y, Target):
        return
    shape = y.shape if hasattr(y, "shape") else np.shape(y)
    if shape[1:] in ((), (1,)) and shape[0] > 1:
        warn(
            f"{caller} got y of {shape[0]} rows and no qid, so all rows count as one query. Pass "
            "qid=qid, or y=RankingTarget(y, qid). If all rows are one query, pass "
            "qid=np.zeros(len(y)).",
            OneQueryWarning,
        )


def warn_of_cut_queries(y: Any, caller: str) -> None:
    """Warn if a target was sliced so that some of its queries have lost rows."""
    if not isinstance(y, Target) or y.origin is None:
        return
    left, size = y.origin.arrived(y.queries())
    cut = left < size
    if cut.any():
        warn(
            f"{caller} got y with {cut.sum()} of {len(cut)} queries cut: {left[cut].sum()} of "
            f"their {size[cut].sum()} documents are left. Split whole queries with QueryKFold, "
            "train_test_query_split or GroupKFold. If the other documents were dropped on "
            "purpose, build a new target: RankingTarget(np.asarray(y), y.qid).",
            CutQueriesWarning,
        )


def _qid_of_index(y: Any) -> Any:
    """Return the level named "qid" of the pandas index of y; None if there is none."""
    index: Any = getattr(y, "index", None)
    return index.get_level_values("qid") if "qid" in getattr(index, "names", ()) else None


def _same_groups(a: Array, b: Array) -> bool:
    if a.dtype == b.dtype != object:
        return bool(np.all(a == b))
    return bool(a.tolist() == b.tolist())


def check_queries(qid: ArrayLike | None, n_rows: int) -> Queries:
    """Group ``n_rows`` rows by `qid`; if None, all rows are one query."""
    if qid is None:
        return Queries.equal(1, n_rows)
    return Queries.from_qid(check_qid(qid, n_rows))


def check_target(
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    name: str = "y",
    queries: Queries | None = None,
) -> tuple[Floats, Queries]:
    """Return validated relevances in grouped order, and their queries.

    One-dimensional y has one query per value of qid, or one query if there is no qid. In a matrix,
    every row is a query. `queries` are those of a qid that has been validated beside y.
    """
    qid = carried_qid(y, qid) if queries is None else qid
    y = check_labels(y, name)
    y = check_one_form(y, qid, name)
    if y.ndim == 1:
        if queries is None or queries.n_rows != len(y):
            queries = check_queries(qid, len(y))
        return queries.group(y), queries
    return y.ravel(), Queries.equal(*y.shape)


def check_labels(y: ArrayLike, name: str = "y") -> Floats:
    """Return relevances in double precision.

    Raise ValueError unless they are finite and distinct labels stay distinct.
    """
    with naming(name):
        as_array(y, name)
        refuse_rounding(y, name)
    values: Floats = checked_array(y, name, ensure_2d=False, allow_nd=True)
    if values.ndim > 2:
        raise ValueError(f"{name} must have one or two dimensions, got shape {values.shape}.")
    return values


def check_one_form(y: Floats, qid: ArrayLike | None, name: str = "y") -> Floats:
    """Return relevances of shape (n_rows,), or (n, r) without a qid; ravel a single column."""
    if y.ndim == 2 and y.shape[1] == 1:
        warn(
            f"A column-vector {name} was passed when a 1d array was expected; it is raveled.",
            DataConversionWarning,
        )
        y = y.ravel()
    if y.ndim == 2 and qid is not None:
        raise ValueError(
            f"qid was given together with {name} of shape {y.shape}. In the label-ranking form "
            f"every row is a query of its own: drop qid, or pass one-dimensional {name}. If the "
            "columns are several labels of each document, use MultiLabelTarget and "
            "MultiLabelRanker."
        )
    return y


def check_scores(y_score: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return finite scores, raveled and in row order; raise unless they have the given shape.

    Only the order of scores counts: where rounding to double precision would make distinct
    scores equal, ranks replace the scores.
    """
    with naming("y_score"):
        as_array(y_score, "y_score")
        ranks = exact_ranks(y_score)
    scores: Floats = checked_array(y_score if ranks is None else ranks, "y_score", ensure_2d=False)
    if scores.shape == (*shape, 1) and len(shape) == 1:
        scores = scores.ravel()
    if scores.shape != tuple(shape):
        raise ValueError(
            f"y_score must have the shape {tuple(shape)} of y_true, got {scores.shape}. Pass one "
            "score per document."
        )
    return scores.ravel()


def check_sample_weight(
    sample_weight: ArrayLike | None,
    n_rows: int,
    queries: Queries | None = None,
    *,
    only_shares: bool = False,
) -> Floats | None:
    """Return one weight per row; None if `sample_weight` is None.

    Raise ValueError unless the weights are finite and non-negative, and some are positive. With
    ``only_shares`` the caller depends on the ratios of weights only, so that any scale is valid.
    """
    if sample_weight is None:
        return None
    weight: Floats = checked_array(
        sample_weight, "sample_weight", ensure_2d=False, ensure_min_samples=0
    )
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        hint = ""
        if queries is not None and weight.shape == (queries.n_queries,):
            hint = (
                " This is one weight per query: repeat them for the rows with w[codes], where "
                "codes = np.unique(qid, return_inverse=True)[1]."
            )
        raise ValueError(
            f"sample_weight must have shape ({n_rows},), one weight per row, got "
            f"{weight.shape}.{hint}"
        )
    if (weight < 0).any():
        raise ValueError(f"sample_weight must be non-negative, got {weight[weight < 0][0]}.")
    if not weight.any():
        raise ValueError("sample_weight must be positive for some row, got zeros only.")
    if only_shares:
        return weight / scale_of(weight.max())
    if not 1e-290 < weight.max() < 1e290:
        raise ValueError(
            "The largest sample_weight must be between 1e-290 and 1e290, so that sums of products "
            f"stay in the range of double precision, got {weight.max():g}. Divide the weights by "
            "it."
        )
    return weight


def query_weights(
    sample_weight: Floats | None, queries: Queries, label_form: bool
) -> Floats | None:
    """Return the weight of each query: the mean of the weights of its rows."""
    if sample_weight is None or label_form:
        return sample_weight
    return queries.mean(queries.group(sample_weight))


def checked_features(estimator: Any, X: Any, *y: Any, as_it_is: bool = False, **checks: Any) -> Any:
    """Return X, and y if given, validated by ``validate_data``; errors name the argument.

    With ``as_it_is``, a table is checked and returned unchanged, for a regressor that reads tables.
    """
    with naming("X", "y"):
        if not is_plain(X):
            refuse_masked(X=X)
            refuse_other_arrays(X=X)
            refuse_no_numbers(X=X)
            if as_it_is and is_table(X):
                return _checked_table(estimator, X, *y, **checks)
            refuse_categories(X)
        if checks.get("ensure_all_finite", True) is True and is_finite(X):
            checks["ensure_all_finite"] = False
        return validate_data(estimator, X, *y, **checks)


def _checked_table(
    estimator: Any, X: Any, *y: Any, reset: bool = True, multi_output: bool = False, **_: Any
) -> Any:
    """Return a table X unchanged, and y, if given, as ``validate_data`` returns it."""
    check_table(X)
    table = validate_data(estimator, X, *y, reset=reset, skip_check_array=True)
    if not y:
        return table
    labels = check_array(*y, ensure_2d=False, dtype=None, input_name="y", estimator=estimator)
    labels = labels if multi_output else column_or_1d(labels, warn=True)
    check_consistent_length(X, labels)
    return X, labels


class Reads(NamedTuple):
    """How an estimator reads X.

    Attributes
    ----------
    sparse : bool
        Whether sparse matrices are accepted.
    missing : bool
        Whether NaN is accepted.
    tables : bool
        Whether data frames are passed on unchanged.
    """

    sparse: bool = False
    missing: bool = False
    tables: bool = False

    @classmethod
    def of(cls, estimator: Any, *, tables: bool = False) -> Reads:
        """Return what the input tags of an estimator say."""
        tags = get_tags(estimator).input_tags
        return cls(tags.sparse, tags.allow_nan, tables)

    def checks(self) -> dict[str, Any]:
        """Return the options of :func:`checked_features`."""
        return {
            "accept_sparse": "csr" if self.sparse else False,
            "dtype": (np.float64, np.float32),
            "ensure_all_finite": "allow-nan" if self.missing else True,
            "as_it_is": self.tables,
        }


def with_index_of(X: object, values: Array, name: str) -> Any:
    """Return values of rows with the index of X if X is a pandas DataFrame, else unchanged."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(X, pandas.DataFrame):
        return values
    if values.ndim == 1:
        return pandas.Series(values, index=X.index, name=name)
    return pandas.DataFrame(values, index=X.index)


def check_option(name: str, value: object, options: Iterable[object]) -> None:
    """Raise ValueError unless the value is one of the strings `options`."""
    if not isinstance(value, str) or value not in options:
        known = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {known}, got {value!r}.")


def check_alpha(alpha: object) -> None:
    """Raise ValueError unless the ridge penalty is a finite, non-negative number."""
    if not isinstance(alpha, (int, float, np.number)) or not 0 <= alpha < np.inf:
        raise ValueError(f"alpha must be a finite, non-negative number, got {alpha!r}.")


def check_count(
    name: str, value: Any, what: str = "", *, least: float = 1, most: float = np.inf
) -> None:
    """Raise ValueError unless the value is an integer from `least` to `most`.

    `what` is put into the message: what the integer means, or what is valid besides integers.
    """
    if not _is_integer(value) or not least <= value <= most:
        span = f">= {least}" if most == np.inf else f"from {least} to {most}"
        what = what and f", {what}"
        raise ValueError(f"{name} must be an integer {span}{what}, got {value!r}.")


def check_cutoff(k: Any, name: str = "k") -> None:
    """Raise ValueError unless the cutoff k is None or an integer >= 1."""
    if k is None:
        return
    if not _is_integer(k) or k < 1:
        raise ValueError(f"{name} must be an integer >= 1, or None for all documents, got {k!r}.")


def _is_integer(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
