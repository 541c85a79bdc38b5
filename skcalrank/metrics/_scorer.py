"""Scorers for scikit-learn that know which rows are a query."""

import inspect
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from ..columns import arrays
from ..columns.arrays import num_samples
from ..columns.types import ArrayLike, Floats, Labels, Matrix, Self
from ..data import check, is_lazy
from ..measures import MEASURES, Measure, get_measure
from ._evaluate import evaluated
from ._values import RowPolicies


class RankingScorer:
    """Scorer of a measure for the tools of scikit-learn; higher is better.

    It requests ``qid`` from metadata routing, and ``sample_weight`` after
    ``set_score_request(sample_weight=True)``. Without routing it reads the queries from a
    :class:`~skcalrank.RankingTarget` or :class:`~skcalrank.PreferenceTarget`. It passes ``qid`` to
    a ``predict`` that accepts it, and works for any estimator with ``predict``; of a classifier
    with ``predict_proba`` it scores the expected labels. Use :func:`get_scorer` to make one.

    Parameters
    ----------
    measure : str or Measure
        The measure to compute.
    ties, empty : str
        Policies, as in :func:`measure_score`.

    Raises
    ------
    ValueError
        If the scale of the measure would be that of each fold, as that of :class:`ERR` without
        ``max_grade``, or a policy is unknown.

    Notes
    -----
    As scorers of scikit-learn, it returns NaN, with an ``UndefinedMetricWarning``, where it is
    undefined: for rows in which no query has, for example, a relevant document. The mean of a
    search or cross-validation over such a fold is NaN, whatever the candidate, and the first one
    is chosen. Take fewer folds, or ``empty="zero"``, by which queries without a value count 0 for
    all candidates alike.

    See Also
    --------
    get_scorer : Function that makes a scorer.
    measure_score : The measure of given scores.
    """

    def __init__(
        self, measure: str | Measure, *, ties: str = "average", empty: str = "skip"
    ) -> None:
        policies = RowPolicies(ties, empty)
        self.measure = get_measure(measure)
        self.measure.require_scale("for a scorer", "each fold")
        self.ties, self.empty = policies.ties, policies.empty
        self._requests: dict[str, bool | str | None] = {"qid": True, "sample_weight": None}

    def __repr__(self) -> str:
        return f"RankingScorer({self.measure!r}, ties={self.ties!r}, empty={self.empty!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RankingScorer) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.measure, self.ties, self.empty))

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the request of this scorer for the metadata qid and sample_weight."""
        request = MetadataRequest(owner=self)
        for name, alias in self._requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def set_score_request(
        self,
        *,
        qid: bool | str | None = UNCHANGED,
        sample_weight: bool | str | None = UNCHANGED,
    ) -> Self:
        """Set which metadata tools of scikit-learn pass to the scorer.

        Parameters
        ----------
        qid, sample_weight : bool, str or None, default="$UNCHANGED$"
            Whether it is passed; a name if it is passed under another one; None if passing it to
            the tool is an error. At first ``qid`` is passed, and ``sample_weight`` is an error.

        Returns
        -------
        self

        Raises
        ------
        RuntimeError
            If metadata routing is not enabled.
        """
        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "set_score_request must be called with metadata routing enabled: call "
                "sklearn.set_config(enable_metadata_routing=True) first."
            )
        request = self.get_metadata_routing()
        for name, alias in {"qid": qid, "sample_weight": sample_weight}.items():
            if alias != UNCHANGED:
                request.score.add_request(param=name, alias=alias)
        self._requests = dict(request.score.requests)
        return self

    def __call__(
        self,
        estimator: Any,
        X: Matrix,
        y: Labels,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Score the predictions of an estimator.

        Parameters
        ----------
        estimator : fitted estimator with ``predict``
            The estimator to score.
        X : array-like of shape (n_rows, d)
            Documents.
        y : array-like of shape (n_rows,) or (n, r)
            Relevances, or a target that carries its queries.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row, or of all rows. If None, the queries that y carries.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows.

        Returns
        -------
        score : float

        Raises
        ------
        MissingQidError
            If y has more than 200 rows and no qid.

        Warns
        -----
        UndefinedMetricWarning
            If the measure is undefined on every query; the warning says what the queries lack.
        OneQueryWarning
            If y has 2 to 200 rows and no qid.
        CutQueriesWarning
            If y carries its queries and rows of some of them are missing.
        """
        arrays.refuse_masked(X, "X")
        qid = check.carried_qid(y, qid, X=X, sample_weight=sample_weight)
        check.same_items(_last_of(estimator), y)
        check.one_query(y, qid, "The scorer", call="scorer(ranker, X, {})")
        check.warn_of_cut_queries(y, "The scorer")
        warn_of_queries(estimator, X, y, qid, "The scorer")
        policies = RowPolicies(self.ties, self.empty)
        scores = predict_with_queries(estimator, X, qid)
        measures = {"": self.measure}
        return float(evaluated(measures, y, scores, policies, qid, sample_weight, caller=None)[""])


