"""Transformers on dask collections: fitted by all workers, and applied partition by partition."""

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..columns.types import Array, Floats
from ..data import handed_to, transform_rows
from ..preprocessing import TableEncoder
from ._blocks import OnPartition, check_disjoint, collect, is_frame, named_queries
from ._cut import partitions
from ._fits import fit_on_workers


def transform_by_partition(transformer: Any, X: Any, qid: Any = None) -> Any:
    """Return lazy rows: a DataFrame for a DataFrame, else an array."""
    check_is_fitted(transformer)
    # Later fits do not change a copy, as they set new attributes.
    transformer, names = copy.copy(transformer), transformer.get_feature_names_out()
    parts = partitions(X, lazily=True, qid=qid)
    like = _made_of_one_row(transformer, X, names, qid is not None)[:0]
    # Every partition waits for the check that no query is in two partitions.
    if is_frame(X) and (qid is None or is_frame(qid)):
        # Dask can compute these together with X.
        beside = () if qid is None else (qid, whole_queries(qid))
        return X.map_partitions(OnPartition(_as_frame, transformer, like), *beside, meta=like)
    whole = [] if qid is None else [parts.with_whole_queries()]
    like = np.asarray(like)
    values = parts.map(_as_array, transformer, like, *whole)
    return collect(values, parts, width=len(names), dtype=like.dtype)


def whole_queries(qid: Any) -> Any:
    """Return a Series of one partition, which is computed if no query is in two partitions."""
    import pandas as pd

    like = pd.Series(dtype=object)
    names = qid.map_partitions(OnPartition(_boxed_names), meta=like, enforce_metadata=False)
    names = names.clear_divisions().repartition(npartitions=1)
    return names.map_partitions(OnPartition(_checked), meta=like, enforce_metadata=False)


def _boxed_names(qid: Any) -> Any:
    import pandas as pd

    return pd.Series([named_queries(qid).names])


def _checked(names: Any) -> Any:
    check_disjoint([dict.fromkeys(of.tolist(), number) for number, of in enumerate(names)])
    return names[:0]


def _made_of_one_row(transformer: Any, X: Any, names: Array, has_qid: bool) -> Any:
    """Return what becomes of a row of zeros, as a frame for a frame."""
    if is_frame(X):
        import pandas as pd

        X = pd.DataFrame(0, X._meta.index[:0].insert(0, 0), X.columns).astype(X._meta.dtypes)
    else:
        X = np.zeros((1, X.shape[1]), X.dtype)
    reader = getattr(transformer, "encoder_", transformer)
    if isinstance(reader, TableEncoder):  # which might not read zeros
        return _named(np.zeros((1, len(names))), X, names)
    return _named(transform_rows(transformer, X, np.zeros(1) if has_qid else None), X, names)


def _named(rows: Floats, X: Any, names: Any) -> Any:
    """Return rows as a frame if X is one."""
    if not hasattr(X, "iloc") or hasattr(rows, "iloc"):
        return rows
    import pandas as pd

    return pd.DataFrame(rows, X.index, names)


def _as_frame(transformer: Any, like: Any, X: Any, qid: Any = None, _whole: Any = None) -> Any:
    """Return the transformed rows of one partition as a frame."""
    return _named(transform_rows(transformer, X, qid), X, like.columns) if len(X) else like


def _as_array(transformer: Any, like: Floats, *rest: int, X: Any, qid: Any) -> Floats:
    """Return the transformed rows of one partition."""
    del rest
    return np.asarray(transform_rows(transformer, X, qid)) if X.shape[0] else like


def _fit_transform(transformer: Any, X: Any, y: Any = None, qid: Any = None, **_: Any) -> Any:
    columns = {"y": y} if qid is None else {"y": y, "qid": qid}
    fit_on_workers(transformer, X, **columns)
    return transform_by_partition(transformer, X, **handed_to(transformer, "transform", qid=qid))


#: What does the work of each method of a transformer.
METHODS = {"fit_transform": _fit_transform, "transform": transform_by_partition}
