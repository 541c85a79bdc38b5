"""Tables in partitions: the columns are decided from summaries, and read where they lie."""

from functools import partial
from typing import Any

from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from ..columns import tables
from ..data import check
from ..preprocessing import Summary, TableEncoder, fit_summaries, summarized
from ._blocks import compute, is_frame, tree
from ._cut import partitions
from ._transformers import transform_by_partition


def fit_table(encoder: TableEncoder, X: Any, y: Any, qid: Any) -> TableEncoder:
    """Fit an encoder to a table in partitions, in one pass over them."""
    fit_summaries(encoder, X, partial(_summaries, X, y, qid))
    return encoder


def _summaries(X: Any, y: Any, qid: Any, names: list[str | int], choices: Any) -> list[Summary]:
    """Return the summary of each column of all partitions."""
    parts = partitions(X, y=y, qid=qid)
    summaries = compute(tree(parts.map(_summarized_part, names, choices), _merged))
    if not summaries:
        raise ValueError(f"X must have rows and columns, got the shape (0, {len(names)}).")
    return summaries


def _summarized_part(
    names: list[str | int], choices: Any, _number: int, *, X: Any, y: Any, qid: Any
) -> list[Summary] | None:
    """Return the summary of each column of one partition, None if it has no rows."""
    if not X.shape[0]:
        return None
    if issparse(X):
        raise ValueError(
            "X must be dense, got a sparse matrix: it holds numbers, which need no TableEncoder."
        )
    columns = tables.columns_of(tables.as_array(X), names if hasattr(X, "columns") else None)
    return summarized(names, columns, choices, check.carried_qid(y, qid))


def _merged(parts: list[list[Summary] | None]) -> list[Summary] | None:
    """Return the summary of each column of some partitions."""
    columns = zip(*(summaries for summaries in parts if summaries is not None))
    return list(map(Summary.merge, columns)) or None


def transform_table(encoder: TableEncoder, X: Any) -> Any:
    """Return the lazy matrix of a table: a DataFrame for a DataFrame, else an array."""
    check_is_fitted(encoder)
    if encoder.is_sparse_:
        return X
    if is_frame(X):
        encoder.transform(X._meta)  # raises if columns are missing
        X = X[[column.name for column in encoder.columns_ if column.n_outputs]]
    return transform_by_partition(encoder, X)


def _fit_transform(encoder: TableEncoder, X: Any, y: Any, qid: Any) -> Any:
    return transform_table(fit_table(encoder, X, y, qid), X)


#: What does the work of each method of a TableEncoder.
METHODS = {"fit": fit_table, "fit_transform": _fit_transform, "transform": transform_table}
