"""Linear ranker of aggregated judgments, fitted by stochastic gradients."""

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from .._solvers import SQUARED_LOSSES, AveragedDescent, offsets
from ..aggregation import judgments_of, structure_scores
from ..columns import arrays
from ..columns.types import Floats, Seed
from ..data import Judgments, OutOfRangeError, Queries, Rows, limits, say
from ..judgments import ClickSessions, PreferenceTarget
from ..losses import Loss, get_loss
from ..measures import Measure
from ._judged import JudgmentRanker, Rule, count_judgments, refuse_weightless
from ._linear import linear_scores

# Largest numbers of draws, and of their documents, that are aggregated at a time.
_MOST_DRAWS, _MOST_ROWS = 1024, 1 << 18

# Number of updates after which steps begin to fall as 1/sqrt(t).
_STEPS_BEFORE = 100


@dataclass(frozen=True)
class Batch:
    """A batch of draws: each is a query and a random subset of its judgments.

    The loss of a batch is the mean over its draws of the loss of a query divided by its number of
    documents.
    """

    rows: np.ndarray
    queries: Queries
    targets: np.ndarray
    weight: np.ndarray | None
    loss: Loss

    def slope(self, scores: Floats) -> Floats:
        """Return the gradient of the loss with respect to the scores, in their shape."""
        queries = self.queries
        slope = self.loss.value_and_gradient(self.targets, scores.ravel(), queries, self.weight)[1]
        slope *= queries.repeat(1.0 / (queries.n_queries * queries.sizes))
        return slope.reshape(scores.shape)

    def curvature(self) -> float:
        """Return the largest curvature of a query at scores of 0."""
        zero = np.zeros(len(self.targets))
        curved = self.loss.derivatives(self.targets, zero, self.queries, self.weight)[1]
        return float(self.queries.mean(curved).max())


