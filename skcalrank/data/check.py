"""Checks of arguments: ``check.option(...)``, ``check.target(y, qid)``."""

from collections.abc import Iterable
from importlib import import_module
from inspect import isclass, signature
from numbers import Real
from operator import ge, gt, le, lt, ne
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_array, check_consistent_length, column_or_1d, get_tags
from sklearn.utils.validation import validate_data

from ..columns import arrays, tables
from ..columns import index_of as index_of
from ..columns import row_order as row_order
from ..columns.types import Array, ArrayLike, Floats, Self
from . import limits
from ._exceptions import (
    CutQueriesWarning,
    EqualLabelsWarning,
    MissingQidError,
    OneQueryWarning,
    SingleDocumentsWarning,
    is_settled,
    warn,
)
from ._queries import Queries, check_qid, is_scalar
from ._query_sizes import QuerySizes
from ._targets import Judgments, Target
from ._workers import workers_of_fit

# Queries per row from which on a qid seems to be of documents.
_NEARLY_ALL = 0.9

# Chance below which grades do not differ within all rows by chance: that of 20 rows of two grades.
_CHANCE = 1e-6

# Rows from which on a list passed to a metric seems to be of several queries, and that do not all
# hold positions by chance.
MANY_ROWS = 20

# Types of numbers that are not converted, and options of checks that :class:`Reads` sets.
_FLOATS = (np.float64, np.float32)
_OF_READS = {"accept_sparse", "as_it_is", "dtype", "ensure_all_finite", "reset"}

# Size of a request up to which the checks take longer than its scores.
_FEW_CELLS = 1 << 16

# Rows up to which labels without a qid are one query, with a warning, where they are learned from:
# scikit-learn's checks of estimators, which know no qid, have at most so many.
_MOST_ROWS = 200

# What hands the qid on through scikit-learn's tools.
_SEARCH = "GridSearchCV(ranker, grid, cv=QueryKFold(5)).fit(X, {})"


def carried_qid(y: Any, qid: ArrayLike | None = None, **beside: Any) -> ArrayLike | None:
    """Return `qid` if it is given, else the qid that `y` carries; raise if the two differ.

    A pandas Series carries a qid in an index, or in a level of its index, named ``"qid"``. A scalar
    is the name of one query, which has all rows of y. Raise for rows, of `beside` too, in two
    orders.
    """
    row_order(**beside, y=y, qid=qid)
    return qid_beside(y, qid)


def qid_of_metric(
    caller: str,
    y: Any,
    qid: ArrayLike | None,
    name: str = "y_true",
    *,
    least: float = MANY_ROWS,
    measures: Iterable[Any] = (),
    **beside: Any,
) -> ArrayLike | None:
    """Return the qid of labels that a metric compares with what is `beside` them.

    Raise for rows in two orders, and for measures whose scale a part of a target would set. Warn of
    `least` rows or more without queries, and of queries that are cut.
    """
    row_order(**{name: y}, qid=qid, **beside)
    qid = qid_beside(y, qid)
    scale_of_part(y, measures, name)
    one_query(y, qid, caller, name, least=least)
    warn_of_cut_queries(y, caller)
    return qid


def scale_of_part(y: Any, measures: Iterable[Any], name: str = "y") -> None:
    """Raise if y is a part of a target, whose largest label would set the scale of a measure."""
    if isinstance(y, Target) and y.is_part:
        for measure in measures:
            measure.require_scale(f"if {name} is a part of a target", "each part")


def qid_beside(y: Any, qid: ArrayLike | None) -> ArrayLike | None:
    """Return what :func:`carried_qid` does, for rows whose order has been compared."""
    if y is not None and qid is not None and is_scalar(qid):
        qid = check_qid(qid, tables.n_rows_of(y))
    if isinstance(y, Target):
        y.check_qid_beside(qid)
        carried = y.qid
    else:
        index: Any = getattr(y, "index", None)
        carried = index.get_level_values("qid") if "qid" in getattr(index, "names", ()) else None
    if carried is None or qid is None:
        return carried if qid is None else qid
    given, own = check_qid(qid, len(y)), check_qid(carried, len(y))
    # Lists compare what arrays of two types do not, and take long.
    as_arrays = given.dtype == own.dtype != object
    same = np.array_equal(given, own) if as_arrays else tables.listed(given) == tables.listed(own)
    if not same:
        raise ValueError("qid must equal the qid that y carries, got another one. Pass only one.")
    return qid


