"""Ranker of comparisons or clicks, which aggregates them into the targets of another ranker."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Integral, Real
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

from ..aggregation import STRUCTURES, evidence_of, is_of_clicks, mean_over_subsets
from ..columns import arrays
from ..columns.types import Floats, Seed
from ..data import Judgments, Rows, check, limits
from ._base import BaseRanker, TargetRanker
from ._door import check_form
from ._judged import JudgmentRanker, Rule, count_judgments, refuse_weightless
from ._plan import JudgmentPlan
from ._positional import DCGRanker, NDCGRanker

# Number of judgments that halve the weight of a document. With a sampling variance of v / e and an
# error of the scorer of variance s, the best weight is e / (e + v / s); any from 1 to 20 does.
_FEW_JUDGMENTS = 5.0


def _check_inner(ranker: Any, plan: JudgmentPlan) -> None:
    """Raise for parameters of the ranker that learns."""
    ranker._given_ranker()._check_params(plan.call._replace(of_targets=True))


class AggregatedRanker(JudgmentRanker):
    r"""Ranker of comparisons or clicks, aggregated into the targets of another ranker.

    A structure turns the judgments :math:`Y_1, \dots, Y_k` of a query into scores s of its
    documents, and `ranker` is fitted to the targets v(s) of its measure. Use it if each query has
    many partial judgments, such as comparisons of two documents or clicks, in place of one label
    per document.

    Parameters
    ----------
    structure : str or callable, default="mean_log_odds"
        A name in ``skcalrank.aggregation.STRUCTURES``: ``"mean_log_odds"``, ``"borda"``,
        ``"win_rate"``, ``"thurstone_mosteller"``, ``"bradley_terry"``,
        ``"principal_eigenvector"`` for comparisons, ``"cascade"`` and ``"position_based"`` (with
        ``structure_options={"propensity": ...}``) for clicks; or a function of the target that
        returns one score per row, or a named tuple whose first field they are.
    ranker : ranker, default=None
        Any ranker of this package that is fitted to one target per document, as its `fit_targets`
        is: the rankers of positional measures, :class:`ERRRanker`,
        :class:`AveragePrecisionRanker` and :class:`PairwiseDisagreementRanker` with
        ``surrogate="score"``, :class:`OrderPreservingRanker` with any loss, and
        :class:`BoostedRanker` and :class:`TabularRanker`, which read tables. It is fitted
        to the targets of the structure's scores, and :meth:`score` computes its measure. Measures
        that divide by the labels of the query, as NDCG, count negative scores from the lowest of
        the query. If None, ``DCGRanker(gain="linear")`` for clicks, whose targets are linear in
        the estimates of relevance, and ``NDCGRanker()`` for comparisons. For the structures of
        clicks, an exponential gain is an error, and targets that are not linear are a warning
        (:ref:`what-clicks-prove`).
    order : int, default=None
        Number of judgments k that are aggregated at a time. If None, all judgments of a query.
    structure_options : dict, default=None
        Options of the structure, such as ``{"c": 0.1}``.
    row_weight : {"evidence", "judgments"} or float, default="evidence"
        Weight of a document in the loss of `ranker`.

        - A number m >= 0: ``e / (e + m)``, where e is the number of judgments that its target
          rests on: comparisons with it, or sessions in which it was examined (for
          ``"position_based"`` the expected number). Few judgments make a noisy target, and many
          make one that is as good as a label. 0 is the weight 1 for every document with a
          judgment. Items of the label-ranking form share the mean weight of their row.
        - "evidence": m = 5.
        - "judgments": the number of judgments of the query over its number of documents, the risk
          of the Notes, which :class:`StochasticAggregatedRanker` minimizes too.
    n_draws : int, default=20
        Number of random subsets of judgments of a query, for queries that have more subsets of size
        `order`. More draws reduce `standard_error_`.
    random_state : int, RandomState instance or None, default=None
        Seed for drawing subsets, query after query: rows in another order are another draw.

    Attributes
    ----------
    ranker_ : ranker
        The fitted ranker.
    targets_ : ndarray of shape (n_rows,) or (n, r)
        Mean targets that `ranker_` was fitted to.
    standard_error_ : ndarray, same shape
        Monte Carlo error of the mean targets; 0 where they are exact, NaN for ``n_draws=1``.
    n_items_, item_names_in_, n_features_in_, feature_names_in_
        Numbers and names of items and features, as in :class:`LeastSquaresRanker`.

    See Also
    --------
    StochasticAggregatedRanker : The same risk by stochastic gradients, for many judgments.
    DifferenceGraphRanker : Linear ranker of the net preferences of many judgments.
    PairwiseDisagreementRanker : Ranker of preferences without a structure.
    PreferenceTarget : Target of comparisons.
    ClickSessions : Target of clicks.

    Notes
    -----
    With ``order=None`` all :math:`n_q` judgments of a query are aggregated. With ``order=k`` the
    risk is the U-statistic

    .. math:: \frac{1}{n} \sum_q n_q \binom{n_q}{k}^{-1}
        \sum_{|S| = k} L\bigl(v(s(Y_S)), f(q)\bigr)

    (DMJ13, eq. 17 and 19; a query with fewer judgments uses all of them) with
    ``row_weight="judgments"``. Weights that do not depend on the relevances, given the query and
    its documents, leave the conditional mean of the targets the minimizer. The ranker is consistent
    for the measure if the scores of the structure, in the limit of many judgments, are the
    relevances that the measure is about, and k grows more slowly than the root of the number n of
    all judgments (DMJ13, Theorem 4, for a fixed class of scorers). Complete aggregation is the
    limit of large k, which the theorem does not cover. Pairwise losses of single comparisons are
    not consistent (Theorem 2), see :class:`PairwiseLogisticRanker`.

    The losses of the package are affine in the targets, so the U-statistic is the loss of the *mean
    target over the subsets*. That mean is exact if there are few subsets, and otherwise estimated
    from `n_draws` random ones.

    With the losses ``"pairwise_logistic"`` and ``"pairwise_exponential"`` of
    :class:`OrderPreservingRanker` the ranker minimizes the listwise NDCG surrogate of DMJ13
    (section 3.3), :math:`\sum_j v_j \sum_{l \ne j} \phi(a_l - a_j)` with the increasing
    :math:`\phi(x) = \log(1 + e^x)` and :math:`e^x` (the paper writes "nonincreasing").

    Examples
    --------
    >>> from skcalrank import AggregatedRanker, NDCGRanker, sample_comparisons
    >>> X, relevance, qid = [[0.0], [1.0], [3.0]], [0.0, 1.0, 3.0], [7, 7, 7]
    >>> y = sample_comparisons(relevance, qid, n_comparisons=500, random_state=0)
    >>> AggregatedRanker("mean_log_odds", NDCGRanker(k=3)).fit(X, y).rank(X, qid)
    array([3, 2, 1])
    """

    _updated_by = ("ranker_", "partial_fit")
    _theorem: ClassVar[str] = "judgments"
    _rules: ClassVar[Any] = (_check_inner,)
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "row_weight": [
            limits.one_of("evidence", "judgments"),
            limits.Interval(Real, 0, None, closed="left"),
        ],
        "n_draws": [limits.AT_LEAST_ONE],
    }

    def __init__(
        self,
        structure: str | Callable[..., Any] = "mean_log_odds",
        ranker: BaseRanker | None = None,
        *,
        order: int | None = None,
        structure_options: Mapping[str, Any] | None = None,
        row_weight: str | float = "evidence",
        n_draws: int = 20,
        random_state: Seed = None,
    ) -> None:
        self.structure = structure
        self.ranker = ranker
        self.order = order
        self.structure_options = structure_options
        self.row_weight = row_weight
        self.n_draws = n_draws
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        ranker = self._given_ranker()
        if isinstance(ranker, BaseRanker):  # parameters are validated in fit
            tags.input_tags = get_tags(ranker).input_tags
        return tags

    def _given_ranker(self) -> Any:
        """Return the ranker passed by the user, or the one that None means."""
        if self.ranker is not None:
            return self.ranker
        known = isinstance(self.structure, str)
        structure = STRUCTURES.get(self.structure) if known else self.structure
        is_of = vars(self).get("_is_of_clicks", False) or is_of_clicks(structure)
        return DCGRanker(gain="linear") if is_of else NDCGRanker()

    def _plan(self) -> JudgmentPlan:
        return replace(super()._plan(), inner=self._given_ranker()._plan())

    def _hands_tables_on(self) -> bool:
        return _reads_tables(self._given_ranker())

    def _measure(self) -> Any:
        ranker = self._given_ranker()
        _check_ranker(ranker)
        return ranker._measure()

    def _learn(self, plan: Any, rows: Rows, judged: Judgments, rule: Rule) -> None:
        ranker = self._new_ranker(plan)
        check_form(ranker, rows.n_items)
        weight = self._row_weights(rows, judged, rule, alone=not plan.call.in_chunks)
        aggregated = mean_over_subsets(
            judged,
            rule.structure,
            self.order,
            self._targets_of_scores(ranker, rows),
            n_draws=self.n_draws,
            random_state=self.random_state,
            **rule.options,
        )
        targets = rows.queries.group(np.ravel(aggregated.mean))
        weighed: Any = rows.with_weight(weight)
        refuse_weightless(weighed.weight)
        if _reads_tables(ranker):
            X, y, qid = rows.as_given(), rows.in_order(targets), rows.qid if rows.named else None
            self.ranker_ = ranker.fit_targets(X, y, qid, weighed.weight)
        else:
            call = plan.call._replace(of_targets=True)
            inner = replace(plan.inner, measure=plan.measure, reads=plan.reads, call=call)
            self.ranker_ = ranker._fit_to_targets(inner, weighed, targets)
        self.targets_, self.standard_error_ = aggregated

    def _row_weights(self, rows: Rows, judged: Judgments, rule: Rule, alone: bool) -> Floats:
        counts = count_judgments(rows, judged, alone)
        if self.row_weight == "judgments":
            return (counts / rows.queries.sizes)[rows.codes]
        evidence = evidence_of(rule.structure, judged, rule.options).reshape(rows.n_rows, -1)
        few: Any = _FEW_JUDGMENTS if self.row_weight == "evidence" else self.row_weight
        weight = arrays.safe_divide(evidence, evidence + few).mean(axis=1)
        return weight if weight.any() else np.ones(rows.n_rows)

    def _new_ranker(self, plan: Any) -> BaseRanker:
        """Return the ranker to fit, with the state of `ranker_` if partial_fit continues it."""
        ranker = clone(self._given_ranker())
        state: Mapping[str, Any] = vars(self.ranker_) if plan.call.goes_on else {}
        params = ranker.get_params(deep=False)
        vars(ranker).update((name, value) for name, value in state.items() if name not in params)
        # The inner ranker validates X in predictions, so it needs what validation stored here.
        check.share_columns(ranker, self)
        return ranker

    def _scores(self, rows: Rows) -> Floats:
        if _reads_tables(self.ranker_):
            return self.ranker_.predict(rows.as_given(), rows.qid if rows.named else None)
        return self.ranker_._scores(rows)

    coef_ = property(attrgetter("ranker_.coef_"), doc="Coefficients of `ranker_`, if any.")
    intercept_ = property(attrgetter("ranker_.intercept_"), doc="Intercept of `ranker_`, if any.")
    feature_importances_ = property(
        attrgetter("ranker_.feature_importances_"), doc="Importances in `ranker_`, if any."
    )


def _reads_tables(ranker: BaseRanker) -> bool:
    """Return whether a ranker makes numbers of the columns of a table itself."""
    return get_tags(ranker).input_tags.string


def _check_ranker(ranker: Any) -> None:
    """Raise unless `ranker` can be fitted to given targets of documents."""
    if not isinstance(ranker, BaseRanker):
        raise TypeError(
            f"ranker must be a ranker of skcalrank or None, got {ranker!r}: did you mean "
            f"{_meant(ranker)}?"
        )
    of_documents = isinstance(ranker, TargetRanker) or _reads_tables(ranker)
    if not of_documents or not hasattr(ranker, "fit_targets"):
        raise ValueError(
            "ranker must be fitted to one target per document, got "
            f"{type(ranker).__name__}: use a ranker of a positional measure, ERRRanker, "
            'OrderPreservingRanker, or surrogate="score".'
        )


def _meant(argument: Any) -> str:
    """Return the parameter that the user may have meant by an argument that is not a ranker."""
    if isinstance(argument, type) and issubclass(argument, BaseRanker):
        return f"ranker={argument.__name__}()"
    if isinstance(argument, Integral):
        return f"order={argument}"
    if argument != "ndcg" and (isinstance(argument, str) or hasattr(argument, "score_targets")):
        return f"ranker=LeastSquaresRanker(measure={argument!r})"
    if hasattr(argument, "steps"):
        return "make_query_pipeline(..., AggregatedRanker(...)), whose last step learns"
    estimator = f"estimator={argument!r}" if isinstance(argument, BaseEstimator) else ""
    return f"ranker=NDCGRanker({estimator})"
