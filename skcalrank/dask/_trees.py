"""Boosted rankers, and stacks of them, on dask collections.

Each worker trains on the rows that it holds. Linear rankers of a stack add up their sums, and
held-out scores stay where they are.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from ..boosting import check_fit_part
from ..data import EvalSet, check, eval_sets, in_memory, workers_of_fit
from . import _rankers
from ._blocks import check_disjoint, compute, join, names_of
from ._cluster import client_in_use, run_on_holders
from ._cut import partitions
from ._rounds import tell


def fit_trees(
    ranker: Any,
    X: Any,
    y: Any,
    qid: Any,
    sample_weight: Any,
    *,
    eval_set: tuple[Any, Any, Any] | dict[str, tuple[Any, Any, Any]] | None = None,
    X_val: Any = None,
    y_val: Any = None,
    qid_val: Any = None,
    callbacks: list[Callable[..., Any]] | None = None,
) -> Any:
    """Fit a ranker whose trees are grown by the workers that hold the rows."""
    evals = {
        name: EvalSet(*in_memory(X=X, y=y, qid=qid, sample_weight=weight))
        for name, (X, y, qid, weight) in eval_sets(eval_set, X_val, y_val, qid_val).items()
    }
    if not _asks_workers(ranker):
        check_fit_part(ranker, bool(evals), callbacks)
    parts = partitions(X, y=y, qid=qid, sample_weight=sample_weight)
    _rankers.check_named(parts, y, qid)
    results = _trained((clone(ranker), evals), parts.map(_block))
    tell([told for _, told in results])
    params = ranker.get_params(deep=False)
    learned = {k: v for k, v in vars(results[0][0]).items() if k not in params}
    # Assign last: nothing below can fail.
    vars(ranker).pop("feature_names_in_", None)
    vars(ranker).update(learned)
    return ranker


def _asks_workers(ranker: Any) -> bool:
    """Return whether a fit asks the workers of its context, as that of a stack does."""
    return getattr(ranker, "fits_in_rounds", False)


def _numbers_of_threads(ranker: Any) -> list[str]:
    """Return the names of parameters that leave the number of threads of trees open."""
    params = ranker.get_params(deep=True)
    names = [name for name in params if name.split("__")[-1] == "n_jobs" and params[name] is None]
    # Of a list of rankers, it is the number of those to fit at a time.
    return [name for name in names if name != "n_jobs" or params.get("rankers") is None]


def _trained(given: Any, blocks: list[Any]) -> list[tuple[Any, set[Any]]]:
    """Return the results of all workers; without a cluster this process is the only one."""
    client = client_in_use()
    if client is None:
        blocks = compute(blocks)
        _check_whole([_described(number, block) for number, block in enumerate(blocks)])
        return [_train(given, blocks)]
    blocks = client.compute(blocks)
    sizes = _check_whole(client.gather(client.map(_described, range(len(blocks)), blocks)))
    return run_on_holders(client, _train, given, [b for b, size in zip(blocks, sizes) if size])


def _block(number: int, *, X: Any, y: Any, qid: Any, sample_weight: Any) -> dict[str, Any]:
    """Return the columns of a partition, with the qid that its labels may carry."""
    return {"X": X, "y": y, "qid": check.carried_qid(y, qid), "sample_weight": sample_weight}


def _described(number: int, block: dict[str, Any]) -> tuple[int, dict[Any, int]]:
    """Return the number of rows of a partition, and the number of the partition by query."""
    qid, n_rows = block["qid"], block["X"].shape[0]
    return n_rows, {} if qid is None else names_of(check.queries(qid, n_rows), number)


def _check_whole(described: list[tuple[int, dict[Any, int]]]) -> tuple[int, ...]:
    """Return the number of rows of each partition; raise for a query in two of them."""
    sizes, names = zip(*described)
    check_disjoint(names)
    if not any(sizes):
        raise ValueError("X must have at least one row, got none.")
    return sizes


def _train(given: Any, blocks: list[dict[str, Any]]) -> tuple[Any, set[Any]]:
    """Return the ranker, fitted if this is the first worker, and what it would warn of."""
    ranker, evals = given
    ranker = clone(ranker)
    ranker.set_params(**dict.fromkeys(_numbers_of_threads(ranker), _n_threads()))
    blocks = [block for block in blocks if block["X"].shape[0]]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        columns = {name: _joined([block[name] for block in blocks]) for name in blocks[0]}
        ranker.fit(**columns, eval_set=evals or None)
    told = {(str(warning.message), warning.category) for warning in told}
    return (None if workers_of_fit().rank else ranker), told


def _n_threads() -> Any:
    """Return the number of threads of this worker, None for another process."""
    from distributed import get_worker

    try:
        return get_worker().state.nthreads
    except ValueError:
        return None


def _joined(values: list[Any]) -> Any:
    """Return a column of several partitions; None and numbers are those of each of them."""
    return join(values) if np.iterable(values[0]) else values[0]


#: What does the work of each method of a ranker of trees.
METHODS = _rankers.METHODS | {"fit": fit_trees}
