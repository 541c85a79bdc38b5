r"""
Calibration functions, and levels of inconsistency
==================================================

The least regret of a loss that a regret of the measure can come with.

How little surrogate regret can come with a target regret of :math:`\varepsilon`, over all
distributions of the labels? This smallest amount is the calibration function (DMJ10, eq. 3; CUG13,
section 4). If it is positive, the surrogate is calibrated. If not, the surrogate has a level of
inconsistency: a target regret that is possible with no surrogate regret (Struminsky et al., 2018).
"""

# %%
# Average precision of three documents. Sorting by least squares on ``y / |y|`` is not calibrated,
# and its function is 0 up to a level of inconsistency (dotted). Least squares on pairs with the
# exact map is.

import matplotlib.pyplot as plt
import numpy as np

from skcalrank.calibration import calibration_function, inconsistency_level, regret_bound

eps = np.linspace(0.0, 0.25, 41)
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for surrogate, pred, name in (
    ("squared", "sort", "one score per document, sorted"),
    ("pairs", "exact", "pairs of documents, exact map"),
):
    ax.plot(eps, calibration_function(surrogate, pred, "map", 3, eps), label=name)
ax.axvline(inconsistency_level("squared", "sort", "map", 3), color="gray", linestyle=":")
ax.set(xlabel="target regret", ylabel="smallest surrogate regret")
ax.set_title("average precision, three documents")
ax.legend()
plt.show()

# %%
# The level is small, and grows with the number of documents; with ERR it is smaller still.

for measure in ("map", "err", "neg_pairwise_disagreement"):
    surrogate = "value_regularized" if "pairwise" in measure else "squared"
    levels = [inconsistency_level(surrogate, "sort", measure, r) for r in (3, 4)]
    print(f"{measure:26} {levels[0]:.4f} of 3 documents, {levels[1]:.4f} of 4")

# %%
# How sharp bounds are
# --------------------
# For positional measures the bound of CUG13 says that the surrogate regret is at least
# :math:`\varepsilon^2 / (c \, C_\phi(2))^2`. For least squares that is the calibration function
# itself: no bound that holds for all distributions is sharper.

eps = np.array([0.1, 0.2, 0.3])
for loss in ("squared", "pairwise_squared"):
    h = calibration_function(loss, "sort", "ndcg@2", 3, eps)
    bound = (eps / regret_bound("ndcg@2", loss, 1.0, r=3)) ** 2
    print(f"{loss:16} {h.round(4)}, from the bound {bound.round(4)}")

# %%
# For pairs with the exact map the bound has the diameter of the basis in place of both constants
# (Ciliberto et al., 2016; Osokin et al., 2017), and is the calibration function too:

h = calibration_function("pairs", "exact", "map", 3, eps)
bound = (eps / regret_bound("map", "squared", 1.0, r=3)) ** 2
print(f"pairs            {h.round(4)}, from the bound {bound.round(4)}")
