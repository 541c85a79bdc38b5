"""Made tables on which what orders documents well is not affine in the grades."""

import numpy as np


def interacting_table(*, noise=0.3, effect=0.0):
    """Features, grades and queries: two features interact, one acts by its absolute value.

    With an `effect`, the level of each query is a column, and that times the effect is in the
    grades.
    """
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(600), 30)
    X = rng.standard_normal((len(qid), 4))
    value = 0.8 * X[:, 0] + 0.6 * X[:, 1] * X[:, 2] + 0.6 * abs(X[:, 3])
    value += noise * rng.standard_normal(len(qid))
    if effect:
        level = rng.standard_normal(600)[qid]
        X, value = np.column_stack([X, level]), value + effect * level
    return X, np.digitize(value, np.quantile(value, [0.5, 0.75, 0.9, 0.97])), qid
