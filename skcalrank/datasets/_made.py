"""Made data whose conditional distribution, and so Bayes value, is known exactly."""

from typing import Any, cast

import numpy as np
from sklearn.utils import check_random_state

from ..columns.types import Array, ArrayLike, Floats, Ints, Seed
from ..data import Queries, check
from ..measures import Measure, get_measure
from ..metrics import measure_score
from ..preds import feedback_arc_positions, sort_positions
from ._container import LabelRankingData, RankingData


class LabelMixture:
    """Conditional distribution of the labels: one of a few label vectors per query.

    Every query is asked with one of ``n_intents`` intents, drawn independently with the
    same probabilities; the intent decides all its labels. The labels of a query are
    therefore dependent, and every expectation is a finite sum.

    Parameters
    ----------
    labels : ndarray of shape (n_intents, n_rows)
        Labels under each intent.
    probabilities : ndarray of shape (n_intents,)
        Probability of each intent.
    qid : ndarray of shape (n_rows,)
        Query of each row.

    Examples
    --------
    >>> from skcalrank.datasets import make_subset_ranking
    >>> X, y, qid = data = make_subset_ranking(n_queries=50, random_state=0)
    >>> best = data.law.bayes_value("dcg@5")
    >>> bool(best >= data.law.value("dcg@5", X[:, 0]))
    True
    """

    def __init__(self, labels: Array, probabilities: Floats, qid: Array) -> None:
        self.labels = labels
        self.probabilities = probabilities
        self.qid = qid

    def expected_targets(self, measure: str | Measure) -> Floats:
        """Return the mean targets of a measure, to which its least-squares surrogate converges.

        Parameters
        ----------
        measure : str or Measure
            A measure with a score surrogate.

        Returns
        -------
        targets : ndarray of shape (n_rows,)
        """
        # All intents have one scale, although their largest labels differ.
        measure = get_measure(measure).scaled_to(self.labels)
        queries = Queries.from_qid(self.qid)
        grouped = (measure.labels(queries.group(labels)) for labels in self.labels)
        targets = np.array([measure.score_targets(labels, queries) for labels in grouped])
        return queries.ungroup(self.probabilities @ targets)

    def value(self, measure: str | Measure, y_score: ArrayLike, *, ties: str = "average") -> float:
        """Return the expected value of the measure for given scores.

        Queries count as they do in the metric with ``empty="zero"``, so that the mean
        is over the same queries whatever their labels.

        Parameters
        ----------
        measure : str or Measure
        y_score : array-like of shape (n_rows,)
        ties : str, default="average"
            As in :func:`skcalrank.metrics.measure_score`.
        """
        measure = get_measure(measure).scaled_to(self.labels)
        options: Any = {"qid": self.qid, "ties": ties, "empty": "zero"}
        values = [measure_score(measure, labels, y_score, **options) for labels in self.labels]
        return float(self.probabilities @ values)

    def bayes_value(self, measure: str | Measure) -> float:
        """Return the best expected value that any ranking of the documents can have.

        Parameters
        ----------
        measure : str or PositionalMeasure
            Sorting by the expected targets is best for a positional measure; for other
            measures finding the best ranking is a hard problem.
        """
        measure = get_measure(measure)
        if measure.shape != "documents":
            raise ValueError(
                f"{measure.name} is not positional: no sort is best for it, and its Bayes "
                "value has no closed form."
            )
        return self.value(measure, self.expected_targets(measure))


