"""What a ranker does with rows: settled by its parameters, before it has seen any."""

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from .._solvers import fits_in_closed_form, is_closed_form
from ..columns.types import Floats, Self
from ..data import Rows, has_method, query_factors, workers_of_fit
from ..judgments import PreferenceTarget
from ..losses import get_loss
from ..measures import Measure, warn_unless_grades
from ._regression import AUTO, seen_in

# Numbers of rows for which kernels are tried by default: fewer would often choose a wrong one, and
# more take longer than about a second.
_ROWS_OF_KERNELS = range(100, 3001)


class Call(NamedTuple):
    """What a call passes beside the parameters.

    * `of_targets`: whether it passes targets in place of labels.
    * `in_chunks`: whether other calls pass more rows.
    * `goes_on`: whether it adds rows to those of calls before, and X is read as theirs.
    * `warns`: whether the user is told of labels and columns that teach nothing, or too much.
    * `has_eval_set`: whether it passes queries to stop the training on.
    """

    of_targets: bool = False
    in_chunks: bool = False
    goes_on: bool = False
    warns: bool = True
    has_eval_set: bool = False

    @property
    def name(self) -> str:
        """Name of the argument that holds the labels or targets."""
        return "targets" if self.of_targets else "y"


#: A fit to all rows.
FIT = Call()


@dataclass(frozen=True)
class Plan:
    """The parameters of a ranker that decide what is fitted, and what follows from them.

    * `kind`: class of the ranker.
    * `measure`: measure whose targets are learned; with a number as its scale once labels are
      known.
    * `loss`: loss in force, a name or a Loss.
    * `surrogate`: whether values of documents or of pairs are regressed.
    * `targets`: which targets of the measure are regressed.
    * `estimated`: whether labels are estimates of relevances, such as the scores of a structure.
    * `of_clicks`: whether they are those of a structure of clicks, without bias.
    * `score_function`: how preferences become targets of documents.
    * `structure`: how judgments are aggregated; empty for rankers that do not aggregate.
    * `query_weight`: weight of a query of n documents.
    * `alpha`: ridge penalty parameter; None if a regressor has its own.
    * `kernel`: kernel of a ridge regression, "linear", "gaussian" or "auto"; None is "auto" where
      that is cheap and "linear" elsewhere.
    * `n_passes`: number of fits of a regressor that is not linear, after the first one.
    * `regressor`: regressor passed by the user; None means ridge, or that there is none.
    * `sums_over`: what the loss sums over.
    * `scored`: measure of predictions if it is not the one whose targets are learned.
    * `reads`: how X is read, once this is asked of the regressor.
    * `call`: what the call passes beside the parameters.
    """

    kind: str
    measure: Measure
    loss: Any = None
    surrogate: str = "score"
    pair_targets: str = "preferences"
    targets: str = "measure"
    estimated: bool = False
    of_clicks: bool = False
    score_function: Any = None
    structure: Any = ()
    query_weight: str | None = None
    alpha: float | str | None = None
    kernel: str | None = "linear"
    n_passes: int = 1
    regressor: Any = None
    sums_over: str = "documents"
    scored: Measure | None = None
    reads: Any = None
    call: Call = FIT

    @classmethod
    def of(cls, params: dict[str, Any], **settings: Any) -> Self:
        """Return the plan from parameters of the same names, and settings of the class."""
        names = {field.name for field in fields(cls)} & params.keys()
        return cls(**{name: params[name] for name in names} | settings)

    @property
    def reads_tables(self) -> bool:
        """Whether data frames are passed to the regressor unchanged."""
        return False

    @property
    def in_chunks(self) -> bool:
        """Whether the ranker can be updated with more queries."""
        return False

    @property
    def on_documents(self) -> bool:
        """Whether documents have the targets, and not pairs of them."""
        return self.surrogate == "score"

    def targets_of(self, rows: Rows) -> Floats:
        """Return the targets of the measure, in grouped order."""
        if isinstance(rows.y, PreferenceTarget):
            return rows.queries.group(rows.y.net_preference().ravel())
        if self.of_clicks and self.is_linear and self.measure.shape == "documents":
            return rows.y  # ERU would cut those below 0
        if self.estimated and self.takes_estimates:
            labels = rows.y
        else:
            if self.estimated and self.measure.is_binary:
                warn_unless_grades([self.measure], rows.y)
            labels = self.measure.labels(self.grades_of(rows) if self.estimated else rows.y)
        if self.targets == "grades":
            return labels
        if self.targets == "separable":
            return self.measure.separable_targets(labels)
        return self.measure.score_targets(labels, rows.queries)

    @property
    def is_linear(self) -> bool:
        """Whether unbiased estimates of labels have unbiased targets."""
        return self.targets == "grades" or self.measure.is_linear(self.targets)

    @property
    def takes_estimates(self) -> bool:
        """Whether targets are defined for estimates of labels, negative ones included."""
        of_own_label = self.targets == "separable" or self.measure.separable
        has_level = self.measure.is_binary and not self.measure.needs_binary_labels
        return of_own_label and self.measure.is_scaled and not has_level

    def grades_of(self, rows: Rows) -> Floats:
        """Return estimated relevances as grades, negative ones counted from the lowest.

        Only for measures of grades, such as those that divide by the gains of the query: counting
        from the lowest of noisy estimates adds its error to all documents of the query.
        """
        if not self.measure.positive_only:
            return rows.y
        queries = rows.queries
        return rows.y + queries.repeat(np.maximum(queries.max(-rows.y), 0.0))

    def for_labels(self, rows: Rows) -> Self:
        """Return the plan with the scale of the labels of all workers, if the measure has none."""
        y, measure = rows.y, self.measure
        if self.call.of_targets or not isinstance(y, np.ndarray):
            return self
        scaled = measure.scaled_to(y)
        if not measure.is_scaled and workers_of_fit().size > 1:
            largest = workers_of_fit().total(lambda: y[[y.argmax()]], np.concatenate)
            scaled = measure.scaled_to(largest)
        return replace(self, measure=scaled)

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
        return replace(self, regressor=None, kernel=self.kernel or "linear", call=FIT)