def one_query(
    y: Any,
    qid: ArrayLike | None,
    caller: str,
    name: str = "y",
    *,
    least: float = 2,
    call: str | None = None,
    tool: str | None = None,
) -> None:
    """Warn if `least` rows of relevances or more are one query because no qid is given.

    Many rows are an error where there is a `call` that takes a qid. The error shows it, and what
    a `tool` takes, of which a search is the one of y.
    """
    if qid is not None or isinstance(y, Target) or is_settled(OneQueryWarning):
        return
    with arrays.naming(name):
        shape = y.shape if hasattr(y, "shape") else np.shape(y)
    if not shape or shape[1:] not in ((), (1,)):
        return
    n_rows = tables.n_rows_of(y)
    # Numbers of rows in the texts would repeat them for each fold of a search.
    carried = f"RankingTarget({name}, qid)"
    if call is not None and n_rows > _MOST_ROWS:
        tool = tool or (_SEARCH if name == "y" else call)
        is_routed = tool == _SEARCH and get_config()["enable_metadata_routing"]
        chunks = " Chunks of partial_fit need different ones, such as qid=i." * ("fit(" in call)
        raise MissingQidError(
            f"{caller} got {name} of more than {_MOST_ROWS} rows and no qid, which would make one "
            "query of all rows (groups of a splitter do not reach rankers; Bagging needs metadata "
            f"routing). Pass the query of each row:\n    {call.format(f'{name}, qid')}\n    "
            f"{tool.format(f'{name}, qid=qid' if is_routed else carried)}\n"
            f"If all rows are one query, pass a scalar, qid=0.{chunks}"
        )
    if n_rows >= least:
        warn(
            f"{caller} got {name} and no qid, so all rows count as one query. Pass qid=qid, or "
            f"{name}={carried}. If all rows are one query, pass qid=0.",
            OneQueryWarning,
        )


def warn_of_positions(y: Any, name: str = "y") -> None:
    """Warn if many rows of the label-ranking form all hold positions from 1, ..., r.

    Items may have none, if grades would hardly differ within all rows by chance.
    """
    if np.ndim(y) != 2 or len(y) < MANY_ROWS or not holds_positions(y):
        return
    if _chance_of_distinct(y) < _CHANCE:
        once = "at most once" if np.isnan(y).any() else "once"
        warn(
            f"Each row of {name} holds the numbers 1, ..., r {once}, and higher is better: if they "
            f"are positions, where 1 is the best, pass -{name}. If r is the best, pass {name} - 1 "
            "to silence this warning."
        )


def _chance_of_distinct(y: Floats) -> float:
    """Return the largest chance that independent grades of the values of y differ in all rows."""
    known = ~np.isnan(y)
    before = np.cumsum(known, axis=1)[known] - 1.0
    # No distribution of as many values has a larger chance than the uniform one.
    free = 1 - before / len(np.unique(y[known]))
    return float(np.exp(np.log(free).sum()))


def warn_of_single_documents(queries: Queries) -> None:
    """Warn if there are nearly as many queries as rows, by a qid that seems to be of documents."""
    if queries.names is not None and queries.n_queries >= max(2, _NEARLY_ALL * queries.n_rows):
        # Without the caller, so that a ranker inside another one does not repeat it.
        warn(
            "The qid differs in nearly every row, so nearly every query has one document and "
            "there is nothing to order. Pass the identifiers of queries, not of documents.",
            SingleDocumentsWarning,
        )