def make_subset_ranking(
    n_queries: int = 100,
    n_documents: int | tuple[int, int] = 10,
    n_features: int = 10,
    *,
    n_types: int = 8,
    n_intents: int = 3,
    n_grades: int = 3,
    random_state: Seed = None,
) -> RankingData:
    """Make queries of documents with dependent relevances of known conditional distribution.

    A document has one of ``n_types`` types, which determines its features.
    A query has one of ``n_intents`` intents, which determines the label of each type. With
    ``n_features >= n_types`` every function of the document is linear in X, so a linear
    ranker can reach the Bayes value of measures whose targets depend on the document
    alone (precision, DCG, ERU).

    Parameters
    ----------
    n_queries : int, default=100
    n_documents : int or (int, int), default=10
        Number of documents of each query, or the range (both ends included) it is drawn from.
    n_features : int, default=10
    n_types : int, default=8
    n_intents : int, default=3
    n_grades : int, default=3
        Labels are 0, ..., n_grades - 1; 2 makes them binary.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : RankingData
        Unpacks to ``X, y, qid``; ``data.law`` is the :class:`LabelMixture`.

    Raises
    ------
    ValueError
        If a number is too small to make a ranking problem.

    Examples
    --------
    >>> from skcalrank import DCGRanker
    >>> from skcalrank.datasets import make_subset_ranking
    >>> X, y, qid = data = make_subset_ranking(n_queries=10_000, random_state=0)
    >>> scores = DCGRanker(alpha=1.0).fit(X, y, qid).predict(X)
    >>> bool(data.law.bayes_value("dcg@5") - data.law.value("dcg@5", scores) < 0.01)
    True
    """
    check_counts(n_queries=n_queries, n_features=n_features, n_types=n_types, n_intents=n_intents)
    check.count("n_grades", n_grades, least=2)
    rng = check_random_state(random_state)
    features = rng.normal(size=(n_types, n_features))
    grades = rng.randint(n_grades, size=(n_intents, n_types))
    probabilities = rng.dirichlet(np.full(n_intents, 2.0))
    qid = np.repeat(np.arange(n_queries), made_sizes(n_queries, n_documents, rng))
    types = rng.randint(n_types, size=len(qid))
    intents = rng.choice(n_intents, size=n_queries, p=probabilities)
    labels = grades[:, types]
    return RankingData(
        features[types],
        labels[intents[qid], np.arange(len(qid))],
        qid,
        description="Queries of documents with dependent relevances of known distribution.",
        law=LabelMixture(labels, probabilities, qid),
    )


def check_counts(**counts: int) -> None:
    """Raise unless numbers of what is to be made are integers >= 1."""
    for name, value in counts.items():
        check.count(name, value)


def made_sizes(n_queries: int, n_documents: Any, rng: Any) -> Ints:
    """Return numbers of documents of queries; raise ValueError if there is no such range."""
    bounds = (n_documents, n_documents) if np.ndim(n_documents) == 0 else tuple(n_documents)
    integers = all(isinstance(bound, (int, np.integer)) for bound in bounds)
    if not integers or len(bounds) != 2 or not 1 <= bounds[0] <= bounds[1]:
        raise ValueError(
            "n_documents must be an integer >= 1, or a pair of them in increasing order, got "
            f"{n_documents!r}."
        )
    low, high = bounds
    return rng.randint(low, high + 1, size=n_queries)


