"""A ranker for any measure of pairs."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..columns.types import Estimator, Seed
from ..data import Rows
from ..measures import PairMeasure
from ..preds import TIME_LIMIT, Pred
from ._pair_base import PairRanker
from ._stacks import rows_of

# Documents whose order tells which triangle of a basis counts: pairs at many distances.
_SOME_DOCUMENTS = 16


class LeastSquaresPairRanker(PairRanker):
    """Least-squares ranker for any measure of pairs, such as one of your own.

    Use it where the measure compares documents two by two. Regresses the targets :math:`u_{ij}(y)`
    of the measure on pairs of documents, and predicts by `pred`. :class:`AveragePrecisionRanker`
    and :class:`PairwiseDisagreementRanker` are for the measures of that name, whose maps prove more
    orders.

    Parameters
    ----------
    measure : str or PairMeasure, default="neg_pairwise_disagreement"
        ``"map"``, ``"kendall"``, ``"neg_pairwise_disagreement"``, or a
        :class:`~skcalrank.measures.PairMeasure`.
    estimator : regressor, default=None
        Regressor of the targets, as in :class:`LeastSquaresRanker`; None for the pair features
        "bilinear".
    surrogate : {"pairwise", "score"}, default="pairwise"
        Whether one value per pair is regressed, or one per document, which needs a measure with
        ``score_targets``.
    pred : {"auto", "local_search"}, Pred or callable, default=None
        Prediction map of the pairwise surrogate, see :func:`skcalrank.preds.pair_positions`; maps
        of other names if the measure has an `objective` of its own. If None, "auto". A callable
        maps the (r, r) matrix of a query to positions.
    pair_features, alpha, loss, n_passes, query_weight, time_limit, n_jobs, random_state, verbose
        Options of the fit and of the map, as in :class:`~skcalrank.rankers.PairRanker`.

    Attributes
    ----------
    estimator_ : object
        The fitted regressor, or model of pairs.
    loss_ : str
        Loss that was minimized, "squared" for pairs.
    surrogate_ : {"score", "pairwise"}
        The surrogate that was fitted.
    n_iter_ : int
        Number of iterations of the bilinear fit; only there.
    alpha_, penalty_scale_ : float, ndarray of shape (d,)
        Ridge penalty that was used and its unit for each feature; only with ``estimator=None``.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    LeastSquaresRanker : Ranker for any positional measure.
    StructuredPredictor : Any loss between labels and predictions.
    skcalrank.preds.pair_positions : The prediction maps.

    Notes
    -----
    With an exact map, calibrated (Fisher-consistent) under every distribution of the labels (RAT13,
    Theorem 3), as a regressor of the whole query. "auto" is exact for up to 7 documents; for more,
    :meth:`solve` returns the gap of each query, which :func:`~skcalrank.calibration.regret_bound`
    adds to the bound. Targets of all pairs are held in memory.

    Where only the lower triangle of the basis counts, as for MAP, the targets of a pair of
    documents are those of its entry there, whatever the order of the rows.

    Examples
    --------
    >>> from skcalrank.rankers import LeastSquaresPairRanker
    >>> X, y, qid = [[0.1, 1], [0.9, 1], [0.4, 1]], [0, 1, 0], [7, 7, 7]
    >>> ranker = LeastSquaresPairRanker("map", alpha=0.01).fit(X, y, qid)
    >>> ranker.rank(X, qid)
    array([3, 1, 2])
    """

    _diagonal = True

    def __init__(
        self,
        measure: str | PairMeasure = "neg_pairwise_disagreement",
        *,
        estimator: Estimator | None = None,
        surrogate: str = "pairwise",
        pred: str | Pred | Callable[..., Any] | None = None,
        pair_features: str | Callable[..., Any] = "bilinear",
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        time_limit: float | None = TIME_LIMIT,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(estimator, alpha, loss, n_passes, query_weight)
        self.measure = measure
        self.surrogate = surrogate
        self.pred = pred
        self.pair_features = pair_features
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _pair_values(self, plan: Any, rows: Rows) -> Callable[..., Any]:
        queries, sizes, measure = rows.queries, rows.queries.sizes, plan.measure
        y, start = measure.labels(rows.y), np.append(0, np.cumsum(sizes**2))
        targets = np.empty(start[-1])
        for r in np.unique(sizes):
            numbers = np.flatnonzero(sizes == r)
            u = measure.pair_targets(y[rows_of(queries, numbers)])
            if self._is_symmetric(measure):
                u = np.tril(u) + np.tril(u, -1).swapaxes(1, 2)
            targets[start[numbers][:, None] + np.arange(r * r)] = u.reshape(-1, r * r)
        local = queries.places - 1
        # The entry of a pair is at the sum of these two numbers of its documents.
        row = queries.repeat(start[:-1]) + local * queries.repeat(sizes)
        return lambda first, second: targets[row[first] + local[second]]

    def _is_symmetric(self, measure: Any) -> bool:
        # Only the lower triangle of the basis counts, in whatever order of a pair.
        ahead = np.arange(1, _SOME_DOCUMENTS + 1)
        at, back = measure.pair_basis(np.array([ahead, ahead[::-1]]))
        is_zero = not (np.triu(at, 1).any() or np.triu(back, 1).any())
        return is_zero and np.allclose(np.tril(at, -1).T, np.triu(back[::-1, ::-1], 1))
