"""Report on what a ranker of rows loses because it does not see the query."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone

from ..columns.types import ArrayLike, Matrix
from ..data import Ranked, check
from ..model_selection import QueryKFold
from ..preprocessing import QueryContext
from ..rankers import ScoreRanker, measure_of
from ._bounds import regret_bound


@dataclass(frozen=True)
class ContextReport:
    """Held-out errors of a model of rows, and of one that sees statistics of the query.

    Returned by :func:`context_report`. Errors are means over queries of the summed squared errors
    of the targets.

    Attributes
    ----------
    row_error, context_error : float
        Error of either model.
    excess : float
        Error of the rows minus that of the context: what the row form cannot remove, as far as the
        models are exact.
    standard_error : float
        Standard error of `excess`, of its means over folds, whose models share training queries: as
        in :func:`~skcalrank.evaluation.cross_compare`.
    bound : float
        Largest regret of the rows that `excess` explains: the one if the model with context is
        exact; 0 if the excess is negative. What its statistics do not tell may cost more.
    bound_high : float
        The same for the upper 95 % limit of `excess`, which is Student's over folds.
    row_value, context_value : float
        Value of the measure of either model.
    n_queries : int
        Number of queries.
    """

    row_error: float
    context_error: float
    excess: float
    standard_error: float
    bound: float
    bound_high: float
    row_value: float
    context_value: float
    n_queries: int

    def __str__(self) -> str:
        rows = (
            ("queries", f"{self.n_queries}"),
            ("error of rows", f"{self.row_error:.4g}"),
            ("error with context", f"{self.context_error:.4g}"),
            ("excess", f"{self.excess:.4g} ± {self.standard_error:.2g}"),
            ("regret explained by context", f"at most {self.bound:.4g} ({self.bound_high:.4g})"),
            ("value of rows", f"{self.row_value:.4f}"),
            ("value with context", f"{self.context_value:.4f}"),
        )
        return "\n".join(f"{name:<27}  {value}" for name, value in rows)


def context_report(
    ranker: ScoreRanker,
    X: Matrix,
    y: ArrayLike,
    qid: ArrayLike,
    *,
    statistics: Sequence[str] = ("mean", "std", "max", "size"),
    cv: int = 5,
) -> ContextReport:
    r"""Report how much of the regret of a ranker of single rows statistics of the query explain.

    With targets u of a query and their means U given the query, the best function f of one row has
    the surrogate regret :math:`E \|U - f\|^2`, however many data there are, and its regret is at
    most :math:`\sqrt{2} \, C_\phi(2)` times the root of it (CUG13, Table 2). Held-out squared
    errors measure it:

    .. math:: E \|u - f\|^2 - E \|u - g\|^2 = E \|U - f\|^2 - E \|U - g\|^2

    for any g, which is the excess. It is :math:`E \|U - f\|^2` where g, the same regressor with
    :class:`~skcalrank.preprocessing.QueryContext`, finds U. Where the statistics tell less of the
    query, or g is not fitted well, the excess is smaller than that, and bounds the regret that the
    rows would have if g were U: it can be 0 while they have one. A large excess shows that means of
    targets depend on the query; the order may be the same nevertheless.

    Parameters
    ----------
    ranker : ranker
        A least-squares ranker of a positional measure, such as ``NDCGRanker(regressor)``. It is
        cloned, with ``loss="squared"``; a flexible regressor comes near f and g.
    X : array-like of shape (n_rows, d)
        Documents, as numbers.
    y : array-like of shape (n_rows,)
        Relevances.
    qid : array-like of shape (n_rows,)
        Query of each row.
    statistics : sequence of str, default=("mean", "std", "max", "size")
        As in :class:`~skcalrank.preprocessing.QueryContext`.
    cv : int, default=5
        Number of folds of whole queries, on which errors are measured: those of
        :class:`~skcalrank.model_selection.QueryKFold`, in the order of the queries.

    Returns
    -------
    report : ContextReport
        ``print(report)`` prints a table.

    Raises
    ------
    ValueError
        If the measure of the ranker is not positional, or the ranker regresses other targets.

    See Also
    --------
    SharedRows : The regret of functions of one row on a known distribution.
    skcalrank.preprocessing.QueryContext : The statistics, as a step of a pipeline.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skcalrank import RecallRanker, load_digits_queries
    >>> from skcalrank.calibration import context_report
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=10)
    >>> trees = DecisionTreeRegressor(max_depth=4, random_state=0)
    >>> report = context_report(RecallRanker(trees, k=3, relevance_level=1), X, y, qid)
    >>> report.n_queries, report.bound <= report.bound_high
    (40, True)
    """
    measure = measure_of(ranker)
    if getattr(measure, "shape", None) != "documents" or "loss" not in ranker.get_params():
        raise ValueError(
            f"ranker must be a least-squares ranker of a positional measure, got {ranker!r}."
        )
    if getattr(ranker, "targets", "measure") != "measure":
        raise ValueError(f"targets must be 'measure', got {ranker.targets!r}.")
    qid = check.carried_qid(y, qid, X=X)
    ranker = clone(ranker).set_params(loss="squared")
    context = QueryContext(statistics)
    wide = context.fit_transform(X, qid=qid)
    queries = check.queries(qid, len(wide))
    labels, qid = check.labels(y), queries.codes
    predicted, folds = np.empty((2, len(wide))), np.empty(queries.n_queries)
    for fold, (train, test) in enumerate(QueryKFold(cv).split(wide, labels, qid)):
        folds[qid[test]] = fold
        for out, table in zip(predicted, (wide[:, : context.n_features_in_], wide)):
            model = clone(ranker).fit(table[train], labels[train], qid[train])
            out[test] = model.predict(table[test], qid[test])
    measure = measure.scaled_to(labels)
    grades = measure.labels(queries.group(labels))
    targets = measure.targets(grades, queries)
    held_out = [queries.group(scores) for scores in predicted]
    errors = np.array([queries.sum((targets - scores) ** 2) for scores in held_out])
    defined = ~measure.undefined(grades, queries)
    values = [measure.evaluate(grades, Ranked(s, queries))[defined].mean() for s in held_out]
    excess = errors[0] - errors[1]
    of_folds = [excess[folds == fold].mean() for fold in range(cv)]
    deviation = float(np.std(of_folds, ddof=1) * np.sqrt(1 / cv + 1 / (cv - 1)))
    limit = stats.t.ppf(0.95, cv - 1)
    at_most = np.maximum(excess.mean() + np.array([0.0, limit]) * deviation, 0.0)
    bounds: Any = regret_bound(measure, "squared", at_most, r=queries.sizes)
    return ContextReport(
        row_error=float(errors[0].mean()),
        context_error=float(errors[1].mean()),
        excess=float(excess.mean()),
        standard_error=deviation,
        bound=float(bounds[0]),
        bound_high=float(bounds[1]),
        row_value=float(values[0]),
        context_value=float(values[1]),
        n_queries=queries.n_queries,
    )