class OrderMixture:
    """Conditional distribution of the orders: one of a few orders per type.

    Every instance has a type, which determines its features, and shows one of the orders of
    the type. Every expectation is a finite sum.

    Parameters
    ----------
    orders : ndarray of shape (n_types, n_orders, r)
        Positions, counted from 1, under each order of a type.
    probabilities : ndarray of shape (n_types, n_orders)
        Probabilities of the orders of each type.
    types : ndarray of int of shape (n,)
        Type of each instance.

    Examples
    --------
    >>> from skcalrank.datasets import make_label_ranking
    >>> X, positions = data = make_label_ranking(n_items=3, cyclic=True, random_state=0)
    >>> data.law.expected_preferences().shape
    (100, 3, 3)
    >>> by_borda = -data.law.expected_positions()
    >>> data.law.value("kendall", by_borda) < data.law.bayes_value("kendall")
    True
    >>> data.law.value("spearman", by_borda) == data.law.bayes_value("spearman")
    True
    """

    def __init__(self, orders: Array, probabilities: Floats, types: Ints) -> None:
        self.orders = orders
        self.probabilities = probabilities
        self.types = types

    def expected_preferences(self) -> Floats:
        """Return the probability that item i is before item j, the mean of the unit preferences.

        Returns
        -------
        preferences : ndarray of shape (n, r, r)
            ``E[Y_ij | x]`` of ``PreferenceTarget.from_orders(positions)``; the diagonal is 0.
        """
        before = self.orders[..., :, None] < self.orders[..., None, :]
        return np.einsum("tk,tkij->tij", self.probabilities, before)[self.types]

    def expected_positions(self) -> Floats:
        """Return the mean position of each item, to which a regression of positions converges.

        Returns
        -------
        positions : ndarray of shape (n, r)
            Sorting by mean positions, as Borda does, is best for Spearman's rho.
        """
        return np.einsum("tk,tkr->tr", self.probabilities, self.orders)[self.types]

    def value(self, measure: str | Measure, y_score: ArrayLike, *, ties: str = "average") -> float:
        """Return the expected value of the measure, with ``-positions`` as relevances.

        Parameters
        ----------
        measure : str or Measure
            ``"kendall"``, ``"spearman"``, or ``PairwiseDisagreement(weights="unit")``: minus
            the expected number of pairs in the wrong order.
        y_score : array-like of shape (n, r)
            Scores: higher is better; the scores of positions are ``-positions``.
        ties : str, default="average"
            As in :func:`skcalrank.metrics.measure_score`.
        """
        options: Any = {"ties": ties, "empty": "zero", "average": False}
        labels = (-orders[self.types] for orders in self.orders.swapaxes(0, 1))
        values = [measure_score(measure, y, y_score, **options) for y in labels]
        return float(np.mean(np.sum(self.probabilities[self.types].T * values, axis=0)))

    def bayes_positions(self, measure: str | Measure = "kendall") -> Ints:
        """Return the positions of the best expected value for every instance, of shape (n, r).

        Parameters
        ----------
        measure : str or Measure, default="kendall"
            Kendall's tau or pairwise disagreement, by the exact feedback arc set of the
            expected preferences; or a positional measure such as ``"spearman"``, by sorting
            the expected targets.

        Raises
        ------
        ValueError
            For other measures.
        """
        measure = cast(Any, get_measure(measure))
        if measure.objective == "disagreement":
            targets = self._mean(measure.pair_targets(-self.orders.astype(float)))
            best = [feedback_arc_positions(u, time_limit=None).positions for u in targets]
        elif measure.shape == "documents":
            queries = Queries.equal(self.probabilities.size, self.orders.shape[2])
            labels = measure.labels(-self.orders.astype(float).ravel())
            targets = self._mean(measure.score_targets(labels, queries).reshape(self.orders.shape))
            best = [sort_positions(u) for u in targets]
        else:
            raise ValueError(
                f"{measure.name}: the best positions are known for kendall, pairwise "
                "disagreement and positional measures such as spearman."
            )
        return np.array(best)[self.types]

    def _mean(self, values: Floats) -> Floats:
        """Return the mean over the orders of each type."""
        weights = self.probabilities.reshape(*self.probabilities.shape, *[1] * (values.ndim - 2))
        return (weights * values).sum(axis=1)

    def bayes_value(self, measure: str | Measure = "kendall") -> float:
        """Return the best expected value that any positions can have.

        Parameters
        ----------
        measure : str or Measure, default="kendall"
            As in :meth:`bayes_positions`.
        """
        return self.value(measure, -self.bayes_positions(measure))


