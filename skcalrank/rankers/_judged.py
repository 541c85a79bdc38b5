"""Base class of rankers that aggregate the judgments of a query before learning from them."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..aggregation import STRUCTURES, evidence_of, is_of_clicks, settled, structure_scores
from ..columns.types import Array, ArrayLike, Floats, Ints, Labels, Matrix, Self
from ..data import Judgments, Queries, Rows, available_if, fitting, limits, warn
from ..judgments import ClickCounts, ClickSessions, PreferenceTarget
from ..measures import Measure, OfTargets
from ._base import BaseRanker, planned
from ._door import door
from ._plan import FIT, Call, JudgmentPlan, Plan

_JUDGMENTS: tuple[type[Judgments], ...] = (PreferenceTarget, ClickSessions, ClickCounts)


# Examinations of a document that make the bias of a ratio of estimates negligible.
_POOLED = 100.0


class Rule(NamedTuple):
    """A structure with its options."""

    structure: Callable[..., Any]
    options: dict[str, Any]


def _check_subsets(ranker: Any, plan: JudgmentPlan) -> None:
    """Raise for a measure whose scale the subsets of the judgments would not agree in."""
    if ranker._of_subsets or ranker.order is not None:
        plan.measure.require_scale("for estimates", "each subset of the judgments")


class JudgmentRanker(BaseRanker):
    """Base class of rankers of comparisons and clicks, which a structure turns into scores."""

    __metadata_request__partial_fit: ClassVar = {"qid": True}

    _judgments = _JUDGMENTS
    _plan_type: ClassVar = JudgmentPlan
    _y_is_relevance = False
    _reads_labels = False
    _weights_note = "targets depend on all labels of the query, which weights do not change"
    _rules: ClassVar[Any] = (_check_subsets,)

    # Whether targets are made from subsets of the judgments even without an `order`.
    _of_subsets = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "structure": [limits.one_of(*STRUCTURES), callable],
        "order": [limits.AT_LEAST_ONE, None],
        "structure_options": [Mapping, None],
    }

    structure: Any
    order: int | None
    structure_options: Mapping[Any, Any] | None

    @abstractmethod
    def _learn(self, plan: Plan, rows: Rows, judged: Judgments, rule: Rule) -> None:
        """Learn from judgments."""

    @fitting
    def fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Aggregate the judgments and learn from the result.

        Parameters
        ----------
        X, qid
            As in :meth:`LeastSquaresRanker.fit`.
        y : PreferenceTarget, ClickSessions, ClickCounts or array-like of shape (n_rows,) or (n, r)
            Judgments, which carry their queries. Relevances count as one judgment of each query,
            which states all their differences.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the documents, which multiply the number of judgments of their query.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no judgment, or the input is not a ranking problem.
        """
        return self._fit(X, y, qid, sample_weight)

    @available_if(planned("in_chunks"))
    @fitting
    def partial_fit(
        self,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more judgments.

        :class:`StochasticAggregatedRanker` makes another `n_updates` on judgments of the same or of
        other documents. :class:`AggregatedRanker`, if its `ranker` has `partial_fit`, adds queries:
        a chunk holds whole queries with all their judgments. With
        :class:`~skcalrank.linear_model.GramRidge` the result is that of one fit to all chunks, if
        the targets are exact. `targets_` and `standard_error_` refer to the last chunk.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            As in :meth:`fit`; if the chunk has other features or items than the previous ones, if
            settings were changed in between, or with `GramRidge` if a query was in an earlier
            chunk.
        """
        call = Call(in_chunks=True, goes_on=self._can_go_on(), warns=False)
        return self._fit(X, y, qid, sample_weight, call)

    def _fit(self, X: Any, y: Any, qid: Any, sample_weight: Any, call: Call = FIT) -> Self:
        # A function of the user does not tell what it aggregates.
        self._is_of_clicks = isinstance(y, (ClickSessions, ClickCounts))
        plan, rows = door(self, self._check_params(call), X, y, qid, sample_weight)
        self._given = self.structure, dict(self.structure_options or {})
        judged, (structure, options) = _judgments_of(rows, y), self._structure()
        options = settled(structure, options, y, X)
        if is_of_clicks(structure):
            evidence = evidence_of(structure, judged, options)
            _check_clicks(self._estimated(plan.inner or plan), evidence)
        record = self._record(plan, rows)
        record = self.record_.add(record) if call.goes_on else record
        self._learn(plan, rows, judged, Rule(structure, options))
        self.record_ = record
        return self

    def _structure(self) -> tuple[Any, Any]:
        """Return the function that aggregates judgments, and its options, as given to fit."""
        structure, options = self._given
        return STRUCTURES[structure] if isinstance(structure, str) else structure, options

    def _targets_of_scores(self, ranker: BaseRanker, rows: Rows) -> Callable[..., Any]:
        """Return the function from grouped scores of the structure to the targets of `ranker`."""
        plan = self._estimated(ranker._plan())

        def targets(scores: Floats, queries: Queries) -> Floats:
            return ranker._targets(plan, replace(rows, y=scores, queries=queries))

        return targets

    def _estimated(self, plan: Plan) -> Plan:
        """Return the plan for scores of the structure in place of labels."""
        plan = replace(plan, estimated=True, of_clicks=is_of_clicks(self._structure()[0]))
        as_they_are = replace(plan, measure=plan.measure.of_estimates())
        return as_they_are if as_they_are.takes_estimates else plan

    def _scored_by(self, y: Any) -> tuple[Measure, Array]:
        # The relevances of judgments are the scores of the structure for all of them.
        if not isinstance(y, self._judgments):
            return super()._scored_by(y)
        structure, options = self._structure()
        if is_of_clicks(structure):
            # A prior would make the value of a ranking biased.
            options = {name: given for name, given in options.items() if name != "prior"}
        queries = y.queries()
        scores = structure_scores(structure, y, queries, options)
        rows = Rows(np.zeros((len(y), 0)), scores, queries, n_items=y.n_items)
        plan = replace(self.record_.plan, measure=self.record_.measure, targets="measure")
        plan = self._estimated(plan)
        measure: Any = plan.measure
        if plan.takes_estimates and measure.shape == "documents":
            # The value of a ranking is linear in such targets.
            return OfTargets(measure), rows.in_order(plan.targets_of(rows))
        return measure, rows.in_order(plan.grades_of(rows))


def _check_clicks(plan: Plan, evidence: Floats) -> None:
    """Raise or warn if the targets of estimates of relevance from clicks are biased.

    `evidence` is the number of examinations that each estimate rests on.
    """
    measure = plan.measure
    if not measure.takes_fractions:
        other = " For users of the cascade model, ERRRanker().fit(X, sessions) learns ERR."
        raise ValueError(
            "gain must be 'linear' for estimates of relevance from clicks, which are fractions "
            f"and no grades, got 'exponential' of {measure.full_name}: choose "
            "DCGRanker(gain='linear'), which ranker=None is, or a measure such as "
            f"DCG(gain='linear').{other if measure.name == 'err' else ''}"
        )
    usual = np.median(evidence[evidence > 0]) if evidence.any() else 0.0
    if plan.is_linear or usual >= _POOLED:
        return
    separable = " Where relevances of a query are independent, targets='separable' does."
    told = (
        f"targets of {measure.full_name} are no linear function of the labels, as they divide "
        "by them, rank them or cut them at a level: of estimates from clicks they are biased, "
        "and may order documents wrongly however many queries there are. Choose "
        "DCGRanker(gain='linear'), whose targets have no bias."
        f"{separable if measure.has_separable_targets() else ''}"
    )
    if measure.needs_binary_labels or measure.level == 1:
        raise ValueError(f"ranker must take fractions as labels: {told}")
    warn(
        f"The {told} Or pool more sessions of each query: the bias falls as one over the "
        f"examinations of a document, of which half have at most {usual:.2g} here."
    )


def count_judgments(rows: Rows, judged: Judgments, alone: bool = True) -> Ints:
    """Return the number of judgments of each query.

    Raise ValueError if there are none, except for relevances that are `alone`, not one chunk of
    several.
    """
    counts = judged.n_judgments
    if counts.any():
        return counts
    if isinstance(rows.y, _JUDGMENTS) or not alone:
        raise ValueError(
            "y must hold at least one judgment (relevances that are equal within a query make "
            "none), got none: there is nothing to learn from."
        )
    # Relevances that are equal in every query: all targets are 0.
    return np.ones_like(counts)


def refuse_weightless(weight: Floats) -> None:
    """Raise if the weights of the documents that were judged are all 0."""
    if not weight.any():
        raise ValueError(
            "sample_weight must be positive for a document that was judged, got zeros only."
        )


def _judgments_of(rows: Rows, y: Any) -> Judgments:
    """Return the judgments; relevances count as one judgment of each query."""
    if isinstance(y, _JUDGMENTS):
        return y
    qid = rows.codes if rows.n_items is None else None
    return PreferenceTarget.from_relevance(rows.in_order(rows.y), qid)
