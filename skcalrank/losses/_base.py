"""What an order-preserving loss is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Real
from typing import ClassVar

import numpy as np

from ..data import Floats, Queries, query_factors

# Exponentials of larger numbers are cut, so that a step of a solver that went too far is
# huge and not infinite. Squares of the result are still finite.
EXPONENT = 250.0


class Loss(ABC):
    r"""An order-preserving loss of targets v and scores s (CUG13, Definition 3.1).

    A convex function of the scores, for every query, that is affine in the targets up to a
    term without scores, and whose minimizer orders the documents as the mean targets do.
    Minimizing it therefore leads to the sort by :math:`U_i = E[v_i]`, which is best for the
    positional measure with these targets, under every distribution of the labels; and

    .. math:: \text{regret of the sort} \le c \, C_\phi(2) \sqrt{\text{regret of the loss}} .

    Because it is affine, the conditional risk of the scores s is the loss of U and s, and
    its regret is ``evaluate(U, s) - infimum(U)``.

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
        What the terms of the sum are: a query of n documents counts n or n ** 2 in it.
    family : {"squared", "logistic", None}
        Which linear model of scikit-learn minimizes the loss, if one does: ``Ridge`` or
        ``LogisticRegression``.
    largest_curvature : float or None
        Largest second derivative of the term of a document, for losses whose curvature vanishes
        where the slope does not; None for others.
    """

    name: ClassVar[str]
    needs_intercept: ClassVar[bool] = True
    separable: ClassVar[bool] = False
    summed_over: ClassVar[str] = "documents"
    family: ClassVar[str | None] = None

    # Whether targets below 0 make the loss unbounded.
    _positive_only: ClassVar[bool] = True

    @property
    def largest_curvature(self) -> float | None:
        """Largest second derivative, of losses whose curvature vanishes on slopes."""
        return None

    def scaled_to(self, v: np.ndarray, queries: Queries) -> Loss:
        """The loss with what it reads off all targets filled in, targets checked.

        Parameters
        ----------
        v : ndarray of shape (n_documents,)
            All targets of a fit.
        queries : Queries
            Which documents belong together.

        Returns
        -------
        loss : Loss
            Itself, or a copy with the ``eta`` that was left None.

        Raises
        ------
        ValueError
            For negative targets, unless the loss is squared, and for an ``eta`` below the
            largest target: some terms would have a negative weight.
        """
        if self._positive_only and v.min(initial=0.0) < 0:
            raise ValueError(
                f"The loss {self.name!r} needs targets from 0, and the measure gives "
                f"{v.min():g}: choose a measure whose targets are not negative, or "
                "loss='pairwise_squared'."
            )
        return self

    def document_weights(
        self, queries: Queries, query_weight: str | None, weight: Floats | None = None
    ) -> Floats | None:
        """Weights of the documents under which a query counts what it is to count.

        Parameters
        ----------
        queries : Queries
        query_weight : {"pairs", "documents", "equal"} or None
            What a query of n documents counts: its loss for one pair or one document, whichever
            the loss is a sum over, times n ** 2, n, or 1. None is the sum as it is.
        weight : ndarray of shape (n_documents,), default=None
            Weights that come on top.

        Returns
        -------
        weight : ndarray of shape (n_documents,), or None
            What :meth:`evaluate` takes as `weight`.

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
        """Return scores of preferences as targets that the loss takes.

        A standardization function is not negative (CUG13, Definition B.1), and the net preferences
        of a query are as much below 0 as above. A constant that all documents of a query share
        does not change the order of their mean targets, whatever it depends on.

        Parameters
        ----------
        f : ndarray of shape (n_documents,)
            Scores, such as net preferences.
        queries : Queries

        Returns
        -------
        v : ndarray of shape (n_documents,)
            Counted from the lowest score of the query where that is negative; for squared losses,
            which take either sign, f itself.
        """
        if not self._positive_only:
            return f
        return f + queries.repeat(np.maximum(queries.max(-f), 0.0))

    @abstractmethod
    def evaluate(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> Floats:
        """Loss of every query.

        Parameters
        ----------
        v, s : ndarray of shape (n_documents,)
            Targets and scores.
        queries : Queries
        weight : ndarray of shape (n_documents,), default=None
            A document's term weighs this; the pair (i, j) weighs ``w_i w_j`` over the mean
            weight of the query, so that a constant weight c counts c.

        Returns
        -------
        loss : ndarray of shape (n_queries,)
        """

    @abstractmethod
    def value_and_gradient(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> tuple[float, Floats]:
        """Loss summed over the queries, and its gradient in the scores.

        Parameters
        ----------
        v, s, queries, weight
            As in :meth:`evaluate`.

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_documents,)
        """

    @abstractmethod
    def derivatives(
        self, v: Floats, s: Floats, queries: Queries, weight: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """Gradient and diagonal of the Hessian in the scores: what boosting takes.

        Parameters
        ----------
        v, s, queries, weight
            As in :meth:`evaluate`.

        Returns
        -------
        gradient, curvature : ndarray of shape (n_documents,)
        """

    @abstractmethod
    def infimum(self, v: Floats, queries: Queries) -> Floats:
        """Smallest loss that any scores can have on every query.

        Parameters
        ----------
        v : ndarray of shape (n_documents,)
            Targets, or mean targets: the loss of these is the conditional risk.
        queries : Queries

        Returns
        -------
        infimum : ndarray of shape (n_queries,)
        """

    @abstractmethod
    def minimizer(self, v: Floats, queries: Queries) -> Floats:
        """Scores of the smallest loss.

        Parameters
        ----------
        v : ndarray of shape (n_documents,)
            Targets, or mean targets.
        queries : Queries

        Returns
        -------
        s : ndarray of shape (n_documents,)
            Infinite where the infimum is not attained; any one of several minimizers.
        """

    @abstractmethod
    def constant(self, largest: float = 1.0) -> float:
        """The c of the regret bound (CUG13, Table 2).

        Parameters
        ----------
        largest : float, default=1.0
            Largest mean target, ``max_i U_i``, for the losses that need it.

        Returns
        -------
        c : float
            Infinite where no bound is claimed.
        """


def reach(loss: Loss, largest: float, what: str = "target") -> Loss:
    """A loss whose ``eta``, unless given, is the largest target."""
    eta = loss.eta  # type: ignore[attr-defined]
    if eta is None:
        return replace(loss, eta=float(largest) if largest > 0 else 1.0)  # type: ignore[type-var]
    if eta < largest * (1 - 1e-12):
        raise ValueError(
            f"eta={eta!r} is below the largest {what}, {largest:g}: its terms would have a "
            "negative weight, and the loss no minimum. Choose eta from there, or None."
        )
    return loss


def check_eta(eta):
    """Raise unless eta is None or a positive number."""
    if eta is not None and not (isinstance(eta, Real) and 0 < eta < np.inf):
        raise ValueError(f"eta={eta!r}: choose a positive number, or None for the largest target.")
