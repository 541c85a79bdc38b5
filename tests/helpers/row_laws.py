"""Label distributions of queries that share rows, for regressors of single rows."""

from itertools import product

import numpy as np

from skcalrank.calibration import LabelDistribution, reinforce_condition


class RowLaw:
    """Documents of a few kinds, with independent labels distributed by kind.

    Parameters
    ----------
    laws : array-like of shape (n_kinds, n_grades)
        Probabilities of the grades 0, 1, ... of each kind.
    queries : list of list of int
        Kinds of the documents of each query.
    shares : list of float
        Probabilities of the queries.
    """

    def __init__(self, laws, queries, shares):
        self.laws, self.shares = np.asarray(laws), np.asarray(shares)
        self.queries = [np.asarray(kinds) for kinds in queries]

    @classmethod
    def binary(cls, chances, queries, shares):
        chances = np.asarray(chances)
        return cls(np.stack([1 - chances, chances], axis=1), queries, shares)

    def outcomes(self, kinds):
        """Labels of a query with documents of these kinds, and their probabilities."""
        grades = range(self.laws.shape[1])
        found = [
            (labels, np.prod(self.laws[kinds, labels]))
            for labels in product(grades, repeat=len(kinds))
        ]
        labels, chance = zip(*[(labels, p) for labels, p in found if p > 0])
        return np.array(labels, dtype=float), np.array(chance)

    def population(self):
        """Rows of all outcomes, each kind one-hot, their labels, queries and weights."""
        rows, y, weight = [], [], []
        for kinds, share in zip(self.queries, self.shares):
            labels, chance = self.outcomes(kinds)
            rows += [kinds] * len(labels)
            y += list(labels)
            weight += list(share * chance)
        sizes = [len(kinds) for kinds in rows]
        X = np.eye(len(self.laws))[np.concatenate(rows)]
        qid = np.repeat(np.arange(len(rows)), sizes)
        return X, np.concatenate(y), qid, np.repeat(weight, sizes) / min(weight)

    def rows(self):
        """Rows of every query once, and their queries."""
        sizes = [len(kinds) for kinds in self.queries]
        X = np.eye(len(self.laws))[np.concatenate(self.queries)]
        return X, np.repeat(np.arange(len(sizes)), sizes)

    def regret(self, measure, scores):
        """Mean regret of scores of :meth:`rows`, by enumeration of outcomes and orders."""
        parts = np.split(scores, np.cumsum([len(kinds) for kinds in self.queries])[:-1])
        return sum(
            share * LabelDistribution(*self.outcomes(kinds)).target_regret(measure, part)
            for kinds, share, part in zip(self.queries, self.shares, parts)
        )


#: Relevances are independent, and their chances are a function of the row.
FOUR_KINDS = RowLaw.binary(
    [0.9, 0.5, 1.0, 0.0], [[0, 2, 2, 2], [1, 3, 3, 3], [0, 1, 3, 3]], [0.4, 0.4, 0.2]
)


def law_of(measure, size, rng):
    """A label distribution for which a theorem says that sorting by the mean targets is optimal."""
    n_grades = 2 if measure.is_binary else 3
    if measure.calibration == "independence":
        laws = rng.dirichlet(np.ones(n_grades), size=size)
        return LabelDistribution(*RowLaw(laws, [], []).outcomes(np.arange(size)))
    while True:
        labels = rng.integers(0, n_grades, size=(4, size)).astype(float)
        law = LabelDistribution(labels, rng.dirichlet(np.ones(4)))
        if measure.calibration != "reinforce":
            return law
        pairs = law.expected_targets(measure, pairs=True)
        if reinforce_condition(pairs + np.tril(pairs, -1).T):
            return law