@dataclass(frozen=True)
class RegressionPlan(Plan):
    """Plan of a ranker that regresses the targets of documents, or of pairs, by any regressor.

    * `closed_form`: whether the regressor, or the last step of a pipeline, is fitted so.
    """

    closed_form: bool = True

    @classmethod
    def of(cls, params: dict[str, Any], **settings: Any) -> Self:
        # A ranker that chooses its penalty by cross-validation has no parameter `estimator`.
        regressor = params.get("estimator")
        plan, closed_form = super().of(params, **settings), fits_in_closed_form(regressor)
        loss = plan.loss or ("pairwise_squared" if closed_form else "squared")
        return replace(
            plan,
            loss=loss,
            alpha=plan.alpha if regressor is None else None,
            regressor=regressor,
            sums_over="documents" if plan.on_documents and loss == "squared" else "pairs",
            closed_form=closed_form,
        )

    @property
    def reads_tables(self) -> bool:
        # Features of pairs are computed from numbers.
        is_other = self.regressor is not None and not is_closed_form(self.regressor)
        return self.on_documents and is_other

    @property
    def in_chunks(self) -> bool:
        if self.regressor is None:
            # The scale of the targets, or a penalty that is chosen by folds, depends on all rows.
            able = self.measure.is_scaled and self.alpha is not None
        else:
            able = has_method(self.regressor, "partial_fit")
        return able and self.on_documents and self.kernel not in ("gaussian", "auto")

    @property
    def merges(self) -> bool:
        """Whether fits to different queries can be added up."""
        return self.in_chunks and (self.regressor is None or has_method(self.regressor, "merge"))

    def chooses_kernel(self, rows: Rows) -> bool:
        """Whether another kernel than the linear one is asked for or, with None, tried for rows."""
        if self.kernel is not None:
            return self.kernel != "linear"
        of_labels = rows.n_items is not None and not issparse(rows.X)
        is_free = self.regressor is None and self.alpha == AUTO and workers_of_fit().size == 1
        return of_labels and is_free and seen_in(rows).n_queries in _ROWS_OF_KERNELS

    def check_chunks(self) -> None:
        """Raise if the targets of a query depend on other queries."""
        self.measure.require_scale("if rows come in chunks", "all chunks")

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
    """Plan of a ranker that aggregates judgments, for the plan of another ranker or none."""

    inner: Plan | None = None

    @classmethod
    def of(cls, params: dict[str, Any], **settings: Any) -> Self:
        names = ("structure", "order", "structure_options", "row_weight")
        structure = tuple(params.get(name) for name in names)
        return super().of(params, structure=structure, **settings)

    @property
    def reads_tables(self) -> bool:
        return self.inner is not None and self.inner.reads_tables

    @property
    def in_chunks(self) -> bool:
        return self.inner is None or self.inner.in_chunks

    def without_regressor(self) -> Self:
        return replace(self, inner=None, call=FIT)