def make_label_ranking(
    n_samples: int = 100,
    n_items: int = 5,
    n_features: int = 10,
    *,
    n_types: int = 8,
    n_orders: int = 3,
    cyclic: bool = False,
    random_state: Seed = None,
) -> LabelRankingData:
    """Make instances that order the same items, by a known conditional distribution.

    An instance has one of ``n_types`` types, which determines its features: with
    ``n_features >= n_types`` every function of the type is linear in X, so that a linear
    regression can reach the expected targets of every surrogate. A type has ``n_orders`` orders
    with probabilities, of which the instance shows one.

    Without ``cyclic`` one order of each type has a probability above 1/2. The majorities agree
    with it in every pair, so that they have no cycle and Algorithm 1 finds the best order.

    With ``cyclic`` the items of a type are put in triples, one behind the other; in each
    triple the three orders are ``a b c``, ``b c a`` and ``c a b`` (Condorcet), with
    probabilities p > q > 1/3 and the rest. A majority each puts a before b, b before c, and c
    before a. The best order for Kendall's tau is ``a b c``, while the mean positions, and with
    them every regression of a score such as Borda's, put b before a: by q > 1/3. The
    ``n_items % 3`` items that are left over are last, always in the same order.

    Parameters
    ----------
    n_samples : int, default=100
    n_items : int, default=5
        At least 2, or 3 with ``cyclic``.
    n_features : int, default=10
    n_types : int, default=8
    n_orders : int, default=3
        Number of orders of a type; 3 with ``cyclic``.
    cyclic : bool, default=False
        Whether the majorities of every type have a cycle.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    data : LabelRankingData
        Unpacks to ``X, positions``, of shapes (n_samples, n_features) and
        (n_samples, n_items); ``data.law`` is the :class:`OrderMixture`.

    Raises
    ------
    ValueError
        If a number is too small to make a ranking problem, or ``n_orders`` does not fit.

    Examples
    --------
    >>> from skcalrank import PairwiseDisagreementRanker, PreferenceTarget, SpearmanRanker
    >>> from skcalrank.datasets import make_label_ranking
    >>> X, positions = data = make_label_ranking(2000, 6, n_types=2, cyclic=True, random_state=0)
    >>> pairs = PairwiseDisagreementRanker(surrogate="pairwise", pred="exact")
    >>> pairs = pairs.fit(X, PreferenceTarget.from_orders(positions))
    >>> scores = SpearmanRanker().fit(X, -positions)
    >>> best = data.law.bayes_value("kendall")
    >>> bool(best - data.law.value("kendall", pairs.predict(X)) < 0.001)
    True
    >>> bool(best - data.law.value("kendall", scores.predict(X)) > 0.05)
    True
    """
    check_counts(n_samples=n_samples, n_features=n_features, n_types=n_types, n_orders=n_orders)
    check.count("n_items", n_items, least=3 if cyclic else 2)
    if cyclic and n_orders != 3:
        raise ValueError(f"n_orders={n_orders}: with cyclic=True every type has 3 orders.")
    rng = check_random_state(random_state)
    features = rng.normal(size=(n_types, n_features))
    make = _cyclic_orders if cyclic else _majority_orders
    orders, probabilities = make(rng, n_types, n_orders, n_items)
    types = rng.randint(n_types, size=n_samples)
    above = np.cumsum(probabilities, axis=1)[types, :-1]
    return LabelRankingData(
        features[types],
        orders[types, (rng.uniform(size=(n_samples, 1)) >= above).sum(axis=1)].astype(float),
        item_names=[f"item {i}" for i in range(n_items)],
        feature_names=[f"feature {i}" for i in range(n_features)],
        description="Instances that order the same items, by a known conditional distribution.",
        law=OrderMixture(orders, probabilities, types),
    )


def _majority_orders(
    rng: np.random.RandomState, n_types: int, n_orders: int, n_items: int
) -> tuple[Ints, Floats]:
    """Draw orders, of which the first of each type has a probability above 1/2."""
    probabilities = 0.5 * rng.dirichlet(np.ones(n_orders), size=n_types)
    probabilities[:, 0] += 0.5
    return 1 + np.argsort(rng.uniform(size=(n_types, n_orders, n_items)), axis=-1), probabilities


def _cyclic_orders(
    rng: np.random.RandomState, n_types: int, n_orders: int, n_items: int
) -> tuple[Ints, Floats]:
    """Draw rotations within triples, the first order of which is the most probable one."""
    start = np.arange(n_items)
    place = np.tile(start, (n_orders, 1))
    whole = n_items - n_items % 3
    for k in range(n_orders):
        place[k, :whole] = start[:whole] // 3 * 3 + (start[:whole] - k) % 3
    items = np.argsort(rng.uniform(size=(n_types, n_items)), axis=-1)
    second = rng.uniform(0.36, 0.38, size=n_types)
    first = second + rng.uniform(0.07, 0.10, size=n_types)
    # place[k, s] is the place of the item of slot s in order k.
    return 1 + place[:, items].swapaxes(0, 1), np.column_stack([first, second, 1 - first - second])
