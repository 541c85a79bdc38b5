"""Base class of rankers that learn one target per document."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ..columns.types import ArrayLike, Floats, Matrix, Self
from ..data import Rows, all_or_nothing, available_if, check
from ._base import BaseRanker, planned


class TargetRanker(BaseRanker):
    """Base class of rankers that learn one target per document.

    A subclass computes targets from labels, and may be fitted to other targets in their place.
    """

    @available_if(planned("on_documents"))
    @all_or_nothing
    def fit_targets(
        self,
        X: Matrix,
        targets: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        r"""Fit the ranker to targets in place of labels.

        :meth:`fit` computes the targets of the measure from labels. Where labels are not known but
        estimated, as from clicks, pass what estimates their targets without bias: with squared
        losses the ranker is linear in the targets, so that the errors of unbiased targets average
        out. Such targets may be negative, fractional, or above the highest label.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            As in :meth:`fit`.
        targets : array-like of shape (n_rows,) or (n, r)
            Finite numbers, higher is better, in place of the targets of the measure: of the
            relevance for precision, of the gain for DCG, of the gain over the ideal DCG for NDCG.
            They may carry their queries, as labels may.
        qid : array-like of shape (n_rows,), default=None
            As in :meth:`fit`.
        sample_weight : array-like of shape (n_rows,), default=None
            As in :meth:`fit`, such as larger weights for targets that are estimated from more
            clicks.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the targets are not finite numbers, one per document, or are negative and the loss
            needs non-negative ones.

        Warns
        -----
        OneQueryWarning
            If there are 2 to 200 rows and no qid.
        CutQueriesWarning
            If the targets carry their queries and rows of some of them are missing.

        Notes
        -----
        ``fit_targets(X, targets)`` with the targets of the measure is ``fit(X, y)``. A measure
        with a scale that :meth:`fit` takes from the labels, as ERR, has none after it, and
        :meth:`score` takes the scale from the labels that it is given.

        :class:`LeastSquaresRankerCV` and :class:`BoostedRanker` compare rankings of held-out
        queries by the sum of the targets times the discounts of their positions: the measure up to
        a constant, without bias where the targets have none.
        """
        check.refuse_judgments(targets)
        return self._fit_given(X, targets, qid, sample_weight)

    def _fit_given(self, X: Any, targets: Any, qid: Any, sample_weight: Any) -> TargetRanker:
        """Validate targets and fit the ranker to them."""
        plan, rows = self._check_problem(
            self._check_params(), X, targets, qid, sample_weight, name="targets"
        )
        return self._fit_to_targets(plan, rows, rows.y)

    @abstractmethod
    def _fit_to_targets(self, plan: Any, rows: Rows, targets: Floats, method: str = "fit") -> Self:
        """Fit to targets in grouped order, of the measure or given in their place."""
