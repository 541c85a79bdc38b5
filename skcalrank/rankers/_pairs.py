"""Average precision and pairwise disagreement: surrogates on documents or on pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._solvers import is_affine, is_closed_form
from ..data import FINITE, POSITIVE, PREFERENCE_WEIGHTS, PreferenceTarget, Seed, one_of
from ..measures import AveragePrecision, PairwiseDisagreement
from ..preds import Pred
from ._pair_base import PairRanker

_NOTHING_LEFT = (
    "pair_features='difference' with a linear regressor learns nothing for MAP: the targets of "
    "(i, j) and (j, i) are equal and their differences opposite, so every pair is predicted alike. "
    "Set pair_features='bilinear' or 'concat', or an estimator that is not linear."
)


class AveragePrecisionRanker(PairRanker):
    r"""Mean average precision (RAT13, section 6).

    With ``surrogate="pairwise"`` it regresses :math:`y_i y_j / |y|_1` on pairs and predicts by
    ``pred``: with the exact map calibrated (Fisher-consistent) for MAP under every
    distribution (Theorem 3), with ``pred="diagonal"`` on :math:`P_{reinforce}` (Theorem 4):
    with :math:`u_{ij} = E[Y_i Y_j / |Y|_1]`,

    .. math:: u_{ii} \ge u_{jj} \Rightarrow
        u_{ii} \ge u_{jj} + \sum_{g \notin \{i,j\}} (u_{jg} - u_{ig})_+ .

    With ``surrogate="score"`` it regresses ``y_i / |y|_1`` and sorts: calibrated on the same
    distributions (Corollary 5). The condition is sufficient, not necessary. No convex surrogate
    with one score per document is calibrated for MAP under every distribution. All of it is about
    regressors of the whole query; with rows see :ref:`rows-and-context`.

    Parameters
    ----------
    estimator, pair_features, alpha, loss, n_passes, query_weight, n_jobs, random_state, verbose
        As in :class:`~skcalrank.rankers.PairRanker`.
    surrogate : {"score", "pairwise"}, default="score"
        One value per document, or one per pair.
    targets : {"measure", "separable"}, default="measure"
        What the score surrogate regresses: ``y_i / |y|_1``, or the relevance ``y_i`` itself. The
        latter is calibrated where the relevances of a query are independent given the query (a part
        of :math:`P_{reinforce}`); and where also each is given by the row alone, a regressor of
        rows, which cannot see ``|y|_1``, attains it.
    pred : {"diagonal", "exact", "beam", "auto"}, Pred or callable, default=None
        Prediction map of the pairwise surrogate, see :func:`skcalrank.preds.map_positions`;
        None is "auto". A callable takes the (r, r) matrix of a query and returns positions.
    relevance_level : float, default=None
        Documents with ``y >= relevance_level`` are relevant; None requires labels 0 and 1.

    Attributes
    ----------
    estimator_, n_iter_
        As in :class:`~skcalrank.rankers.PairRanker`.

    Examples
    --------
    >>> from skcalrank import AveragePrecisionRanker
    >>> X, y, qid = [[0.1, 1], [0.9, 1], [0.4, 1]], [0, 1, 0], [7, 7, 7]
    >>> AveragePrecisionRanker().fit(X, y, qid).score(X, y, qid)
    1.0
    >>> ranker = AveragePrecisionRanker(surrogate="pairwise", alpha=0.01).fit(X, y, qid)
    >>> ranker.rank(X, qid)
    array([3, 1, 2])
    """

    short_names: ClassVar = {"map": {}}
    _diagonal = True
    _of_documents = ("loss", "n_passes", "targets")
    _parameter_constraints: ClassVar = {
        **PairRanker._parameter_constraints,
        "targets": [one_of("measure", "separable")],
        "relevance_level": [FINITE, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        surrogate: str = "score",
        targets: str = "measure",
        pred: str | Pred | Callable[..., Any] | None = None,
        pair_features: str | Callable[..., Any] = "bilinear",
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        relevance_level: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            surrogate,
            pred,
            pair_features,
            alpha,
            loss,
            n_passes,
            query_weight,
            n_jobs,
            random_state,
            verbose,
        )
        self.targets = targets
        self.relevance_level = relevance_level

    def _positive_only(self):
        return self.relevance_level is None

    def _measure(self):
        return AveragePrecision(relevance_level=self.relevance_level)

    def _fit_documents(self, problem, values):
        differences = isinstance(self.pair_features, str) and self.pair_features == "difference"
        if differences and is_closed_form(self.estimator):
            raise ValueError(_NOTHING_LEFT)
        model = super()._fit_documents(problem, values)
        if differences and is_affine(model.regressor, problem.X.shape[1]):
            raise ValueError(_NOTHING_LEFT)
        return model

    def _pair_values(self, problem):
        y = self._measure().labels(problem.y)
        queries = problem.queries
        share = self._measure().score_targets(y, queries)
        return lambda first, second: share[first] * y[second]

    def _matrices(self, X, queries):
        matrices, number = super()._matrices(X, queries)
        if self.n_items_ is not None:
            return matrices, number
        # Targets are symmetric, a regressor need not be; the map reads one triangle.
        return ((matrix + matrix.T) / 2 for matrix in matrices), number

    def _item_pairs(self, r):
        return np.tril_indices(r)

    def _matrices_of_items(self, u, r):
        out = np.zeros((len(u), r, r))
        i, j = np.tril_indices(r)
        out[:, i, j] = out[:, j, i] = u
        return out


class PairwiseDisagreementRanker(PairRanker):
    r"""Pairwise disagreement (RAT13, section 7).

    With ``surrogate="pairwise"`` it regresses the preferences :math:`y_{ij}` on pairs and
    predicts by ``pred``: with the exact map, a minimum weighted feedback arc set, calibrated
    (Fisher-consistent) under every distribution (Theorem 3); with ``pred="topological"``,
    Algorithm 1, on :math:`P_{DAG}`, where the graph of :math:`E[Y_{ij}] > E[Y_{ji}]` is acyclic
    (Theorem 7).

    With ``surrogate="score"`` it regresses a score :math:`f_i(y)` of the preferences and sorts:
    calibrated on the distributions for which

    .. math:: E[Y_{ij}] > E[Y_{ji}] \Rightarrow E[f_i(Y)] > E[f_j(Y)]

    (Theorem 6), a smaller set. For the net preference :math:`f_i = \sum_j (y_{ij} - y_{ji})` this
    is the surrogate of DMJ10 with the square regularizer; low noise (DMJ10, Definition 8) is
    sufficient. No convex surrogate with one score per document is calibrated under every
    distribution. All of it is about regressors of the whole query; with rows of documents, the row
    must determine the mean of its target (:ref:`rows-and-context`).

    Parameters
    ----------
    estimator, pair_features, alpha, loss, n_passes, query_weight, n_jobs, random_state, verbose
        As in :class:`~skcalrank.rankers.PairRanker`.
    surrogate : {"score", "pairwise"}, default="score"
        One value per document, or one per pair.
    score_function : "net_preference" or callable, default="net_preference"
        Score :math:`f_i` of the score surrogate. A callable takes the (r, r) matrix ``y_ij`` of
        a query and returns (r,) scores.
    weights : {"difference", "unit"}, default="difference"
        Preferences when y is relevances: ``y_ij = (y_i - y_j)_+`` or ``1(y_i > y_j)``. Pairs can
        only win under "unit": the averaged differences are always acyclic.
    pred : {"topological", "exact", "local_search", "auto"}, Pred or callable, default=None
        Prediction map of the pairwise surrogate: Algorithm 1
        (:func:`skcalrank.preds.topological_positions`), or a method of
        :func:`skcalrank.preds.feedback_arc_positions`; None is "auto". A callable takes the
        (r, r) matrix of a query and returns positions.
    time_limit : float, default=None
        Seconds for the exact map of one query; beyond, its best order so far is taken, and a
        warning tells for how many queries.

    Attributes
    ----------
    estimator_, n_iter_
        As in :class:`~skcalrank.rankers.PairRanker`.

    Examples
    --------
    >>> from skcalrank import PairwiseDisagreementRanker, PreferenceTarget
    >>> y = PreferenceTarget.from_comparisons([1, 1, 2], [0, 2, 0], qid=[7, 7, 7])
    >>> ranker = PairwiseDisagreementRanker().fit([[0.1], [0.9], [0.4]], y)
    >>> ranker.score([[0.1], [0.9], [0.4]], y)
    0.0
    """

    short_names: ClassVar = {"pd": {}, "kendall": {"weights": "unit"}}
    _judgments = (PreferenceTarget,)
    _diagonal = False
    _of_documents = ("loss", "n_passes", "score_function")
    _of_pairs = ("pair_features", "time_limit")
    _parameter_constraints: ClassVar = {
        **PairRanker._parameter_constraints,
        "score_function": [one_of("net_preference"), callable],
        "weights": [one_of(*PREFERENCE_WEIGHTS)],
        "time_limit": [POSITIVE, None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        surrogate: str = "score",
        score_function: str | Callable[..., Any] = "net_preference",
        weights: str = "difference",
        pred: str | Pred | Callable[..., Any] | None = None,
        pair_features: str | Callable[..., Any] = "bilinear",
        alpha: float | str = "auto",
        loss: str | None = None,
        n_passes: int = 5,
        query_weight: str | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            surrogate,
            pred,
            pair_features,
            alpha,
            loss,
            n_passes,
            query_weight,
            n_jobs,
            random_state,
            verbose,
        )
        self.score_function = score_function
        self.weights = weights
        self.time_limit = time_limit

    def _measure(self):
        return PairwiseDisagreement(weights=self.weights)

    def _targets(self, problem):
        if callable(self.score_function):
            return _score_matrices(self.score_function, problem, self._measure())
        if isinstance(problem.y, PreferenceTarget):
            return problem.queries.group(problem.y.net_preference().ravel())
        return super()._targets(problem)

    def _pair_values(self, problem):
        measure = self._measure()
        if isinstance(problem.y, PreferenceTarget):
            return partial(_entries, problem.y.adjacency())
        y = problem.y
        if measure.weights == "unit":
            return lambda first, second: (y[first] > y[second]) * 1.0
        return partial(_positive_difference, y)

    def _item_pairs(self, r):
        i, j = np.nonzero(~np.eye(r, dtype=bool))
        return i, j

    def _matrices_of_items(self, u, r):
        out = np.zeros((len(u), r, r))
        i, j = self._item_pairs(r)
        out[:, i, j] = u
        return out


def _positive_difference(y, first, second):
    out = y[first] - y[second]
    return np.maximum(out, 0.0, out=out)


def _entries(matrix, first, second):
    """Entries of a sparse matrix: of pairs, or of a grid of rows and columns."""
    if np.ndim(first) == 2:
        return matrix[first[:, 0]][:, second[0]].toarray()
    return np.asarray(matrix[first, second]).ravel()


def _score_matrices(score, problem, measure):
    """The callable on each query's matrix of preferences."""
    queries = problem.queries
    if isinstance(problem.y, PreferenceTarget):
        matrices = problem.y.matrices()
    else:
        parts = np.split(problem.y, queries.ptr[1:-1])
        matrices = (measure.pair_targets(part) for part in parts)
    out = [np.asarray(score(matrix), dtype=float) for matrix in matrices]
    for query, (values, size) in enumerate(zip(out, queries.sizes)):
        if values.shape != (size,) or not np.isfinite(values).all():
            raise ValueError(
                f"score_function returned {values!r} for query {queries.name(query)!r} of {size} "
                f"documents: it must return {size} finite numbers."
            )
    return np.concatenate(out)
