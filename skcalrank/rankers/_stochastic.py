"""Linear ranker of aggregated judgments, fitted by stochastic gradients."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from sklearn.utils import check_random_state

from .._solvers import offsets
from ..aggregation import is_of_clicks, judgments_of, structure_scores
from ..columns.types import Floats, Seed
from ..data import Judgments, Queries, Rows, limits, say
from ..judgments import ClickSessions, PreferenceTarget
from ..losses import Loss, get_loss
from ..measures import Measure
from ._draws import draw_batches, new_descent, step_lengths
from ._judged import JudgmentRanker, Rule, count_judgments
from ._linear import linear_scores

# Number of updates between two lines of progress.
_PRINT_EVERY = 1000


class StochasticAggregatedRanker(JudgmentRanker):
    """Linear ranker of comparisons or clicks, fitted by stochastic gradients.

    Minimizes the risk of :class:`AggregatedRanker`, of order k. The number of updates that it needs
    does not grow with the number of judgments, so use it for very many judgments, or for judgments
    that arrive over time. Features must be on one scale.

    Parameters
    ----------
    structure : str or callable, default="mean_log_odds"
        Function that turns judgments into scores, as in :class:`AggregatedRanker`.
    measure : str or Measure, default="ndcg@10"
        Measure whose targets are learned, of the scores of the structure.
    order : int, default=None
        Number of judgments k that are aggregated at a time. If None, all judgments of a query.
    loss : str or Loss, default=None
        Any order-preserving loss of :mod:`skcalrank.losses`. If None, ``"pairwise_squared"``.
    alpha : float, default=1.0
        Ridge penalty, added to the sum over the queries of :math:`n_q / r` times the loss, where r
        is the number of documents.
    structure_options : dict, default=None
        Options of the structure, such as ``{"c": 0.1}``.
    n_updates : int, default=20_000
        Number of updates of a fit. More updates take longer and come closer to the minimum.
    batch_size : int, default=8
        Number of draws that an update averages; 1 in the paper.
    step : float, default=None
        Length of the first step. If None, it is chosen by the curvature of the loss. Steps fall as
        1/t where the penalty makes the objective strongly convex, and as 1/sqrt(t) for losses that
        are not squared; for squared losses without a penalty they are constant.
    fit_intercept : bool, default=True
        Whether to fit an intercept, as in :class:`~skcalrank.rankers.LinearScorer`.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing queries and judgments, which are numbered: rows in another order are
        another draw.
    verbose : int, default=0
        1 prints the number of updates done.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (d,) or (r, d), float or ndarray of shape (r,)
        Coefficients and intercept, with a row per item in the label-ranking form.
    n_iter_ : int
        Number of updates so far.
    loss_ : str or Loss
        Loss that was minimized.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    AggregatedRanker : The exact minimum of the same risk, with any ranker.
    DifferenceGraphRanker : Linear ranker of the net preferences of many judgments.
    PreferenceTarget : Target of comparisons.
    ClickSessions : Target of clicks.

    Notes
    -----
    The conditions for consistency of :class:`AggregatedRanker` apply. Each term draws a query with
    probability :math:`n_q / n` and k of its :math:`n_q` judgments (DMJ13, eq. 25), and the scorer
    is an averaged iterate. The bound of its error after t updates has neither the number n of
    judgments nor k in it; the error itself falls with the spread of the targets over the draws,
    which larger k reduce.

    Examples
    --------
    >>> from skcalrank import sample_comparisons
    >>> from skcalrank.rankers import StochasticAggregatedRanker
    >>> X, relevance, qid = [[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0], [7, 7, 7]
    >>> y = sample_comparisons(relevance, qid, n_comparisons=500, random_state=0)
    >>> ranker = StochasticAggregatedRanker("borda", n_updates=100, random_state=0)
    >>> ranker.partial_fit(X, y).partial_fit(X, y).rank(X, qid)
    array([3, 2, 1])
    """

    _of_subsets = True
    _takes_sparse = True
    _judgments = (PreferenceTarget, ClickSessions)
    _updated_by = ("_descent", "update")
    _theorem: ClassVar[str] = "judgments"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [limits.NON_NEGATIVE],
        "n_updates": [limits.AT_LEAST_ONE],
        "batch_size": [limits.AT_LEAST_ONE],
        "step": [limits.POSITIVE, None],
    }

    def __init__(
        self,
        structure: str | Callable[..., Any] = "mean_log_odds",
        measure: str | Measure = "ndcg@10",
        *,
        order: int | None = None,
        loss: str | Loss | None = None,
        alpha: float = 1.0,
        structure_options: Mapping[str, Any] | None = None,
        n_updates: int = 20_000,
        batch_size: int = 8,
        step: float | None = None,
        fit_intercept: bool = True,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.structure = structure
        self.measure = measure
        self.order = order
        self.loss = loss
        self.alpha = alpha
        self.structure_options = structure_options
        self.n_updates = n_updates
        self.batch_size = batch_size
        self.step = step
        self.fit_intercept = fit_intercept
        self.random_state = random_state
        self.verbose = verbose

    _descent: Any
    _rng: Any

    def _loss(self) -> Any:
        return get_loss("pairwise_squared" if self.loss is None else self.loss)

    def _learn(self, plan: Any, rows: Rows, judged: Any, rule: Rule) -> None:
        counts = count_judgments(rows, judged)
        fresh = new_descent(rows, self._loss(), bool(self.fit_intercept))
        if plan.call.goes_on:
            # Work on copies: a failed update must leave the model and the generator unchanged.
            descent, source = copy.deepcopy(self._descent), self._rng
            if fresh.fit_intercept != descent.fit_intercept:
                raise ValueError(
                    f"fit_intercept must not be changed after updates, got {self.fit_intercept!r}: "
                    "begin with a new ranker."
                )
        else:
            descent, source = fresh, check_random_state(self.random_state)
        rng = copy.deepcopy(source)
        batches = draw_batches(
            rows,
            judgments_of(judged, judged.queries()),
            counts / counts.sum(),
            self._targets_of_subsets(rows, *rule),
            self._loss(),
            order=self.order,
            batch_size=self.batch_size,
            rng=rng,
        )
        if rows.n_items is None and not self._loss().needs_intercept:
            # Steps would be those of squares of the offset.
            far = offsets(rows.X)
            rows = replace(rows, X=rows.X - far) if far.any() else rows
        self._descend(descent, rows, batches, self.alpha / counts.sum())
        self._descent, self._rng, self.n_iter_ = descent, source, descent.n_updates
        self.coef_, intercept = descent.mean_coef.T, descent.mean_intercept
        self.intercept_ = intercept if intercept.ndim else float(intercept)
        # Last, because it cannot be undone: the generator may belong to the user.
        source.set_state(rng.get_state())

    def _descend(self, descent: Any, rows: Rows, batches: Iterator[Any], penalty: float) -> None:
        """Update an averaged descent, once per batch."""
        lengths: Any = None
        last = descent.n_updates + self.n_updates
        for batch in batches:
            lengths = step_lengths(batch, rows, penalty, self.step) if lengths is None else lengths
            descent.update(rows.X[batch.rows], batch.slope, lengths or (lambda _: 0.0), penalty)
            done = descent.n_updates
            if self.verbose and (done % _PRINT_EVERY == 0 or done == last):
                say(f"[StochasticAggregatedRanker] update {done} of {last}")
            if done == last:
                break

    def _targets_of_subsets(self, rows: Rows, structure: Any, options: dict[str, Any]) -> Any:
        """Return the function from chosen judgments to targets."""
        targets, loss = self._targets_of_scores(self, rows), self._loss()
        as_they_are = is_of_clicks(structure) and self._measure().shape == "documents"

        def of_subset(chosen: Judgments, queries: Queries) -> Floats:
            values = targets(structure_scores(structure, chosen, queries, options), queries)
            if not as_they_are:
                return loss.standardize(values, queries)
            loss.scaled_to(values, queries)  # raises if the loss does not take them
            return values

        return of_subset

    @property
    def loss_(self) -> str | Loss:
        """Loss that was minimized: `loss`, or "pairwise_squared" if that is None."""
        self._check_fitted()
        return self.record_.plan.loss or "pairwise_squared"

    def _scores(self, rows: Rows) -> Floats:
        return linear_scores(rows.X, self.coef_, self.intercept_)