def warn_of_equal_labels(
    y: Floats, queries: Queries, name: str = "y", level: float | None = None
) -> None:
    """Warn if y, in grouped order, has one value in each query, and in those of other workers.

    `level` is the relevance level by which y was read, if any.
    """
    starts = queries.ptr[:-1]
    # Items that a row does not rank are NaN. Single documents have a warning of their own.
    differs = (np.fmax.reduceat(y, starts) > np.fmin.reduceat(y, starts)).any()
    single = not differs and (queries.sum(1 - np.isnan(y)) < 2).all()
    if not workers_of_fit().reduce(bool(differs or single), any):
        read = "" if level is None else f", read with relevance_level={level:g},"
        tell_equal_labels(name + read)


def tell_equal_labels(name: str = "y") -> None:
    """Warn that labels do not differ within queries."""
    warn(
        f"{name} does not differ between the documents of any query, so there is no order to "
        "learn. Check that y is the column of labels, that the qid is that of queries, and that "
        "documents which nobody chose are among the rows.",
        EqualLabelsWarning,
    )


def warn_of_changed_queries(
    sizes: QuerySizes | None, y: Any, queries: Queries, caller: str = "score"
) -> None:
    """Warn if queries of a fit, with these sizes, come back with another number of rows.

    A target that knows of missing rows has a warning of its own.
    """
    if sizes is not None and sizes.are_cut_by(queries) and not _cut_queries(y).any():
        # Numbers in the text would repeat the warning for each fold of a search.
        warn(
            f"{caller} got queries of fit with another number of rows, as a split gives that cuts "
            "queries: its score is too high. Split whole queries with QueryKFold, "
            "train_test_query_split or GroupKFold. If these are other queries, as later items of "
            "the same users are, give them other names, such as (user, 'later'); if candidates "
            "were cut on purpose, filter this warning.",
            CutQueriesWarning,
        )


def refuse_judgments(targets: Any) -> None:
    """Raise ValueError for targets that are not numbers of documents."""
    if targets is None or isinstance(targets, Judgments):
        raise ValueError(
            "targets must be an array of one number per document, got "
            f"{type(targets).__name__}: pass labels and judgments to fit."
        )


def warn_of_cut_queries(y: Any, caller: str) -> None:
    """Warn if a target was sliced so that some of its queries have lost rows."""
    if _cut_queries(y).any():
        warn(
            f"{caller} got y with queries cut, so that documents are missing. Split whole queries "
            "with QueryKFold, train_test_query_split or GroupKFold. If the other documents were "
            "dropped on purpose, as a split of the items of each user does, build a new target: "
            "RankingTarget(np.asarray(y), y.qid).",
            CutQueriesWarning,
        )


def _cut_queries(y: Any) -> Array:
    """Return which queries of a target have lost rows.

    Labels that are not sliced from a target have no queries to lose.
    """
    if not isinstance(y, Target) or y.origin is None:
        return np.zeros(0, dtype=bool)
    left, size = y.origin.arrived(y.queries())
    return np.asarray(left < size)


def queries(qid: ArrayLike | None, n_rows: int) -> Queries:
    """Group ``n_rows`` rows by `qid`; if None, all rows are one query."""
    return Queries.equal(1, n_rows) if qid is None else Queries.from_qid(check_qid(qid, n_rows))


def of_one_query(qid: Any, X: Any) -> Any:
    """Return a qid of all rows of X for a scalar, the name of one query; else the qid.

    Beside labels text is refused, as it is the name of a column more often than that of a query.
    """
    text = np.asarray(qid) if isinstance(qid, str) else qid
    return check_qid(text, tables.n_rows_of(X)) if is_scalar(text) else qid


def target(
    y: ArrayLike,
    qid: ArrayLike | None = None,
    *,
    name: str = "y",
    known: Queries | None = None,
    unranked: bool = False,
) -> tuple[Floats, Queries]:
    """Return validated relevances in grouped order, and their queries.

    One-dimensional y has one query per value of qid, or one query if there is no qid. In a matrix,
    every row is a query, and with `unranked` items may be NaN. `known` are the queries of a qid
    that has been validated beside y.
    """
    qid = carried_qid(y, qid) if known is None else qid
    y = one_form(labels(y, name, unranked=unranked), qid, name)
    if y.ndim != 1:
        return y.ravel(), Queries.equal(*y.shape)
    known = queries(qid, len(y)) if known is None or known.n_rows != len(y) else known
    return known.group(y), known


