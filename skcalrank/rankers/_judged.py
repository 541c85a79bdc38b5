"""The base of rankers that aggregate the judgments of a query before they learn from them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..aggregation import STRUCTURES, structure_scores
from ..data import ClickSessions, PreferenceTarget, all_or_nothing, carried_qid, check_count
from ._base import BaseRanker, Problem

__all__ = ["JudgmentRanker"]


class JudgmentRanker(BaseRanker):
    """Base of rankers of comparisons and clicks, which a structure turns into scores.

    A subclass learns from the judgments in ``_learn``.
    """

    __metadata_request__partial_fit: ClassVar = {"qid": True, "sample_weight": True}

    _judgments = (PreferenceTarget, ClickSessions)

    _parameter_constraints: ClassVar[dict] = {
        "structure": [StrOptions(set(STRUCTURES)), callable],
        "order": [Interval(Integral, 1, None, closed="left"), None],
        "structure_options": [Mapping, None],
        "random_state": ["random_state"],
    }

    structure: Any
    order: int | None
    structure_options: Mapping | None

    @abstractmethod
    def _learn(self, problem: Problem, judged, method, goes_on):
        """Learn from judgments; ``goes_on`` tells whether to add to what was learned."""

    @abstractmethod
    def _can_go_on(self) -> bool:
        """Return whether what was fitted takes another chunk."""

    def _check_params(self):
        """Raise for parameters out of their range, or that do not fit together."""
        self._structure()
        if self.order is not None:
            check_count("order", self.order, "the number of judgments of a subset, or None for all")

    def _check_scale(self):
        """Raise where the scale of the targets would depend on the subset of the judgments."""
        measure = self._measure()
        if getattr(measure, "max_grade", 0.0) is None:
            raise ValueError(
                f"The measure {measure.name!r} has no max_grade, so its scale would differ between "
                "subsets of the judgments: set max_grade, as in ERR(max_grade=1) or "
                "ERRRanker(max_grade=1)."
            )

    @all_or_nothing
    def fit(self, X, y, qid=None, sample_weight=None):
        """Aggregate the judgments and learn from the result.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, d)
        y : PreferenceTarget, ClickSessions, or array-like of shape (n_rows,) or (n, r)
            Judgments, which carry their queries. Relevances stand for one judgment of each query,
            that of all their differences.
        qid : array-like of shape (n_rows,), default=None
            Query of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            Weighs the terms of a document, in addition to the number of judgments of its query.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there is no judgment, or the input is not a ranking problem.
        """
        return self._take(X, y, qid, sample_weight, "fit")

    def _take(self, X, y, qid, sample_weight, method):
        self._check_params()
        goes_on = method == "partial_fit" and self._can_go_on()
        problem = self._check_problem(X, y, qid, sample_weight, reset=not goes_on)
        record = self._record(problem)
        record = self.record_.add(record) if goes_on else record
        self._learn(problem, _judgments_of(problem, y), method, goes_on)
        self.record_ = record
        return self

    def _loss_in_force(self):
        return self.structure, self.order, self.structure_options

    def _structure(self):
        """Return the function that aggregates, and its options."""
        options = self.structure_options or {}
        if not isinstance(options, Mapping):
            raise TypeError(f"structure_options must be a dict or None, got {options!r}.")
        if callable(self.structure):
            return self.structure, options
        if not isinstance(self.structure, str) or self.structure not in STRUCTURES:
            raise ValueError(
                f"structure must be one of {', '.join(STRUCTURES)}, or a function of the target, "
                f"got {self.structure!r}."
            )
        return STRUCTURES[self.structure], options

    def _targets_of_scores(self, ranker: BaseRanker, problem: Problem):
        """Return the function from grouped scores of a structure to the targets of a ranker."""
        unscaled = problem._replace(measure=ranker._measure())

        def targets(scores, queries):
            labels = _above_lowest(scores, queries)
            return ranker._targets(unscaled._replace(y=labels, queries=queries))

        return targets

    def score(self, X, y, qid=None, sample_weight=None):
        """Mean of the measure over the queries, higher is better.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        y : array-like of shape (n_rows,) or (n, r), PreferenceTarget or ClickSessions
            Relevances; or judgments, which stand for the scores that the structure gives all of
            them, minus the lowest of the query.
        qid : array-like of shape (n_rows,), default=None
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
        """
        if not isinstance(y, self._judgments):
            return super().score(X, y, qid, sample_weight)
        check_is_fitted(self)
        qid = carried_qid(y, qid)
        structure, options = self._structure()
        queries = y.queries()
        scores = structure_scores(structure, y, queries, options)
        labels = queries.ungroup(_above_lowest(scores, queries))
        labels = labels if y.n_items is None else labels.reshape(-1, y.n_items)
        return super().score(X, labels, qid, sample_weight)


def count_judgments(problem: Problem, judged, alone=True):
    """Return the number of judgments of each query.

    Not ``alone``, other chunks may have judgments where these queries have none.
    """
    counts = judged.n_judgments
    if counts.any():
        return counts
    if isinstance(problem.y, JudgmentRanker._judgments) or not alone:
        raise ValueError(
            "y holds no judgment (relevances that are equal in a query make none): there is "
            "nothing to learn from."
        )
    # Relevances that are equal in every query: all targets are 0.
    return np.ones_like(counts)


def _judgments_of(problem: Problem, y):
    """Return the target; relevances stand for one judgment of each query."""
    if isinstance(y, JudgmentRanker._judgments):
        return y
    queries = problem.queries
    if problem.n_items is not None:
        return PreferenceTarget.from_relevance(problem.y.reshape(-1, problem.n_items))
    return PreferenceTarget.from_relevance(queries.ungroup(problem.y), queries.codes)


def _above_lowest(scores, queries):
    """Return scores minus the lowest of their query, of which gains are not negative."""
    return scores + queries.repeat(queries.max(-scores))
