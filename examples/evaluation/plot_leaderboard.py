"""
A leaderboard of votes
======================

Which ranks do votes allow? Scores with intervals, and the sets of ranks in the margin.

Eight models, votes of 300 users, a fifth of them ties. Users like longer answers, and some models
write them: :func:`~skcalrank.leaderboard` compares the models at equal length.
"""

# %%
# Votes: who met whom, the outcome, how much longer the first answer was, and who voted.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skcalrank import leaderboard

rng = np.random.default_rng(0)
names = np.array(["Ada", "Bea", "Cat", "Dot", "Eve", "Fay", "Gil", "Hal"])
strength = np.array([0.9, 0.8, 0.75, 0.3, 0.25, 0.0, -0.1, -0.6])
wordy = np.array([0, 0, 0, 0, 0, 1, 0, 1])
a, b = rng.permuted(np.tile(np.arange(8), (6000, 1)), axis=1)[:, :2].T
longer = wordy[a] - wordy[b] + 0.5 * rng.normal(size=6000)
user = rng.integers(0, 300, 6000)
taste = 0.5 * rng.normal(size=(300, 8))
eta = strength[a] - strength[b] + taste[user, a] - taste[user, b] + 0.8 * longer
won = np.where(rng.random(6000) < 0.2, 0.5, rng.random(6000) < 1 / (1 + np.exp(-eta)))
votes = pd.DataFrame(
    {"model_a": names[a], "model_b": names[b], "winner": won, "longer": longer, "user": user}
)

# %%
# Without the length, Fay and Hal are too high. "2 to 3" means that the votes do not tell a model
# from the others of these ranks; all sets hold at once with a probability of .95.

fig, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, covariates in zip(axes, ([], ["longer"])):
    board = leaderboard(votes, covariates=covariates, cluster="user")
    board.plot(ax=ax, name="at equal length" if covariates else "as they are")
plt.show()

# %%
# The table of the second board, and one difference. The intervals of Ada and Bea overlap, which
# does not say whether they differ: the interval of their difference does.

print(board.to_markdown())
gap = board.difference("Ada", "Bea")
print(f"Ada - Bea: {gap.difference:.2f} [{gap.low:.2f}, {gap.high:.2f}], p = {gap.p:.3f}")
