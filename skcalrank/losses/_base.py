"""The base classes of order-preserving losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ..columns.types import Floats
from ..data import Queries, check, each, query_factors, workers_of_fit

# Weights of documents; a sum and its gradient; gradient and curvature of scores.
Weights: TypeAlias = Floats | None
Value: TypeAlias = tuple[float, Floats]
Slopes: TypeAlias = tuple[Floats, Floats]
Derivatives: TypeAlias = Callable[[Floats], Slopes]

# Largest argument of exponentials: larger ones are clipped, so that a step of a solver that is
# too long has a huge but finite loss. Squares of the exponential are still finite.
EXPONENT = 250.0

# Number of documents of a part, such that temporary arrays stay in cache.
_PART_ROWS = 1 << 15


class Loss(ABC):
    r"""An order-preserving loss of targets v and scores s (CUG13, Definition 3.1).

    For every query, the loss is a function of the scores, convex but for some of
    :class:`BregmanTemplate`, that is affine in the targets, up to a term without scores, and whose
    minimizer orders the documents as the mean targets do.
    Minimizing the loss therefore leads to the sort by :math:`U_i = E[v_i]`, which is best for the
    positional measure with these targets, under every distribution of the labels. The regret of
    the measure is bounded by the regret of the loss:

    .. math:: \text{regret of the sort} \le c \, C_\phi(2) \sqrt{\text{regret of the loss}} .

    Because the loss is affine in the targets, the conditional risk of scores s is, up to a term
    without scores, the loss of the mean targets U and s, and the regret of s is
    ``evaluate(U, s) - infimum(U)``.

    Arrays are in the grouped order of a :class:`~skcalrank.data.Queries`. The loss of a
    query is a *sum* over its documents or pairs of documents.

    Attributes
    ----------
    name : str
        Name in ``LOSSES``.
    needs_intercept : bool
        Whether a shift of all scores of a query changes the loss.
    separable : bool
        Whether the loss is a sum with one term per document.
    summed_over : {"documents", "pairs"}
        What the terms of the sum belong to: the weight of a query of n documents grows as n or
        n ** 2.
    family : {"squared", "logistic", None}
        Linear model of scikit-learn that minimizes the loss: ``Ridge`` ("squared") or
        ``LogisticRegression`` ("logistic"); None if there is none.
    exponent : float
        Exponent q >= 1 of the regret bound: with ``constant()`` as c, the regret is at most
        :math:`c\,C_\phi(p)` times the q-th root of the regret of the loss (CUG13, Theorem 5.2).
    of_rows : bool
        Whether the guarantee holds for rows, too, that determine the mean targets of their
        documents: scores that are a function of the row reach the least loss of every query. It
        does for a loss with one term per document, and for a loss of pairs or lists whose best
        difference of scores is :math:`h(U_i) - h(U_j)`.
    largest_curvature : float or None
        Largest second derivative of the term of a document, for losses whose curvature is zero at
        points where the slope is not; None for other losses.

    See Also
    --------
    PointwiseLoss : Base class of losses with one term per document.
    PairwiseTemplate : Pairwise loss of a given function of score differences.
    get_loss : A loss by its name.
    """

    name: ClassVar[str]
    needs_intercept: ClassVar[bool] = True
    separable: ClassVar[bool] = False
    of_rows: ClassVar[bool] = False
    summed_over: ClassVar[str] = "documents"
    family: ClassVar[str | None] = None
    exponent: ClassVar[float] = 2.0

    # Whether the loss is unbounded below for negative targets.
    _positive_only: ClassVar[bool] = True

    @property
    def largest_curvature(self) -> float | None:
        """Largest second derivative, for losses whose curvature is zero where the slope is not."""
        return None

    def scaled_to(self, v: np.ndarray, queries: Queries) -> Loss:
        """Validate the targets, and return the loss with ``eta=None`` replaced by a number.

        Parameters
        ----------
        v : ndarray of shape (n_documents,)
            All targets of a fit.
        queries : Queries
            Documents grouped by query.

        Returns
        -------
        loss : Loss
            The loss itself, or a copy whose ``eta`` is set from the targets if it was None.

        Raises
        ------
        ValueError
            If a target is negative and the loss is not squared, or if ``eta`` is less than the
            largest target (for :class:`BregmanKL`, the largest sum of the targets of a query):
            some terms would have a negative weight.
        """
        if self._positive_only and v.min(initial=0.0) < 0:
            raise ValueError(
                f"Targets must be non-negative for the loss {self.name!r}, which has no minimum "
                f"for negative ones, got {v.min():g}. Choose loss='pairwise_squared', or a "
                "measure with non-negative targets."
            )
        return self

    def check_slopes(self, v: Floats) -> None:
        """Raise if a loss that a user wrote has slopes that are not those of its terms.

        Parameters
        ----------
        v : ndarray of shape (n_documents,)
            Targets of a fit, which the terms must accept.

        Raises
        ------
        ValueError
            If the slopes contradict differences of the terms at five scores.
        """
        del v  # only pointwise losses have terms and slopes

    def check_some(self, largest: float) -> None:
        """Raise if the largest target of a fit leaves nothing to learn from.

        Parameters
        ----------
        largest : float
            Largest target of all workers of the fit.

        Raises
        ------
        ValueError
            If it is not positive, for a loss in which each query counts by its targets.
        """
        del largest  # most losses have a minimum, equal scores

    def document_weights(
        self, queries: Queries, query_weight: str | None, weight: Weights = None
    ) -> Floats | None:
        """Return weights of documents that give queries the chosen weight.

        Parameters
        ----------
        queries : Queries
            Documents grouped by query.
        query_weight : {"pairs", "documents", "equal"} or None
            Weight of a query of n documents: its loss, divided by n ** 2 if it is a sum over pairs
            and by n if it is a sum over documents, is multiplied by n ** 2, n, or 1. If None, the
            loss is not changed.
        weight : ndarray of shape (n_documents,), default=None
            Other weights of documents, which are multiplied.

        Returns
        -------
        weight : ndarray of shape (n_documents,), or None
            Weights to pass to :meth:`evaluate` as `weight`.

        Examples
        --------
        >>> from skcalrank.data import Queries
        >>> from skcalrank.losses import Logistic
        >>> Logistic().document_weights(Queries([0, 1, 3]), "equal")
        array([1. , 0.5, 0.5])
        """
        factors = query_factors(queries, query_weight, self.summed_over)
        if factors is None:
            return weight
        factors = queries.repeat(factors)
        return factors if weight is None else factors * weight

    def standardize(self, f: Floats, queries: Queries) -> Floats:
        """Return scores derived from preferences as targets that are valid for the loss.

        The values of a standardization function must be non-negative (CUG13, Definition B.1), but
        the net preferences of a query sum to 0. Adding a constant to all documents of a query
        does not change the order of their mean targets, whatever the constant depends on.

        Parameters
        ----------
        f : ndarray of shape (n_documents,)
            Scores, such as net preferences.
        queries : Queries
            Documents grouped by query.

        Returns
        -------
        v : ndarray of shape (n_documents,)
            Scores minus the lowest score of their query if it is negative. For squared losses,
            which accept targets of either sign, `f` itself.
        """
        if not self._positive_only:
            return f
        return f + queries.repeat(np.maximum(queries.max(-f), 0.0))

    @abstractmethod
    def evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Weights = None) -> Floats:
        """Return the loss of each query, of shape (n_queries,).

        Parameters
        ----------
        v, s : ndarray of shape (n_documents,)
            Targets and scores.
        queries : Queries
            Documents grouped by query.
        weight : ndarray of shape (n_documents,), default=None
            Weights of documents. In losses of pairs, the pair (i, j) has the weight ``w_i w_j``
            divided by the mean weight of the query, so that a constant weight c multiplies the
            loss by c.
        """

    @abstractmethod
    def value_and_gradient(
        self, v: Floats, s: Floats, queries: Queries, weight: Weights = None
    ) -> tuple[float, Floats]:
        """Return the sum of the loss over all queries, and its gradient in the scores.

        Parameters
        ----------
        v, s, queries, weight
            As in :meth:`evaluate`.

        Returns
        -------
        value : float
            Sum of the losses of the queries.
        gradient : ndarray of shape (n_documents,)
            Derivatives of the sum with respect to the scores.
        """

    @abstractmethod
    def derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights = None) -> Slopes:
        """Return the gradient and the diagonal of the Hessian in the scores, for boosting.

        Parameters
        ----------
        v, s, queries, weight
            As in :meth:`evaluate`.

        Returns
        -------
        gradient, curvature : ndarray of shape (n_documents,)
            First and second derivatives of the sum over all queries.
        """

    def prepare_derivatives(
        self, v: Floats, queries: Queries, weight: Weights = None
    ) -> Derivatives:
        """Return :meth:`derivatives` as a function of the scores, for many scores.

        Parameters
        ----------
        v, queries, weight
            As in :meth:`evaluate`.

        Returns
        -------
        derivatives : callable
            Function of scores that returns the gradient and the curvature; as libraries of trees
            store these in single precision, up to errors of about 1e-7.
        """
        return lambda s: self.derivatives(v, s, queries, weight)

    @abstractmethod
    def infimum(self, v: Floats, queries: Queries) -> Floats:
        """Return the infimum of the loss of each query over all scores, of shape (n_queries,).

        Parameters
        ----------
        v : ndarray of shape (n_documents,)
            Targets. For mean targets, the result is the smallest conditional risk, up to a term
            without scores.
        queries : Queries
            Documents grouped by query.
        """

    @abstractmethod
    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        """Return scores that minimize the loss.

        Parameters
        ----------
        v : ndarray of shape (n_documents,)
            Targets, or mean targets.
        queries : Queries
            Documents grouped by query.

        Returns
        -------
        s : ndarray of shape (n_documents,)
            One of the minimizers; infinite where the infimum is not attained.
        """

    @abstractmethod
    def constant(self, largest: float = 1.0) -> float:
        """Return the constant c of the regret bound (CUG13, Table 2).

        Parameters
        ----------
        largest : float, default=1.0
            Largest mean target, ``max_i U_i``, which some constants depend on.

        Returns
        -------
        c : float
            Constant; infinite if no bound is claimed.
        """


class LossInParts(Loss):
    """Base class of losses that are computed for a few queries at a time.

    The private methods of a subclass see some of the queries, and need not be divided further.
    """

    # Whether a part takes long, see :func:`each`.
    _long: ClassVar[bool] = False

    @abstractmethod
    def _evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Floats:
        """Return the loss of each query."""

    @abstractmethod
    def _derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Slopes:
        """Return the gradient and the diagonal of the Hessian."""

    def _value_and_gradient(self, v: Floats, s: Floats, queries: Queries, weight: Weights) -> Value:
        """Return the sum of the loss, and its gradient."""
        value = self._evaluate(v, s, queries, weight).sum()
        return float(value), self._derivatives(v, s, queries, weight)[0]

    def evaluate(self, v: Floats, s: Floats, queries: Queries, weight: Weights = None) -> Floats:
        return self._joined(
            lambda *rows: (self._evaluate(*rows),), ("queries",), v, s, queries, weight
        )[0]

    def value_and_gradient(
        self, v: Floats, s: Floats, queries: Queries, weight: Weights = None
    ) -> tuple[float, Floats]:
        results = ("parts", "documents")
        sums, gradient = self._joined(self._value_and_gradient, results, v, s, queries, weight)
        return float(sums.sum()), gradient

    def derivatives(self, v: Floats, s: Floats, queries: Queries, weight: Weights = None) -> Slopes:
        return self._joined(self._derivatives, ("documents", "documents"), v, s, queries, weight)

    def _joined(
        self, method: Any, results: Any, v: Floats, s: Floats, queries: Queries, weight: Any
    ) -> Any:
        """Return the results of a method for all queries, each an array over what is named."""
        parts = queries.kept_parts(_PART_ROWS)
        length = {"queries": queries.n_queries, "documents": queries.n_rows, "parts": len(parts)}
        joined = tuple(np.empty(length[over]) for over in results)

        def work(number: int) -> None:
            ids, rows, few = parts[number]
            values = method(v[rows], s[rows], few, None if weight is None else weight[rows])
            place: dict[str, Any] = {"queries": ids, "documents": rows, "parts": number}
            for over, whole, some in zip(results, joined, values):
                whole[place[over]] = some

        each(work, range(len(parts)), long=self._long)
        return joined


def log(values: Floats) -> Floats:
    """Return logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def scaled_to_all(loss: Loss, v: Floats, queries: Queries, weight: Weights = None) -> Loss:
    """Return a loss, scaled to the targets of the documents of all workers.

    Documents of weight 0 have no effect on the scale.
    """
    told = v if weight is None else v * (weight > 0)
    loss = loss.scaled_to(told, queries)
    loss.check_slopes(told)
    if workers_of_fit().size > 1 and hasattr(loss, "eta"):
        # Without a positive target the scale is 1, which then counts on no worker or on all.
        eta = workers_of_fit().reduce(loss.eta if told.any() else 0.0, max)
        loss = replace(loss, eta=eta or loss.eta)  # type: ignore[type-var]
    return loss


@dataclass(frozen=True)
class LossWithEta(LossInParts):
    """Base class of losses with a parameter ``eta``, which must be at least every target."""

    eta: float | None = None

    def __post_init__(self) -> None:
        if self.eta is not None:
            check.number("eta", self.eta, "> 0", "or None for the largest target")

    def _with_eta(self, largest: float, what: str = "target") -> Loss:
        """Return the loss with ``eta=None`` replaced by the largest target, or by 1 if that is 0.

        `what` describes the largest value in the message.
        """
        if self.eta is None:
            return replace(self, eta=float(largest) if largest > 0 else 1.0)
        if self.eta < largest * (1 - 1e-12):
            raise ValueError(
                f"eta must be at least {largest:g}, the largest {what}, got {self.eta!r}: the loss "
                f"would be unbounded below. Use eta >= {largest:g}, or None."
            )
        return self
