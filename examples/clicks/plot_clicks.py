"""
Learning from clicks
====================

A ranker that learns from clicks, and not the positions at which documents were shown.

Users read a ranking from the top, so the share of clicks of a document depends on its position as
much as on its relevance. The cascade model of clicks separates the two, and a ranker can be trained
on the result.
"""

# %%
# Sessions
# --------
# 200 queries of 12 documents. A document satisfies a user with a probability that depends on its
# features, and is unknown. The production system orders documents mostly by a feature that is
# unrelated to it, shows eight, and its users click the first document that satisfies them.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from skcalrank import AggregatedRanker, DCGRanker, ERRRanker, sample_sessions
from skcalrank.aggregation import cascade
from skcalrank.evaluation import offline_evaluate


def make(n_queries, seed, n_documents=12):
    """Features, query, and the probability that each document satisfies."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), n_documents)
    X = rng.normal(size=(len(qid), 6))
    return X, qid, expit(X @ [0.9, -0.6, 0.4, 0, 0, 0] - 1.0)


def use(p, X, qid, n_sessions, seed=0, **users):
    """Sessions of the production system, whose scores follow the fifth feature."""
    production = 1.5 * X[:, 4] + 0.3 * X[:, 0]
    return sample_sessions(
        p,
        qid,
        n_sessions=n_sessions,
        n_shown=8,
        order_scores=production,
        random_state=seed,
        **users,
    )


X, qid, p = make(200, seed=0)
clicks = use(p, X, qid, 100_000)
print(clicks)

# %%
# Two estimates
# -------------
# Clicks over impressions; and clicks over *examinations*, the maximum likelihood of the cascade
# model: documents below a click were not seen.


def click_rate(clicks):
    """Clicks over impressions, 0 where there are none."""
    shown = np.bincount(clicks.shown_rows, minlength=len(clicks))
    clicked, _ = clicks.counts()
    return np.divide(clicked, shown, out=np.zeros(len(shown)), where=shown > 0), shown


naive, shown = click_rate(clicks)
found = cascade(clicks)
often = (found.examinations >= 100) & (shown >= 100)
position = np.bincount(clicks.shown_rows, clicks.position, minlength=len(clicks))
mean_position = position / np.maximum(shown, 1)

fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.3), sharey=True, layout="constrained")
for ax, (name, estimate) in zip(
    axes, {"clicks / impressions": naive, "cascade model": found.probability}.items()
):
    points = ax.scatter(p[often], estimate[often], c=mean_position[often], s=8, cmap="viridis")
    ax.plot([0, 0.9], [0, 0.9], color="0.4", linewidth=1)
    ax.set(title=name, xlabel="probability that the document satisfies")
    ratio = estimate[often].sum() / p[often].sum()
    error = np.abs(estimate - p)[often].mean()
    print(f"{name:20} sum over the truth's {ratio:.2f}, mean absolute error {error:.3f}")
axes[0].set_ylabel("estimate")
fig.colorbar(points, ax=axes, label="mean position shown")
plt.show()

# %%
# The share of clicks is always too low, and lower for documents that were shown further down. The
# cascade estimate scatters around the diagonal wherever documents were examined often.
#
# Rankers
# -------
# The same linear ranker is trained on either estimate: with a linear gain, the targets of ``DCG``
# are the estimates themselves. :class:`~skcalrank.ERRRanker` takes the sessions and does the
# second. The rankers are evaluated on other queries by the expected reciprocal rank, with the true
# probabilities.

X_test, q_test, p_test = make(500, seed=1)


def expected_reciprocal_rank(scores, n_documents=12):
    """Mean of 1 / the position where a cascade user stops."""
    order = np.argsort(-scores.reshape(-1, n_documents), axis=1)
    stop = np.take_along_axis(p_test.reshape(-1, n_documents), order, axis=1)
    going = np.cumprod(1 - stop, axis=1)
    reach = np.column_stack([np.ones(len(stop)), going[:, :-1]])
    return (reach * stop / np.arange(1, n_documents + 1)).sum(axis=1).mean()


best = expected_reciprocal_rank(p_test)
sizes = [300, 1000, 3000, 10_000, 30_000, 100_000]
learners = {
    "clicks / impressions": lambda c: DCGRanker(gain="linear").fit(X, click_rate(c)[0], qid),
    "ERRRanker, cascade model": lambda c: ERRRanker().fit(X, c),
}
regrets = {name: np.empty((len(sizes), 8)) for name in learners}
for row, n_sessions in enumerate(sizes):
    for seed in range(8):
        drawn = use(p, X, qid, n_sessions, seed=seed)
        for name, learn in learners.items():
            value = expected_reciprocal_rank(learn(drawn).predict(X_test))
            regrets[name][row, seed] = best - value

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for name, found in regrets.items():
    mean, error = found.mean(axis=1), found.std(axis=1, ddof=1) / np.sqrt(found.shape[1])
    ax.errorbar(sizes, mean, yerr=error, marker="o", capsize=3, label=name)
    print(f"{name:26}", *(f"{m:.4f}" for m in mean))
ax.set(xscale="log", yscale="log", xlabel="sessions", ylabel="regret of ERR")
ax.set_title("Regret of rankers that learn from clicks")
ax.legend()
ax.grid(alpha=0.3, which="both")
plt.show()

# %%
# The ranker trained on the share of clicks partly imitates the production system, and more sessions
# do not help. With the cascade model the regret keeps falling. These sessions were drawn by that
# model; for real users it is an approximation, as good as its assumption that users who click are
# satisfied, and then leave.
#
# Bias and variance
# -----------------
# Other users examine each position with a probability of its own, and click whatever is relevant.
# Naive clicks are biased. Clicks over expected examinations e are not, and vary widely for
# documents that were hardly examined; weights e / (e + 5), which do not depend on the clicks, cut
# this variance. The coefficients are compared with those learned from the true probabilities, all
# of length 1.

theta = 1 / np.arange(1.0, 9)
candidates = {
    name: AggregatedRanker(
        "position_based", structure_options={"propensity": propensity}, row_weight=m
    )
    for name, propensity, m in (
        ("naive", np.ones(8), 0),
        ("clicks / e", theta, 0),
        ("weight e / (e + 5)", theta, 5),
    )
}
truth = DCGRanker(gain="linear").fit(X, p, qid).coef_
truth /= np.linalg.norm(truth)
sizes = [300, 3000, 30_000]
errors = {name: [] for name in candidates}
for n_sessions in sizes:
    coefs = {name: [] for name in candidates}
    for seed in range(10):
        drawn = use(p, X, qid, n_sessions, seed=seed, model="position", propensity=theta)
        for name, candidate in candidates.items():
            coef = candidate.fit(X, drawn).coef_
            coefs[name].append(coef / np.linalg.norm(coef))
    for name, values in coefs.items():
        bias = np.linalg.norm(np.mean(values, axis=0) - truth)
        errors[name].append((bias, np.sqrt(np.var(values, axis=0).sum())))

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for name, values in errors.items():
    for ax, column, title in zip(axes, np.transpose(values), ("bias", "standard deviation")):
        ax.loglog(sizes, column, marker="o", label=name)
        ax.set(title=title, xlabel="sessions")
        ax.grid(alpha=0.3, which="both")
    print(f"{name:20}", *(f"{bias:.3f} ± {spread:.3f}" for bias, spread in values))
axes[0].legend()
plt.show()

# %%
# Before users see it
# -------------------
# Whether the new ranker is no worse than the logged lists is estimated from clicks on other queries
# (:doc:`/gallery/clicks/plot_position_bias` has other strengths of position bias).

ranker = candidates["weight e / (e + 5)"].fit(X, drawn)
log = use(p_test, X_test, q_test, 20_000, model="position", propensity=theta)
estimate = offline_evaluate(ranker.predict(X_test), log, "dcg@3", propensity=theta, max_unseen=0.1)
print("safe:", bool(estimate.safety))
