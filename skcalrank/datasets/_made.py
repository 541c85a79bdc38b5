"""Made data whose conditional distribution, and so Bayes value, is known exactly."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from ..columns.types import Array, ArrayLike, Floats, Ints, Seed
from ..data import Queries, check
from ..measures import Measure, get_measure
from ..metrics import measure_score
from ._container import RankingData


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
        measure = get_measure(measure)
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
        # All intents have one scale, although their largest labels differ.
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
    sizes = {"n_queries": n_queries, "n_features": n_features, "n_types": n_types}
    check_counts(**sizes, n_intents=n_intents)
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