def labels(y: ArrayLike, name: str = "y", *, unranked: bool = False) -> Floats:
    """Return relevances in double precision.

    Raise ValueError unless they are finite and distinct labels stay distinct. With `unranked`,
    labels of the label-ranking form may be NaN, for an item that a row does not rank.
    """
    _refuse_lists_of_names(y, name)
    with arrays.naming(name):
        raw = arrays.as_array(y, name)
        arrays.refuse_rounding(y, name)
    if has_items := raw.ndim == 2 and raw.shape[1] > 1:
        y = raw = arrays.with_nan(raw, name)
    finite = {"ensure_all_finite": "allow-nan"} if unranked and has_items else {}
    if has_items and not unranked and raw.dtype.kind in "fO" and (raw != raw).any():
        raise ValueError(
            f"{name} contains NaN, an item that a row does not rank, which this estimator cannot "
            "learn from: use PairwiseDisagreementRanker, linear by default, or fill it in: "
            "in a list of the best k, give the others one value below them."
        )
    try:
        values: Floats = arrays.checked(y, name, ensure_2d=False, allow_nd=True, **finite)
    except (ValueError, TypeError) as error:
        raise _first_wrong_label(raw, name, error) from error
    if values.ndim > 2:
        raise ValueError(f"{name} must have one or two dimensions, got shape {values.shape}.")
    return values


def _refuse_lists_of_names(y: Any, name: str) -> None:
    """Raise ValueError for a list of lists (or sets) of names, such as of the tags of each row."""
    first = y[0] if isinstance(y, list) and y else None
    if isinstance(first, (list, tuple, set, frozenset)) and isinstance(next(iter(first), 0), str):
        raise ValueError(
            f"{name} must hold numbers, got lists of names such as {list(first)!r}. Make a column "
            "of 0 and 1 for each name, as sklearn.preprocessing.MultiLabelBinarizer does."
        )