def draw_batches(
    rows: Rows,
    judgments: Any,
    share: Floats,
    targets_of: Callable[..., Any],
    loss: Loss,
    *,
    order: int | None,
    batch_size: int,
    rng: np.random.RandomState,
) -> Iterator[Batch]:
    """Yield batches of random subsets of judgments without end.

    Many draws are aggregated at a time. `share` holds the probability of each query, and
    `targets_of` maps the chosen judgments and their queries to targets. Draws of all judgments of a
    query are one and the same, which is aggregated once.
    """
    weight, queries = rows.document_weights(), rows.queries
    size = min(_MOST_DRAWS, max(1, _MOST_ROWS // int(queries.sizes.max())))
    size = max(batch_size, size - size % batch_size)
    order = order or int(judgments.counts.max())
    whole = judgments.counts <= order
    aggregated, is_done = np.empty(queries.n_rows), np.zeros(len(whole), dtype=bool)

    def targets_from(some: Any) -> Floats:
        return targets_of(some.choose(np.arange(some.ptr[-1])), some.queries)

    while True:
        ids = rng.choice(len(share), size=size, p=share)
        places, ptr = arrays.ranges(queries.ptr, ids)
        drawn, numbers = Queries(ptr), places if queries.order is None else queries.order[places]
        fresh = np.unique(ids[whole[ids] & ~is_done[ids]])
        if len(fresh):
            is_done[fresh] = True
            of_fresh, _ = arrays.ranges(queries.ptr, fresh)
            aggregated[of_fresh] = targets_from(judgments.keep(fresh))
        targets = aggregated[places]
        parts = ~whole[ids]
        if parts.any():
            targets[drawn.repeat(parts)] = targets_from(judgments.sample(ids[parts], order, rng))
        loss_here = _checked(loss, targets, drawn)
        for first in range(0, size, batch_size):
            last = first + batch_size
            a, b = drawn.ptr[first], drawn.ptr[last]
            yield Batch(
                numbers[a:b] if rows.n_items is None else ids[first:last],
                Queries(drawn.ptr[first : last + 1] - a),
                targets[a:b],
                None if weight is None else weight[places[a:b]],
                loss_here,
            )


def new_descent(rows: Rows, loss: Loss, fit_intercept: bool) -> AveragedDescent:
    """Return a descent of a linear scorer at zero, with an intercept if the loss depends on it."""
    outputs = () if rows.n_items is None else (rows.n_items,)
    sees_shift = rows.n_items is not None or loss.needs_intercept
    return AveragedDescent((rows.X.shape[1], *outputs), fit_intercept and sees_shift)


def drawn_by_weight(rows: Rows, counts: Any) -> tuple[Any, Rows]:
    """Return how often queries are drawn, and rows whose queries have one mean weight.

    Queries are drawn in proportion to their judgments times their mean weight, by which their loss
    is divided: the expected gradient is that of the weights, and no step is longer than others.
    """
    weight = rows.document_weights()
    if weight is None:
        return counts, rows
    mean = rows.queries.mean(weight)
    refuse_weightless(drawn := counts * mean)
    unit = drawn.sum() / counts[mean > 0].sum()
    return drawn / unit, rows.with_weight(arrays.safe_divide(unit, mean)[rows.codes])


def step_lengths(batch: Batch, rows: Rows, drawn: Any, penalty: float, first: Any = None) -> Any:
    """Return the function from the number of an update to the length of its step.

    Lengths fall as 1/t where the penalty makes the objective strongly convex, and as 1/sqrt(t) for
    losses that are not squared. The first step, unless given, is half of what the curvature of the
    batch, and the features of the queries that can be drawn, allow. Return None if the batch has no
    curvature, as for single documents.
    """
    X: Any = rows.X
    queries = rows.queries
    with np.errstate(over="ignore", invalid="ignore"):
        if issparse(X):
            squares = X.astype(float, copy=False).power(2).sum(axis=1)
        else:
            squares = np.einsum("ij,ij->i", X, X, dtype=float)
        norms = np.asarray(squares, dtype=float).ravel() + 1.0
        if rows.n_items is None:
            norms = queries.mean(queries.group(norms), rows.document_weights())
        curvature = batch.curvature() * norms[drawn > 0].max()
    if not np.isfinite(curvature):
        raise OutOfRangeError(
            "Squares of X must be finite, got an overflow",
            int(arrays.sizes_of_columns(X).argmax()),
            "Scale the features.",
        )
    if not (first or curvature):
        return None
    first = first or 0.5 / max(curvature, np.finfo(float).tiny)
    slow = batch.loss.name not in SQUARED_LOSSES

    def length(t: int) -> float:
        convex = np.sqrt(1.0 + t / _STEPS_BEFORE) if slow else 1.0
        return first / max(convex, 1.0 + 2.0 * first * penalty * t)

    return length


def _checked(loss: Any, targets: Floats, queries: Queries) -> Any:
    """Return the loss scaled to some targets; an ``eta`` of None becomes 1 if that suffices."""
    if getattr(loss, "eta", 0.0) is not None:
        return loss.scaled_to(targets, queries)
    try:
        return replace(loss, eta=1.0).scaled_to(targets, queries)
    except ValueError as error:
        raise ValueError(
            f"loss must have an eta, got {loss.name!r}: StochasticAggregatedRanker never sees all "
            "targets at once, and its default eta=1 is too small for these. Pass an object of "
            f"skcalrank.losses with a larger eta. ({error})"
        ) from None


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
        are not squared; for squared losses with an intercept or no penalty they are constant.
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
    which larger k reduce. With weights, a query is drawn in proportion to :math:`n_q` times its
    mean weight, by which its loss is divided: the expected gradient is the same, and rare queries
    of large weight need no shorter steps.

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
        drawn, rows = drawn_by_weight(rows, count_judgments(rows, judged))
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
            drawn / drawn.sum(),
            self._targets_of_subsets(rows, *rule),
            self._loss(),
            order=self.order,
            batch_size=int(self.batch_size),
            rng=rng,
        )
        if rows.n_items is None and not self._loss().needs_intercept:
            # Steps would be those of squares of the offset.
            far = offsets(rows.X)
            rows = replace(rows, X=rows.X - far) if far.any() else rows
        self._descend(descent, rows, drawn, batches, self.alpha / drawn.sum())
        self._descent, self._rng, self.n_iter_ = descent, source, descent.n_updates
        self.coef_, intercept = descent.mean_coef.T, descent.mean_intercept
        self.intercept_ = intercept if intercept.ndim else float(intercept)
        # Last, because it cannot be undone: the generator may belong to the user.
        source.set_state(rng.get_state())

    def _descend(self, descent: Any, rows: Rows, drawn: Any, batches: Any, penalty: float) -> None:
        """Update an averaged descent, once per batch."""
        lengths: Any = None
        last = descent.n_updates + self.n_updates
        convex = 0.0 if descent.fit_intercept else penalty  # intercepts have none
        for batch in batches:
            lengths = lengths or step_lengths(batch, rows, drawn, convex, self.step)
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told below
                descent.update(rows.X[batch.rows], batch.slope, lengths or (lambda _: 0.0), penalty)
            done = descent.n_updates
            if self.verbose and (done % _PRINT_EVERY == 0 or done == last):
                say(f"[StochasticAggregatedRanker] update {done} of {last}")
            if done == last:
                break
        if not np.isfinite(descent.mean_coef).all():
            raise ValueError(
                f"step must be so small that coefficients stay finite, got {self.step!r}: pass a "
                "smaller number, or scale the features."
            )

    def _targets_of_subsets(self, rows: Rows, structure: Any, options: dict[str, Any]) -> Any:
        """Return the function from chosen judgments to targets."""
        targets, loss = self._targets_of_scores(self, rows), self._loss()

        def of_subset(chosen: Judgments, queries: Queries) -> Floats:
            values = targets(structure_scores(structure, chosen, queries, options), queries)
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
