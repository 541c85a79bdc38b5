"""Fits to dask collections: each worker fits to the rows that it holds, together with the others.

A fit asks for what belongs to the rows of all workers, as often as it needs that, while the rows
stay in memory: in that of the workers of a cluster, and of this process without one.
"""

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..data import (
    EqualLabelsWarning,
    EvalSet,
    SingleDocumentsWarning,
    Workers,
    among,
    check,
    eval_sets,
    in_memory,
    keeping_warnings,
    warn,
    workers_of_fit,
)
from ._blocks import check_disjoint, compute, join, names_of
from ._cluster import IN_MEMORY, client_in_use, run_on_holders
from ._cut import partitions

# Warnings of what rows of other workers may have.
_OF_ALL = (EqualLabelsWarning, SingleDocumentsWarning)


class _Block(NamedTuple):
    """What the client has to know of a partition: whether rows, and rows of weight, are in it."""

    has_rows: bool
    counts: bool
    owners: dict[Any, int]  # number of the partition by name of the query


def fit_on_workers(estimator: Any, X: Any, *, callbacks: Any = None, **columns: Any) -> Any:
    """Fit an estimator to all partitions, each of which has whole queries."""
    given_evals = {name: columns.pop(name, None) for name in signature(eval_sets).parameters}
    evals = {
        name: EvalSet(*in_memory(X=X, y=y, qid=qid, sample_weight=weight))
        for name, (X, y, qid, weight) in eval_sets(**given_evals).items()
    }
    if getattr(estimator, "trains_in_parts", False):
        from ..boosting import check_fit_part  # imports the libraries of trees

        check_fit_part(estimator, bool(evals), callbacks)
    given = clone(estimator), {"eval_set": evals} if evals else {}
    parts = partitions(X, **columns)
    try:
        results = _results(given, parts.whole())
    except MemoryError as error:
        raise MemoryError(f"{type(estimator).__name__} needs {IN_MEMORY} ({error})") from error
    _tell([told for _, told in results])
    return as_fitted(estimator, results[0][0])


def as_fitted(estimator: Any, clone: Any) -> Any:
    """Return an estimator with what a clone has learned; call it last, as it cannot fail."""
    params = estimator.get_params(deep=False)
    learned = {name: value for name, value in vars(clone).items() if name not in params}
    vars(estimator).pop("feature_names_in_", None)
    vars(estimator).update(learned)
    return estimator


def _results(given: Any, blocks: list[Any]) -> list[tuple[Any, set[Any]]]:
    """Return the results of all workers; without a cluster this process is the only one."""
    client = client_in_use()
    if client is None:
        blocks = compute(blocks)
        described = list(map(_described, range(len(blocks)), blocks))
    else:
        blocks = client.compute(blocks)
        described = client.gather(client.map(_described, range(len(blocks)), blocks))
    check_disjoint([block.owners for block in described])
    if not any(block.counts for block in described):
        raise ValueError("X must have rows, of positive sample_weight if there is one, got none.")
    held = [(block, of.counts) for block, of in zip(blocks, described) if of.has_rows]
    given = *given, len(held)
    if client is None:
        with among(Workers()):
            return [_fitted(given, [block for block, _ in held])]
    return run_on_holders(client, _fitted, given, held)


def _described(number: int, block: dict[str, Any]) -> _Block:
    n_rows, weight = block["X"].shape[0], block.get("sample_weight")
    qid = check.carried_qid(block.get("y"), block.get("qid"))
    owners = names_of(number, qid=qid, n_rows=n_rows)
    return _Block(n_rows > 0, n_rows > 0 and (weight is None or bool(np.any(weight))), owners)


def _fitted(given: Any, blocks: list[dict[str, Any]]) -> tuple[Any, set[Any]]:
    """Return the estimator, fitted if this is the first worker, and what it would warn of."""
    estimator, options, n_parts = given
    estimator, workers = clone(estimator), workers_of_fit()
    workers.n_parts = n_parts
    estimator.set_params(**dict.fromkeys(_numbers_of_threads(estimator), _n_threads()))
    columns = {name: _joined([block[name] for block in blocks]) for name in blocks[0]}
    with keeping_warnings() as told:
        estimator.fit(**columns, **options)
    return (None if workers.rank else estimator), told


def _numbers_of_threads(estimator: Any) -> list[str]:
    """Return the names of parameters that leave the number of threads of trees open."""
    params = estimator.get_params(deep=True)
    names = [name for name in params if name.split("__")[-1] == "n_jobs" and params[name] is None]
    # Of a list of rankers, it is the number of those to fit at a time.
    return [name for name in names if name != "n_jobs" or params.get("rankers") is None]


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


def _tell(told: Any) -> None:
    """Issue the warnings of all workers once."""
    for message, category in sorted(set().union(*told), key=str):
        of_all = all((message, category) in of_one for of_one in told)
        if of_all or category not in _OF_ALL:
            warn(message, category)
