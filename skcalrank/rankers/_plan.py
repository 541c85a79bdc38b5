"""What a ranker does with rows: settled by its parameters, before it has seen any."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from .._solvers import effective_loss, is_closed_form, needs_non_negative
from ..data import Rows, check, query_factors
from ..data.types import Floats, Self
from ..losses import get_loss
from ..measures import Measure

# Reasons why the weight of a row does not act as a repetition of it.
DEPENDS_ON_LABELS = "targets depend on all labels of the query, which weights do not change"
_COUNTS_DOCUMENTS = (
    "the loss is weighted or centered by query, or sums over pairs: it counts the documents of a "
    "query, which weights do not change"
)
_COUNTS_PAIRS = (
    "the weight of a pair is the product of the weights of its documents over the mean of the "
    "query, which repeating a document changes"
)


@dataclass(frozen=True)
class Plan:
    """The parameters of a ranker that decide what is fitted, and what follows from them.

    Attributes
    ----------
    kind : str
        Class of the ranker.
    measure : Measure
        Measure whose targets are learned; with a number as its scale once labels are known.
    loss : object
        Loss in force, a name or a Loss.
    surrogate : {"score", "pairwise"}
        Whether values of documents or of pairs are regressed.
    targets : str
        Which targets of the measure are regressed.
    score_function : str or callable
        How preferences become targets of documents.
    structure : tuple
        How judgments are aggregated; empty for rankers that do not aggregate.
    query_weight : str or None
        Weight of a query of n documents.
    alpha : float, "auto" or None
        Ridge penalty parameter; None if a regressor has its own.
    n_passes : int
        Number of fits of a regressor that is not linear.
    regressor : regressor or None
        Regressor passed by the user; None means ridge, or that there is none.
    sums_over : {"documents", "pairs"}
        What the loss sums over.
    scored : Measure or None
        Measure of predictions if it is not the one whose targets are learned.
    reads : Reads or None
        How X is read, once this is asked of the regressor.
    weights_note : str or None
        Why weights do not act as repetitions, where the class of the ranker says so.
    """

    kind: str
    measure: Measure
    loss: Any = None
    surrogate: str = "score"
    targets: str = "measure"
    score_function: Any = None
    structure: Any = ()
    query_weight: str | None = None
    alpha: float | str | None = None
    n_passes: int = 1
    regressor: Any = None
    sums_over: str = "documents"
    scored: Measure | None = None
    reads: Any = None
    weights_note: str | None = None

    @classmethod
    def of(cls, params: dict[str, Any], **settings: Any) -> Self:
        """Return the plan from parameters of the same names, and settings of the class."""
        names = {field.name for field in fields(cls)} & params.keys()
        return cls(**{name: params[name] for name in names} | settings)

    # -- abilities ----------------------------------------------------------------

    @property
    def reads_tables(self) -> bool:
        """Whether data frames are passed to the regressor unchanged."""
        return False

    @property
    def in_chunks(self) -> bool:
        """Whether the ranker can be updated with more queries."""
        return False

    @property
    def merges(self) -> bool:
        """Whether fits to different queries can be added up."""
        return False

    @property
    def why_weights_do_not_repeat(self) -> str | None:
        """Why a sample weight differs from repeating the row; None if it does not."""
        if self.weights_note is not None:
            return self.weights_note
        if self.surrogate == "pairwise":
            return _COUNTS_PAIRS
        # Repeating a row would change the number of documents, which is counted.
        by_count = self.sums_over == "pairs" or self.query_weight in ("pairs", "equal")
        if by_count:
            return _COUNTS_DOCUMENTS
        separable = self.targets == "separable" or self.measure.separable
        return None if separable else DEPENDS_ON_LABELS

    # -- work ---------------------------------------------------------------------

    def check(self, ranker: Any) -> None:
        """Raise for parameters of a ranker that do not fit together."""

    def targets_of(self, rows: Rows) -> Floats:
        """Return the targets of the measure, in grouped order."""
        labels = self.measure.labels(rows.y)
        if self.targets == "separable":
            return self.measure.separable_targets(labels)
        return self.measure.score_targets(labels, rows.queries)

    def weighed(self, rows: Rows) -> Rows:
        """Return rows weighted according to `query_weight`.

        In the label-ranking form all queries have the same size, so that their weights do not
        matter.
        """
        if rows.n_items is not None:
            return rows
        factors = query_factors(rows.queries, self.query_weight, self.sums_over)
        return rows if factors is None else rows.with_weight(factors[rows.codes])

    def without_regressor(self) -> Self:
        """Return the plan as the record of a fit keeps it."""
        return self if self.regressor is None else replace(self, regressor=None)


@dataclass(frozen=True)
class RegressionPlan(Plan):
    """Plan of a ranker that regresses the targets of documents, or of pairs, by any regressor."""

    @classmethod
    def of(cls, params: dict[str, Any], **settings: Any) -> Self:
        # A ranker that chooses its penalty by cross-validation has no parameter `estimator`.
        regressor = params.get("estimator")
        plan = super().of(params, **settings)
        loss = effective_loss(plan.loss, regressor)
        on_documents = plan.surrogate == "score" and loss == "squared"
        return replace(
            plan,
            loss=loss,
            alpha=plan.alpha if regressor is None else None,
            regressor=regressor,
            sums_over="documents" if on_documents else "pairs",
        )

    @property
    def closed_form(self) -> bool:
        """Whether the regressor depends on rows only through their moments."""
        return is_closed_form(self.regressor)

    @property
    def reads_tables(self) -> bool:
        # Features of pairs are computed from numbers.
        return self.surrogate == "score" and not self.closed_form

    @property
    def in_chunks(self) -> bool:
        if self.regressor is None:
            # The scale of the targets, or a penalty that is chosen by folds, depends on all rows.
            able = self.measure.is_scaled and self.alpha is not None
        else:
            able = hasattr(self.regressor, "partial_fit")
        return able and self.surrogate == "score"

    @property
    def merges(self) -> bool:
        return self.in_chunks and (self.regressor is None or hasattr(self.regressor, "merge"))

    def check(self, ranker: Any) -> None:
        if self.regressor is not None:
            check.refuse_second_penalty(ranker)
        if self.loss != "squared" and needs_non_negative(self.regressor):
            raise ValueError(
                f"loss must be 'squared' for {self.regressor!r}, which needs non-negative targets, "
                f"got {self.loss!r}: set loss='squared', or another estimator."
            )
        if self.alpha is None and self.regressor is None:
            return  # no parameter `n_passes`
        if self.loss != "pairwise_squared":
            why = f"loss={self.loss!r}: set loss='pairwise_squared'"
            check.refuse_unread(ranker, ["n_passes"], why)
        elif self.closed_form:
            why = f"estimator={self.regressor!r}, which is fitted in closed form: set another one"
            check.refuse_unread(ranker, ["n_passes"], why)

    def check_chunks(self) -> None:
        """Raise if the targets of a query depend on other queries."""
        if not self.measure.is_scaled:
            raise ValueError(
                "max_grade must be a number if rows come in chunks, got None, which is the largest "
                "label of all chunks: set max_grade."
            )

    def weighed(self, rows: Rows) -> Rows:
        weighed = super().weighed(rows)
        stated = self.query_weight is not None and weighed.weight is None
        if stated and rows.n_items is None and self.loss != "squared" and not self.closed_form:
            # Unit weights make regressors without sample_weight raise instead of ignoring it.
            return replace(weighed, weight=np.ones(rows.n_rows))
        return weighed


@dataclass(frozen=True)
class LossPlan(Plan):
    """Plan of a ranker whose parameter `loss` is a loss of scores."""

    @classmethod
    def of(cls, params: dict[str, Any], **settings: Any) -> Self:
        return super().of(params, sums_over=get_loss(params["loss"]).summed_over, **settings)


@dataclass(frozen=True)
class JudgmentPlan(Plan):
    """Plan of a ranker that aggregates judgments, for the plan of another ranker or none.

    Attributes
    ----------
    inner : Plan or None
        Plan of the ranker that learns from the aggregated judgments.
    """

    inner: Plan | None = None

    @classmethod
    def of(cls, params: dict[str, Any], **settings: Any) -> Self:
        structure = tuple(params[name] for name in ("structure", "order", "structure_options"))
        settings |= {"structure": structure, "weights_note": DEPENDS_ON_LABELS}
        return super().of(params, **settings)

    @property
    def reads_tables(self) -> bool:
        return self.inner is not None and self.inner.reads_tables

    @property
    def in_chunks(self) -> bool:
        return self.inner is None or self.inner.in_chunks

    def without_regressor(self) -> Self:
        return replace(self, inner=None)