def warn_of_queries(estimator: Any, X: Any, y: Any, qid: Any, caller: str) -> None:
    """Warn of a qid of documents, and of queries of the fit of a ranker that come back cut.

    The ranker may be the last step of searches and pipelines, or frozen.
    """
    if qid is not None and not is_lazy(qid):
        queries = check.queries(qid, num_samples(X))
        check.warn_of_single_documents(queries)
        record = getattr(_last_of(estimator), "record_", None)
        check.warn_of_changed_queries(getattr(record, "sizes", None), y, queries, caller)


def _last_of(estimator: Any) -> Any:
    """Return the ranker at the end of searches and pipelines."""
    while hasattr(estimator, "best_estimator_") or hasattr(estimator, "steps"):
        is_search = hasattr(estimator, "best_estimator_")
        estimator = estimator.best_estimator_ if is_search else estimator.steps[-1][1]
    return estimator


def predict_with_queries(estimator: Any, X: Any, qid: Any) -> Floats:
    """Return the predictions of an estimator, passing qid if its predict accepts it.

    Those of a classifier with probabilities are the expected labels, as classes tie most rows.
    """
    while hasattr(estimator, "best_estimator_"):
        # The predict method of a search accepts X only.
        estimator = estimator.best_estimator_
    last = estimator
    while hasattr(last, "steps") and not _takes_qid(last):
        last = last.steps[-1][1]
    asked = {"qid": qid} if qid is not None and _takes_qid(last) else {}
    scores = estimator.predict(X, **asked)
    classes = getattr(_last_of(estimator), "classes_", None)
    are_labels = isinstance(classes, np.ndarray) and classes.dtype.kind in "biuf"
    if are_labels and np.ndim(scores) == 1 and hasattr(estimator, "predict_proba"):
        return estimator.predict_proba(X, **asked) @ classes
    return scores


def _takes_qid(estimator: Any) -> bool:
    return "qid" in inspect.signature(estimator.predict).parameters


def get_scorer(name: str | Measure, **metric_options: Any) -> RankingScorer:
    """Return a scorer by its name.

    Parameters
    ----------
    name : str or Measure
        ``"ndcg@10"``, ``"dcg@5"``, ``"precision@1"``, ``"recall@20"``, ``"f1@5"``, ``"hit@3"``,
        ``"r_precision"``, ``"map"``, ``"mrr"``, ``"rbp"``, ``"err@10"``,
        ``"eru"``, ``"auc"``, ``"spearman"``, ``"kendall"``, ``"neg_pairwise_disagreement"``; ``@k``
        is optional.
    **metric_options
        Parameters of the metric: ``ties``, ``empty``, ``convention``, ``gain``,
        ``relevance_level``, ...

    Returns
    -------
    scorer : RankingScorer

    Raises
    ------
    ValueError
        If a name or an option is unknown; the message lists the valid ones. Also for "err" without
        ``max_grade``, whose scale would be that of each fold.

    See Also
    --------
    get_scorer_names : The names.
    measure_score : The measure of given scores.

    Examples
    --------
    >>> from skcalrank.metrics import get_scorer
    >>> get_scorer("precision@5", relevance_level=2)
    RankingScorer(Precision(k=5, relevance_level=2), ties='average', empty='skip')
    """
    ties, empty = metric_options.pop("ties", None), metric_options.pop("empty", None)
    measure = get_measure(name, **metric_options)
    policies = RowPolicies.of(ties, empty, metric_options.get("convention"))
    return RankingScorer(measure, ties=policies.ties, empty=policies.empty)


def get_scorer_names() -> list[str]:
    """Return the names that :func:`get_scorer` accepts, without cutoff.

    Returns
    -------
    names : list of str

    Examples
    --------
    >>> from skcalrank.metrics import get_scorer_names
    >>> "ndcg" in get_scorer_names()
    True
    """
    return sorted(MEASURES)
