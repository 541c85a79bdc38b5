"""Cut-offs of ranked lists with a promise on average over queries."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..columns import arrays, tables
from ..columns.types import CV, ArrayLike, Estimator, Floats, Ints, Labels, Matrix, Seed, Self
from ..data import (
    Queries,
    Rows,
    check,
    check_qid,
    fitting,
    limits,
    positions,
    refuse_lazy,
    seed_of,
    warn,
)
from ..measures import Measure
from ._around import RankerAround, ranker_scores, test_folds
from ._calibrated import CalibratedRankerCV
from ._masses import OTHERS, Judged, depths, masses, shares_of
from ._promise import Promise, p_value

# Whoever states a larger share that may be lost means the share that is kept.
_LARGEST_ALPHA = 0.5

# Number of thresholds that are tested one after the other.
_CANDIDATES = 100

# Shares of the queries that calibrate the threshold, and that choose where its tests begin.
_HALF = 0.5

_LAZY = "Call {} with each partition of whole queries."


def _check_loss(ranker: Any, _: Any) -> None:
    """Raise for a loss and a share of it that nothing promises."""
    alpha, loss = ranker.alpha, ranker.loss if isinstance(ranker.loss, str) else ""
    if alpha > _LARGEST_ALPHA:
        raise ValueError(
            f"alpha must be at most {_LARGEST_ALPHA:g}, got {alpha!r}: it is the share that may be "
            f"lost, so that to keep {alpha:.0%} pass alpha={1 - alpha:.2g}."
        )
    if loss not in OTHERS:
        shares_of(ranker.loss)
    if loss == "precision" and ranker.confidence_level is None:
        raise ValueError(
            "confidence_level must be a number between 0 and 1 with loss='precision', which does "
            "not decrease as more is kept, got None: set confidence_level=0.9."
        )
    if loss == "no_answer" and ranker.by == "depth":
        raise ValueError(
            "by must be 'target' or 'score' with loss='no_answer', got 'depth': every list has a "
            "top."
        )


class GuaranteedCutoff(RankerAround):
    r"""Cut the list of each query so that little is lost on average over queries.

    Use it to show short lists, or to pass few candidates on, with a promise of what they keep. Each
    document has a share of its query, and the shares of a query sum to 1: equal shares of the
    relevant documents (recall), shares of the DCG, or all of it for one document. The loss of a
    query is the sum of the shares of the documents that are cut. With n calibration
    queries, the threshold is the largest t with

    .. math:: \sum_{j=1}^n (1 - L_j(t)) \ge (n + 1)(1 - \alpha),

    where :math:`L_j(t)` is what query j loses if documents with values below t are cut. If the
    calibration queries and a new query are exchangeable, the new query loses at most
    :math:`\alpha` in expectation: conformal risk control [ABF24]_, in which queries are the units,
    and not rows. The promise holds on average over queries like the calibration queries. It holds
    neither for each query nor for each kind of query: see `groups` of :meth:`fit`.

    Parameters
    ----------
    ranker : ranker, default=None
        A ranker of this package, a pipeline, or an estimator of another library as
        :class:`ExternalRanker` takes it. A fitted one in scikit-learn's ``FrozenEstimator`` is
        used as it is, and all queries of `fit`, which must not have trained it, calibrate the
        threshold. None means ``NDCGRanker()``.
    loss : str or Measure, default="recall"
        What is lost by a cut. "recall": the share of the relevant documents that are cut. "dcg":
        the share of the DCG. "first": 1 if the highest relevant document is cut. "best": 1 if the
        highest document of the best label is cut. A positional measure: the share of its value.
        "precision": the share of irrelevant documents among those that are kept, in queries of
        which some are; it needs `confidence_level`. "no_answer": 1 if a query with a relevant
        document is turned away as a whole.
    alpha : float, default=0.1
        Mean loss that is promised, above 0 and at most 0.5: to keep 95 % of what is relevant, pass
        0.05.
    confidence_level : float, default=None
        If None, the loss is at most `alpha` in expectation over new and calibration queries. Else
        it is at most `alpha` in expectation over new queries for this share of the draws of
        calibration queries at least, by the bound of Hoeffding and Bentkus [BAL21]_.
    by : {"target", "score", "depth"}, default="target"
        Values that the threshold is about. "target": the expected mass of a document, estimated by
        a :class:`CalibratedRankerCV` whose target is the loss (for "precision" and "no_answer", its
        probability of relevance); if it is right, the fewest documents are kept. "score": scores of
        the ranker. "depth": the number of documents from the top. Documents of equal score are kept
        or cut together.
    relevance_level : float or None, default=1
        Documents with labels of at least this level are relevant. If None, labels must be 0 and 1.
        Not used by "dcg", "best" and measures.
    cv : int, splitter or iterable, default=None
        If None, the ranker is fitted to half of the queries, and the others calibrate. Else scores
        of all queries, each by a ranker fitted to the other folds, calibrate the threshold, and the
        ranker is fitted again to all queries. This uses all queries, but the promise is
        *approximate* then, since the ranker that predicts is another one. Not used with a
        FrozenEstimator. With ``by="target"`` the map from scores to shares is fitted where the
        ranker is. A frozen ranker needs half of the queries for it, unless it is a
        CalibratedRankerCV whose target is the loss.
    random_state : int, RandomState instance or None, default=None
        Queries are drawn by their names: other names act as another seed. None is seed 0, of the
        half that calibrates as of the folds.

    Attributes
    ----------
    ranker_ : ranker
        The fitted ranker; a :class:`CalibratedRankerCV` of it with ``by="target"``.
    threshold_ : float or dict
        Documents are kept if :meth:`cutoff_values` is at least the threshold. With groups, the
        threshold of each.
    n_queries_ : int or dict
        Number of queries that calibrated the threshold, with groups of each.
    n_skipped_ : int or dict
        Number of queries in which there was nothing to lose, with groups of each. They do not
        count, since nothing can be kept of them either.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    CalibratedRankerCV : Scores with a unit.
    skcalrank.evaluation.cross_compare : Which ranker is better, on held-out queries.
    sklearn.model_selection.TunedThresholdClassifierCV : A threshold of a classifier, without a
        promise.

    Notes
    -----
    At least ``1 / alpha - 1`` queries have to calibrate; with `confidence_level`,
    ``log(1 - confidence_level) / log(1 - alpha)``. "precision" takes twice as many, because one
    half chooses where a sequence of tests begins [ABC21]_. If no threshold passes, it is infinite,
    and no query is answered.

    There are no weights: the promise counts queries, and with weights it would need those of new
    queries too. Queries whose judgments were pooled from the top of a ranker's lists do not
    calibrate it: what was not judged counts as irrelevant.

    References
    ----------
    .. [ABF24] Angelopoulos, Bates, Fisch, Lei, Schuster: Conformal Risk Control, ICLR 2024.
    .. [BAL21] Bates, Angelopoulos, Lei, Malik, Jordan: Distribution-Free, Risk-Controlling
       Prediction Sets, Journal of the ACM 68, 2021.
    .. [ABC21] Angelopoulos, Bates, Candes, Jordan, Lei: Learn then Test: Calibrating Predictive
       Algorithms to Achieve Risk Control, 2021.

    Examples
    --------
    >>> from skcalrank import GuaranteedCutoff, NDCGRanker, load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=300, n_documents=20)
    >>> test = qid >= 200
    >>> cutoff = GuaranteedCutoff(NDCGRanker()).fit(X[~test], y[~test], qid[~test])
    >>> kept = cutoff.predict_set(X[test], qid[test])
    >>> bool(y[test][kept].sum() > 0.8 * y[test].sum()), bool(kept.mean() < 0.6)
    (True, True)
    """

    __metadata_request__fit = {"groups": False}
    _rules: ClassVar[Any] = (_check_loss,)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "alpha": [limits.Interval(Real, 0, 1, closed="neither")],
        "confidence_level": [limits.Interval(Real, 0, 1, closed="neither"), None],
        "by": [limits.one_of("target", "score", "depth")],
    }

    def __init__(
        self,
        ranker: Estimator | None = None,
        loss: str | Measure = "recall",
        alpha: float = 0.1,
        *,
        confidence_level: float | None = None,
        by: str = "target",
        relevance_level: float | None = 1,
        cv: CV | None = None,
        random_state: Seed = None,
    ) -> None:
        self.ranker = ranker
        self.loss = loss
        self.alpha = alpha
        self.confidence_level = confidence_level
        self.by = by
        self.relevance_level = relevance_level
        self.cv = cv
        self.random_state = random_state

    def _loss_name(self) -> str:
        return self.loss if isinstance(self.loss, str) else ""

    # -- fit ------------------------------------------------------------------------

    @fitting
    def fit(
        self, X: Matrix, y: Labels, qid: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Fit the ranker to some of the queries, and the threshold to others.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents of whole queries, in the form that the ranker takes.
        y : array-like of shape (n_rows,)
            Relevances, higher is better. May carry its queries, as in
            :meth:`LeastSquaresRanker.fit`.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row, or a scalar, as in :meth:`LeastSquaresRanker.fit`.
        groups : array-like of shape (n_rows,), default=None
            Category of the query of each row, known before the query is ranked, such as its size
            class or language. Each category has its own threshold, and the promise holds within it.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a parameter is invalid, the input is not a ranking problem, or there are too few
            queries for the promise; the error names the number that is needed.

        Warns
        -----
        OneQueryWarning
            If y has 2 to 200 rows and no qid.
        UserWarning
            If most queries seem to have trained the ranker of a FrozenEstimator, or if no
            threshold passes the tests of "precision".
        """
        check.row_order(X=X, y=y, qid=qid, groups=groups)
        plan, given = self._enter(X, y, qid)
        self._rule = (self.by, self._loss_name())
        categories = None if groups is None else _categories(groups, given.queries)
        rows, judged = self._judge(given.without_table(), check.qid_beside(y, qid))
        if categories is None:
            self.threshold_, self.n_queries_, self.n_skipped_ = self._calibrate(judged)
        else:
            names, codes = categories
            codes = codes if rows.numbers is None else codes[rows.numbers]
            self._calibrate_each(judged, names, rows.queries.max(rows.queries.group(codes)))
        self.record_ = self._record(plan, given)
        return self

    def _judge(self, given: Rows, qid: Any) -> tuple[Rows, Judged]:
        """Fit the ranker, and return the calibration queries with their scores."""
        rows = given if self._is_frozen() else given.by_names()
        seed = seed_of(self.random_state)
        if not self._is_frozen() and self.cv is not None:
            if self.by == "target":
                self.ranker_ = self._calibrated(self.cv)
                labels = given.in_order(given.y)
                values = self.ranker_._fit_values(given.as_given(), labels, given.qid)  # noqa: SLF001
                scores = values[rows.numbers]
            else:
                scores = self._fit_out_of_fold(rows, test_folds(self.cv, rows, given, qid, seed))
        else:
            if self._is_frozen():
                self._warn_of_training_queries(given.queries)
            if self._is_used_as_it_is():
                self.ranker_ = self.ranker.estimator
            else:
                level, zeros = self.relevance_level, np.zeros(rows.n_rows)
                shares = self._shares(Judged(rows.queries, rows.y, zeros, level))
                mask = rows.held_out(_HALF, seed, informative=rows.queries.max(shares) > 0)[0]
                self.ranker_ = self._fitted_to(rows.take(~mask))
                rows = rows.take(mask)
            scores = ranker_scores(self.ranker_, rows)
        queries, tunes = rows.queries, None
        if self._loss_name() == "precision":
            tunes = queries.max(queries.group(rows.held_out(_HALF, seed)[0]))
        return rows, Judged(queries, rows.y, queries.group(scores), self.relevance_level, tunes)

    def _is_used_as_it_is(self) -> bool:
        """Return whether nothing is fitted but the threshold."""
        if not self._is_frozen() or self.by != "target":
            return self._is_frozen()
        frozen = self.ranker.estimator
        return isinstance(frozen, CalibratedRankerCV) and frozen.target == self._target()

    def _target(self) -> Any:
        """Return the target whose expectation is compared with the threshold."""
        return "relevant" if self._loss_name() in OTHERS else self.loss

    def _calibrated(self, cv: Any) -> CalibratedRankerCV:
        """Return a ranker that estimates the target."""
        return CalibratedRankerCV(
            self.ranker,
            self._target(),
            relevance_level=self.relevance_level,
            cv=cv,
            random_state=self.random_state,
        )

    def _fitted_to(self, rows: Rows) -> Any:
        if self.by != "target":
            return super()._fitted_to(rows)
        # If these are too few, the threshold raises an error that names alpha, not folds.
        ranker = self._calibrated(max(2, min(5, rows.queries.n_queries)))
        ranker._fit_values(rows.as_given(), rows.in_order(rows.y), rows.qid)  # noqa: SLF001
        return ranker

    # -- calibration ----------------------------------------------------------------

    def _calibrate_each(self, judged: Judged, names: list[str | int], codes: Ints) -> None:
        """Calibrate within each category, given the number of that of each query."""
        made = {}
        for code, name in enumerate(names):
            try:
                made[name] = self._calibrate(judged.take(codes == code))
            except ValueError as error:
                raise ValueError(f"Of group {name!r}: {error}") from None
        parts: Any = [dict(zip(made, part)) for part in zip(*made.values())]
        self.threshold_, self.n_queries_, self.n_skipped_ = parts

    def _calibrate(self, judged: Judged) -> tuple[float, int, int]:
        """Return the threshold, and the numbers of queries that count and that do not."""
        if judged.tunes is not None:
            return self._calibrate_precision(judged.take(judged.tunes), judged.take(~judged.tunes))
        shares = self._shares(judged)
        matters = judged.queries.max(shares) > 0
        n = int(matters.sum())
        promise = self._promise(n, 1)
        values = self._values(judged.scores, judged.queries)
        return promise.threshold(values, masses(shares, judged.queries), n), n, len(matters) - n

    def _calibrate_precision(self, tuning: Judged, judged: Judged) -> tuple[float, int, int]:
        n = judged.queries.n_queries
        promise = self._promise(n if tuning.queries.n_queries else 0, 2)
        candidates = np.unique(self._values(tuning.scores, tuning.queries))[::-1]
        places = np.unique(np.geomspace(1, len(candidates), _CANDIDATES).astype(int)) - 1
        candidates = candidates[places]
        tuned = p_value(self._wrong(tuning, candidates), tuning.queries.n_queries, self.alpha)
        threshold = promise.safe_threshold(candidates, tuned, self._wrong(judged, candidates), n)
        if threshold == np.inf:
            warn(
                f"No threshold promises that at most alpha={self.alpha:g} of what is kept is "
                "irrelevant, so that no query is answered: raise alpha, lower confidence_level, or "
                "fit with more queries or a better ranker."
            )
        return threshold, n, 0

    def _wrong(self, judged: Judged, candidates: Floats) -> Floats:
        """Return for each threshold the mean share of irrelevant documents, alpha for no answer."""
        queries, values = judged.queries, self._values(judged.scores, judged.queries)
        wrong = 1 - judged.relevance
        out = np.empty(len(candidates))
        for place, candidate in enumerate(candidates):
            kept = (values >= candidate).astype(float)
            shares = arrays.safe_divide(queries.sum(kept * wrong), queries.sum(kept), self.alpha)
            out[place] = shares.mean()
        return out

    def _promise(self, n: int, n_parts: int) -> Promise:
        """Return the promise, or raise if n queries cannot make it.

        The calibration queries are one of so many parts of those that are not for training.
        """
        promise = Promise(self.alpha, self.confidence_level)
        needed = promise.n_needed
        if n >= needed:
            return promise
        is_whole = self.cv is not None and not self._is_frozen()
        n_parts *= 1 if is_whole or self._is_used_as_it_is() else 2
        level = self.confidence_level
        confident = "" if level is None else f" with confidence_level={level:g}"
        kind = "" if self._loss_name() == "precision" else " with something to lose"
        in_all = "" if n_parts == 1 else f": pass at least {n_parts * needed} such queries in all"
        raise ValueError(
            f"alpha={self.alpha:g}{confident} needs at least {needed} queries{kind} to calibrate "
            f"on, got {n}{in_all}, or raise alpha."
        )

    def _shares(self, judged: Judged) -> Floats:
        """Return the shares of the documents in what counts."""
        return judged.relevance if self._loss_name() in OTHERS else shares_of(self.loss)(judged)

    # -- what was fitted --------------------------------------------------------------

    def _values(self, scores: Floats, queries: Queries) -> Floats:
        """Return the values that are compared with the threshold, in grouped order."""
        by, loss = self._rule
        if loss == "no_answer":
            if by == "target":
                return queries.repeat(-np.expm1(queries.sum(np.log1p(-scores))))
            return queries.repeat(queries.max(scores))
        return -depths(scores, queries) if by == "depth" else scores

    def _values_of(self, rows: Rows, scores: Floats) -> Floats:
        """Return the values that are compared with the threshold, in row order."""
        return rows.queries.ungroup(self._values(rows.queries.group(scores), rows.queries))

    def _thresholds(self, groups: Any, queries: Queries) -> Any:
        """Return the threshold, or with groups that of each row."""
        thresholds = self.threshold_
        if not isinstance(thresholds, dict):
            if groups is not None:
                raise ValueError("groups must be None, because fit had none: leave them out.")
            return thresholds
        known = ", ".join(map(repr, thresholds))
        if groups is None:
            raise ValueError(f"groups must be one of {known} for each row, as in fit, got None.")
        names, codes = _categories(groups, queries)
        unknown = [name for name in names if name not in thresholds]
        if unknown:
            raise ValueError(f"groups must be among those of fit, {known}, got {unknown[0]!r}.")
        return np.array([thresholds[name] for name in names])[codes]

    def _rows_of_queries(self, X: Any, qid: Any, method: str, groups: Any = None) -> Rows:
        """Validate rows for a method that reads the queries, if the rule does."""
        refuse_lazy(type(self).__name__, _LAZY.format(method), X=X, qid=qid)
        check_is_fitted(self)
        check.row_order(X=X, qid=qid, groups=groups)
        if self._rule[0] != "score" or self._rule[1] == "no_answer":
            self._require_qid(qid, method)
        return self._check_rows(X, qid, method)

    def cutoff_values(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the values that are compared with `threshold_`.

        Parameters
        ----------
        X, qid
            As in :meth:`predict_set`.

        Returns
        -------
        values : ndarray of shape (n_rows,)
            The expected mass, for ``by="target"``; the score; minus the number of documents from
            the top, for ``by="depth"``. For ``loss="no_answer"`` the value of the query: the
            probability that something is relevant, were documents independent, or the highest
            score.
        """
        if tables.is_empty(X):
            return self._of_no_rows(X, qid)
        rows = self._rows_of_queries(X, qid, "cutoff_values")
        return self._values_of(rows, self._scores(rows))

    def predict_set(
        self, X: Matrix, qid: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Any:
        """Return which documents are kept.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Documents of whole queries.
        qid : array-like of shape (n_rows,) or scalar, default=None
            Query of each row; a scalar means that all rows are one query.
        groups : array-like of shape (n_rows,), default=None
            Categories of the queries, if :meth:`fit` had some.

        Returns
        -------
        kept : ndarray of bool of shape (n_rows,)
            Documents whose values are at least the threshold: a top part of each list, with
            documents of equal value kept or cut together. For a pandas DataFrame the result is a
            Series named "kept" with the same index.

        Raises
        ------
        MissingQidError
            If the queries matter, fit had a qid, and there is none.
        ValueError
            If a group is unknown.
        """
        return tables.with_index_of(X, self._cut(X, qid, "predict_set", groups)[0], "kept")

    def rank(self, X: Matrix, qid: ArrayLike | None = None, groups: ArrayLike | None = None) -> Any:
        """Return positions in lists that are cut.

        Parameters
        ----------
        X, qid, groups
            As in :meth:`predict_set`.

        Returns
        -------
        positions : ndarray of int of shape (n_rows,)
            1-based position of each document that is kept, and 0 for the others. For a pandas
            DataFrame the result is a Series named "rank" with the same index.
        """
        places, _ = self._cut_places(X, qid, "rank", groups)
        return tables.with_index_of(X, places, "rank")

    def top_k(
        self,
        X: Matrix,
        qid: ArrayLike | None = None,
        k: int | None = 10,
        groups: ArrayLike | None = None,
    ) -> Any:
        """Return the best documents of each query that are kept, best first.

        Parameters
        ----------
        X, qid, groups
            As in :meth:`predict_set`.
        k : int, default=10
            Largest number of documents to return per query; None means all that are kept.

        Returns
        -------
        rows : ndarray of int of shape (n_found,)
            Row numbers, one query after the other in order of first appearance, or labels, as in
            :meth:`NDCGRanker.top_k`.
        """
        check.cutoff(k)
        place, queries = self._cut_places(X, qid, "top_k", groups)
        best = np.lexsort((place, queries.codes))
        best = best[(place[best] > 0) & (place[best] <= (np.inf if k is None else k))]
        return tables.as_labels(X, best)

    def _cut(self, X: Any, qid: Any, method: str, groups: Any) -> tuple[Any, Floats, Queries]:
        """Return which documents are kept, and the scores and queries of all of them."""
        if tables.is_empty(X):
            none = self._of_no_rows(X, qid)
            return none > 0, none, Queries.equal(0, 1)
        rows = self._rows_of_queries(X, qid, method, groups)
        scores = self._scores(rows)
        kept = self._values_of(rows, scores) >= self._thresholds(groups, rows.queries)
        return kept, scores, rows.queries

    def _cut_places(self, X: Any, qid: Any, method: str, groups: Any) -> tuple[Ints, Queries]:
        """Return the positions of documents, 0 for those that are cut, and their queries."""
        kept, scores, queries = self._cut(X, qid, method, groups)
        places = queries.ungroup(positions(queries.group(scores), queries))
        return np.where(kept, places, 0), queries


def _categories(groups: Any, queries: Queries) -> tuple[list[Any], Ints]:
    """Return the names of categories, and the number of that of each row."""
    categories = Queries.from_qid(check_qid(groups, queries.n_rows, "groups"))
    codes = queries.group(categories.codes)
    mixed = np.flatnonzero(queries.max(codes) + queries.max(-codes))
    if len(mixed):
        raise ValueError(
            f"groups must be the same for all rows of a query, got several in query "
            f"{queries.name(int(mixed[0]))!r}."
        )
    return [categories.name(number) for number in range(categories.n_queries)], categories.codes