def _first_wrong_label(raw: Array, name: str, error: Exception) -> Exception:
    """Return an error that names the first label that is text or missing; else the given one."""
    if raw.ndim == 0:
        return error
    flat, width = raw.astype(object).ravel(), max(1, raw.size // max(1, len(raw)))
    for place, value in enumerate(flat):
        if isinstance(value, str) and not arrays.is_number(value):
            swapped = ": were y and qid swapped? Make numbers of grades in words" * (name == "y")
            return ValueError(
                f"{name} must be numbers, got {value!r} in row {place // width}{swapped}."
            )
        if arrays.is_missing(value):
            unjudged = (
                " Leave out documents that were never judged, from all arguments alike, or give "
                "them the label 0; in a comparison, pass judge= if a judge has labels of all."
            ) * (name in ("y", "y_true"))
            return ValueError(f"{name} contains NaN, first in row {place // width}.{unjudged}")
    return error


def one_form(y: Floats, qid: ArrayLike | None, name: str = "y") -> Floats:
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


def item_names(y: Any) -> tuple[str, ...] | None:
    """Return the names of the items of the label-ranking form, if all are strings.

    They are the names of the columns of y, or of the table that judgments were made from.
    """
    if isinstance(y, Target):
        return getattr(y, "item_names", None)
    names = tuple(tables.column_names(y) or ())
    return names if len(names) > 1 and all(isinstance(name, str) for name in names) else None


def holds_positions(y: Any, first: tuple[int, ...] = (1,)) -> bool:
    """Return whether each row of a matrix of numbers holds positions of its columns.

    Each has one of its own, or NaN; they may count from any of the numbers `first`.
    """
    shape = np.shape(y)
    if len(shape) != 2 or shape[1] < 2 or np.asarray(y).dtype.kind not in "iuf":
        return False
    # An item without a position is NaN, and sorted to the end.
    rows = np.sort(y, axis=1)
    if (rows != np.floor(rows))[~np.isnan(rows)].any() or (np.diff(rows, axis=1) == 0).any():
        return False
    low, high = np.fmin.reduce(rows, axis=None), np.fmax.reduce(rows, axis=None)
    return any(start <= low and high < start + shape[1] for start in first)


def same_items(ranker: Any, y: Any) -> None:
    """Raise ValueError if y has other columns than those that a ranker was fitted to.

    As for features, names are compared if both have them.
    """
    known, names = getattr(ranker, "item_names_in_", None), item_names(y)
    if known is None or names is None or tuple(known) == names:
        return
    if set(known) == set(names):
        problem, remedy = "the same names in another order", "pass y[ranker.item_names_in_]"
    else:
        problem, remedy = f"{', '.join(names)}", "pass the items of fit"
    raise ValueError(
        f"y must have the columns of fit, {', '.join(known)}, got {problem}: {remedy}."
    )


def row_number(name: str, row: Any, X: Any) -> int:
    """Return the number of a row that is given by it, or by its label in a pandas index."""
    labels = tables.labels_of(X)
    if labels is None:
        return number_of(name, row, tables.n_rows_of(X), "row")
    try:
        number = labels.get_loc(row)
    except Exception:  # pandas raises errors of many kinds for what is no label
        number = None
    if not isinstance(number, (int, np.integer)) or isinstance(row, bool):
        problem = "several rows have" if isinstance(number, (slice, np.ndarray)) else "no row has"
        raise ValueError(
            f"{name} must be the label of one row in the index of X, got {row!r}, which {problem}. "
            "For rows by number, pass X.index[number], or X.reset_index(drop=True)."
        )
    return int(number)


def qid_of_parts(qid: Any, n_parts: int) -> None:
    """Raise MissingQidError if rows of several partitions would be one query."""
    if qid is None and n_parts > 1:
        raise MissingQidError(
            f"qid must be given if X has several partitions, got None for {n_parts}: pass qid, "
            "with whole queries in each partition."
        )


def equally_many(what: str, remedy: str = "", **parts: Any) -> None:
    """Raise ValueError unless `parts`, those of no length aside, have equally many rows.

    `what` names all of them in the message, which ends with the `remedy`.
    """
    sizes = {name: n for name, part in parts.items() if (n := _length_of(part)) is not None}
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{name} of {size}" for name, size in sizes.items())
        raise ValueError(f"{what} must have equally many rows, got {got}.{remedy}")


def _length_of(values: Any) -> int | None:
    """Return the number of rows, or None if it is for validation to say what is wrong."""
    shape = getattr(values, "shape", None)
    if shape is not None:
        return shape[0] if shape and isinstance(shape[0], int) else None
    return len(values) if hasattr(values, "__len__") and not isinstance(values, str) else None


def number_of(name: str, value: Any, most: int, what: str) -> int:
    """Return the number of a row or an item; raise if there is none."""
    count(name, value, f"the number of one {what}", least=0, most=most - 1)
    return int(value)


def scores(y_score: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return finite scores, raveled and in row order; raise unless they have the given shape.

    Only the order of scores counts: where rounding to double precision would make distinct
    scores equal, ranks replace the scores.
    """
    with arrays.naming("y_score"):
        ranks = arrays.exact_ranks(y_score, "y_score")
    scores: Floats = arrays.checked(y_score if ranks is None else ranks, "y_score", ensure_2d=False)
    if scores.shape == (*shape, 1) and len(shape) == 1:
        scores = scores.ravel()
    if scores.shape != tuple(shape):
        raise ValueError(
            f"y_score must have the shape {tuple(shape)}, got {scores.shape}. Pass one score per "
            "document."
        )
    return scores.ravel()


def sample_weight(
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
    weight: Floats = arrays.checked(
        sample_weight, "sample_weight", ensure_2d=False, ensure_min_samples=0
    )
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        hint = (
            " This is one weight per query: repeat them for the rows with w[codes], where "
            "codes = np.unique(qid, return_inverse=True)[1]."
            if queries is not None and weight.shape == (queries.n_queries,)
            else ""
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
        return weight / arrays.scale_of(weight.max())
    if not 1e-290 < weight.max() < 1e290:
        raise ValueError(
            "The largest sample_weight must be between 1e-290 and 1e290, so that sums of products "
            f"stay in the range of double precision, got {weight.max():g}. Divide the weights by "
            "it."
        )
    return weight


def labels_that_count(y: Floats, queries: Queries, weight: Floats | None) -> Floats:
    """Return labels in grouped order, 0 in queries of weight 0, whose labels set no scale.

    Weights are those of documents in grouped order, or of queries.
    """
    if weight is None or weight.all():
        return y
    counts = (weight if len(weight) == queries.n_queries else queries.max(weight)) > 0
    return np.where(queries.repeat(counts), y, 0.0)


def features(
    estimator: Any,
    X: Any,
    *y: Any,
    as_it_is: bool = False,
    takes_records: bool = False,
    **checks: Any,
) -> Any:
    """Return X, and y if given, validated by ``validate_data``; errors name the argument.

    With ``as_it_is``, a table is checked and returned unchanged, for a regressor that reads tables.
    With ``takes_records``, numbers are returned for a list of dicts, which tell its rows apart.
    """
    expected = None if y else _as_expected(estimator, X, checks | {"as_it_is": as_it_is})
    if expected is not None:
        return expected
    if takes_records and tables.is_records(X):
        names = tables.column_names(X) or []
        if checks.get("reset", True):
            estimator.n_features_in_ = len(names)
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return _beside(estimator, tables.rows_as_numbers(X), *y)
    X = tables.as_frame(X, sparse=bool(checks.get("accept_sparse")))
    with arrays.naming(*["X", "y"][: 1 + len(y)]):
        if isinstance(X, tables.EncodedTable):
            return _encoded_table(estimator, X, *y, reset=checks.get("reset", True))
        if not arrays.is_plain(X):
            arrays.refuse_masked(X, "X")
            arrays.refuse_other_arrays(X, "X")
            arrays.refuse_no_numbers(X, "X")
            if as_it_is and tables.is_table(X):
                return _checked_table(estimator, X, *y, **checks)
            tables.refuse_categories(X)
        if checks.get("ensure_all_finite", True) is True and arrays.is_finite(X):
            checks["ensure_all_finite"] = False
        try:
            return validate_data(estimator, X, *y, **checks)
        except ValueError as error:
            if "Input X contains NaN" in str(error):
                raise ValueError(tables.missing_in(X)) from error
            raise


def _as_expected(estimator: Any, X: Any, checks: dict[str, Any]) -> Array | None:
    """Return few rows of numbers as an array if the checks would find nothing in them, else None.

    They cost a request for one query several times what its scores do.
    """
    fitted, others = vars(estimator), checks.keys() - _OF_READS
    if others or checks.get("reset", True) or checks.get("dtype") != _FLOATS:
        return None
    names = fitted.get("feature_names_in_")
    if names is not None and not checks["as_it_is"] and tables.column_names(X) == names.tolist():
        X = tables.few_numbers(X)
    elif names is not None:
        return None
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in _FLOATS:
        return None
    takes_nan = checks.get("ensure_all_finite") == "allow-nan"
    if not 0 < X.size <= _FEW_CELLS or X.shape[1] != fitted.get("n_features_in_"):
        return None
    return None if (np.isinf(X) if takes_nan else ~np.isfinite(X)).any() else X


def share_columns(estimator: Any, other: Any) -> None:
    """Give an estimator the columns that another one has been fitted to."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(other, name):
            setattr(estimator, name, getattr(other, name))


def _encoded_table(estimator: Any, X: tables.EncodedTable, *y: Any, reset: bool) -> Any:
    """Return the matrix of a table, and y if given; the estimator has the columns of the table."""
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.matrix.shape[1]
        share_columns(estimator, X.encoder)
    return _beside(estimator, X.matrix, *y)


def _beside(estimator: Any, X: Any, *y: Any) -> Any:
    """Return X, and y, if given, as ``validate_data`` returns it."""
    return (X, validate_data(estimator, "no_validation", *y, reset=False)) if y else X


def _checked_table(
    estimator: Any, X: Any, *y: Any, reset: bool = True, multi_output: bool = False, **_: Any
) -> Any:
    """Return a table X unchanged, and y, if given, as ``validate_data`` returns it."""
    tables.check_table(X)
    table = validate_data(estimator, X, *y, reset=reset, skip_check_array=True)
    if not y:
        return table
    labels = check_array(*y, ensure_2d=False, dtype=None, input_name="y", estimator=estimator)
    labels = labels if multi_output else column_or_1d(labels, warn=True)
    check_consistent_length(X, labels)
    return X, labels


class Reads(NamedTuple):
    """How an estimator reads X.

    * `sparse`: whether sparse matrices are accepted.
    * `missing`: whether NaN is accepted.
    * `tables`: whether data frames are passed on unchanged.
    * `records`: whether lists of dicts are passed on, as the estimator inside reads them.
    """

    sparse: bool = False
    missing: bool = False
    tables: bool = False
    records: bool = False

    @classmethod
    def of(cls, estimator: Any, *, tables: bool = False) -> Self:
        """Return what the input tags of an estimator say."""
        tags = get_tags(estimator).input_tags
        return cls(tags.sparse, tags.allow_nan, tables)

    def checks(self) -> dict[str, Any]:
        """Return the options of :func:`features`."""
        return {
            "accept_sparse": "csr" if self.sparse else False,
            "dtype": _FLOATS,
            "ensure_all_finite": "allow-nan" if self.missing else True,
            "as_it_is": self.tables,
            **({"takes_records": True} if self.records else {}),
        }


_SIGNS = {">": gt, ">=": ge, "<": lt, "<=": le, "!=": ne}


def option(name: str, value: object, options: Iterable[object]) -> None:
    """Raise ValueError unless the value is one of the strings `options`."""
    if not isinstance(value, str) or value not in options:
        known = ", ".join(map(repr, options))
        raise ValueError(f"{name} must be one of {known}, got {value!r}.")


def count(name: str, value: Any, what: str = "", *, least: float = 1, most: float = np.inf) -> None:
    """Raise ValueError unless the value is an integer from `least` to `most`.

    `what` is put into the message: what the integer means, or what is valid besides integers.
    """
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_integer or not least <= value <= most:
        span = f">= {least}" if most == np.inf else f"from {least} to {most}"
        what = what and f", {what}"
        raise ValueError(f"{name} must be an integer {span}{what}, got {value!r}.")


def number(
    name: str, value: Any, span: str = "", what: str = "", *, is_finite: bool = True
) -> None:
    """Raise ValueError unless the value is a finite number in a span: "", "> 0", ">= 0 and < 1".

    Without `is_finite` it may be infinite. `what` is put into the message, as in `count`.
    """
    ends = [end.split() for end in span.split(" and ") if end]
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not (is_number and (abs(value) < np.inf or not is_finite)) or not all(
        _SIGNS[sign](value, float(end)) for sign, end in ends
    ):
        kind = f"{'finite ' * is_finite}number {span}".strip() + (what and f", {what}")
        raise ValueError(f"{name} must be a {kind}, got {value!r}.")


def share(name: str, value: Any) -> None:
    """Raise ValueError unless the value is a number between 0 and 1."""
    number(name, value, "> 0 and < 1", "such as 0.95")


def cutoff(k: Any) -> None:
    """Raise ValueError unless the cutoff k is None or an integer >= 1."""
    if k is not None:
        count("k", k, "or None for all documents")


def cutoff_of(name: str) -> int | None:
    """Return the cutoff in a name such as "ndcg@10", None without one; raise unless it is one."""
    k = name.partition("@")[2]
    if k and not (k.isascii() and k.isdecimal() and int(k)):
        raise ValueError(f"The cutoff after @ must be an integer >= 1, got {name!r}.")
    return int(k) if k else None


def time_limit(seconds: float | None) -> None:
    """Raise ValueError unless a time limit is None or a positive number of seconds."""
    if seconds is not None:
        number("time_limit", seconds, "> 0", "or None", is_finite=False)


def installed(module: str, remedy: str) -> Any:
    """Return an optional module; raise an ImportError with the remedy if it is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(remedy) from error


def params(estimator: Any) -> None:
    """Raise ValueError for a parameter outside the ``_parameter_constraints`` of its class."""
    params = limits.settings(estimator)
    _refuse_other(estimator, params.get("estimator"))
    limits.validate(type(estimator), params)


def valid_regressor(regressor: Any) -> Any:
    """Return an object with ``fit`` and ``predict``, and None in place of what is none.

    Tags are read even to display an estimator in a notebook, where its parameters may be wrong.
    """
    predicts = hasattr(regressor, "predict") or isinstance(regressor, RegressorMixin)
    return regressor if predicts and hasattr(regressor, "fit") and not isclass(regressor) else None


def _refuse_other(owner: Any, regressor: Any) -> None:
    """Raise ValueError for the ``estimator`` of a ranker that is neither None nor a regressor.

    The error suggests the parameter that was probably meant.
    """
    if regressor is None or valid_regressor(regressor) is not None:
        return
    is_one = hasattr(regressor, "fit") and hasattr(regressor, "predict")
    raise ValueError(
        f"estimator must be a regressor with fit and predict, or None, got {regressor!r}"
        + (f": did you mean {regressor.__name__}()?" if is_one else _meant(type(owner), regressor))
    )


# Parameters that a value is probably meant for, most likely first; then all others by name. Those
# with a list of names come before `measure`, which is read only later and so takes every string.
_LIKELY = ("k", "max_grade", "p", "alpha", "surrogate", "loss", "gain", "measure")


def _meant(cls: Any, value: Any) -> str:
    """Return the end of an error message: the parameter that a value was probably meant for."""
    parameters = signature(cls).parameters
    names = [*(name for name in _LIKELY if name in parameters), *sorted(parameters)]
    name = next((name for name in names if _accepts(cls, name, value)), None)
    if name is None:
        # The value is a measure, but the class of the ranker already determines its measure.
        of_measure = isinstance(value, str) and "@" in value
        return f": did you mean LeastSquaresRanker(measure={value!r})?" if of_measure else "."
    return f": did you mean {cls.__name__}({name}={value!r})?"


def _accepts(cls: Any, name: str, value: Any) -> bool:
    if name not in (known := limits.of_class(cls)):
        return False  # a class of the user adds it
    if known[name] == limits.OWN_ERROR:
        # Names of measures may contain a cutoff, and names of prediction maps do not.
        return isinstance(value, str) and (name == "measure" or "@" not in value)
    try:
        limits.validate(cls, {name: value})
    except (TypeError, ValueError):
        return False
    return True


def refuse_unread(estimator: Any, names: Iterable[str], why: str) -> None:
    """Raise ValueError if one of the parameters `names` is changed although it has no effect.

    `why` is the setting under which the parameters have no effect, followed by the remedy, as in
    ``"loss='squared': set loss='pairwise_squared'"``. The values satisfy their constraints.
    """
    parameters = signature(type(estimator)).parameters
    for name in names:
        if name not in parameters:  # a class of the user fixes it
            continue
        value, default = getattr(estimator, name), parameters[name].default
        # Callables may compare equal to anything.
        if callable(value) or value != default:
            raise ValueError(
                f"{name}={value!r} has no effect with {why}, or leave {name}={default!r}."
            )


def refuse_second_penalty(estimator: Any) -> None:
    """Raise ValueError if both ``alpha`` and ``estimator`` are set: a regressor ignores alpha."""
    if estimator.estimator is not None:
        why = f"estimator={estimator.estimator!r}: set the penalty on the estimator"
        refuse_unread(estimator, ["alpha"], why)
