"""
Position bias that is weaker or stronger than assumed
=====================================================

Where the curves of two rankings cross, the clicks alone cannot tell which one is better.

An offline estimate from clicks trusts the propensities: the probability that a position is seen.
With propensities raised to a power, the same log is evaluated for weaker (below 1) and stronger
(above 1) position bias.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from skcalrank import sample_sessions
from skcalrank.evaluation import offline_evaluate

rng = np.random.default_rng(0)
qid = np.repeat(np.arange(500), 12)
X = rng.normal(size=(len(qid), 2))
theta = 1 / np.arange(1.0, 9)
log = sample_sessions(
    expit(X @ [0.7, 0.5] - 1.0),
    qid,
    n_sessions=20_000,
    n_shown=8,
    order_scores=0.3 * X[:, 0] + X[:, 1],
    model="position",
    propensity=theta,
    random_state=0,
)

# %%
# The candidate orders mostly by the first feature, the logged lists by the second.

exponents = [0.25, 0.5, 0.75, 1, 1.25]
scores = X @ [1.0, -0.3]
result = offline_evaluate(
    scores, log, "dcg@3", propensity=theta, exponents=exponents, max_unseen=0.3
).sensitivity
fig, ax = plt.subplots(layout="constrained")
ax.plot(result.exponent, result.value, marker="o", label="candidate")
ax.fill_between(result.exponent, result.low, result.high, alpha=0.2)
ax.plot(result.exponent, result.shown, "--", color="gray", label="as shown")
ax.set(xlabel="exponent of the propensities", ylabel="estimated DCG@3")
ax.set_title("DCG@3 by clicks, for weaker and stronger position bias")
ax.legend()
plt.show()
print(result)

# %%
# If position bias is as assumed, the candidate is better. With an exponent of a half the logged
# lists are. If both are possible, only an experiment can tell.
