"""Published functions with categories and missing values, in queries of their own level.

The functions are those of Friedman (1991, Annals of Statistics 19) and Breiman (1996, Machine
Learning 24), as scikit-learn draws them. Here two of their inputs are seen as categories alone:
equal parts of the range, under names that do not tell of their order (one of 12 levels, one of 60,
so that some are rare). Of the other inputs a tenth is missing at random, and 4 columns that count
for nothing stand beside them. A query has 20 to 60 documents and moves the outcome by a level that
no column shows; the standard deviations of level and noise are 1 and .5 of that of the function.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from _sets_packages import Source, grades_within
from sklearn import datasets

__all__ = ["DRAWN"]

N_QUERIES = 280
N_LEVELS = (12, 60)
# The function of scikit-learn, and the inputs that become categories.
FUNCTIONS = {
    "friedman-1-categories": (datasets.make_friedman1, (2, 3)),
    "friedman-2-categories": (datasets.make_friedman2, (1, 2)),
    "friedman-3-categories": (datasets.make_friedman3, (0, 2)),
}


def _drawn(draw, inputs, seed):
    def read():
        rng = np.random.default_rng(seed)
        query = np.repeat(np.arange(N_QUERIES), rng.integers(20, 61, N_QUERIES))
        X, value = draw(len(query), random_state=seed)
        value = (value - value.mean()) / value.std()
        outcome = value + rng.normal(size=N_QUERIES)[query] + 0.5 * rng.normal(size=len(query))
        frame = pd.DataFrame(X).add_prefix("x").mask(rng.random(X.shape) < 0.1)
        for column, n_levels in zip(inputs, N_LEVELS):
            frame[f"x{column}"] = _named(X[:, column], n_levels, rng)
        for number in range(4):
            frame[f"noise{number}"] = rng.normal(size=len(query))
        return frame, grades_within(outcome, query), query

    return Source(f"scikit-learn: {draw.__name__}", "drawn", "a drawn level", read)


def _named(values, n_levels, rng):
    """Equal parts of the range, under shuffled names."""
    edges = np.linspace(values.min(), values.max(), n_levels + 1)[1:-1]
    names = np.array([f"level {number}" for number in rng.permutation(n_levels)])
    return pd.Categorical(names[np.digitize(values, edges)])


DRAWN = {
    name: _drawn(draw, inputs, seed)
    for seed, (name, (draw, inputs)) in enumerate(FUNCTIONS.items())
}
