r"""Boosted trees with calibrated losses: a ranker, and objectives for LightGBM and XGBoost.

Both libraries boost any function that returns a gradient and the diagonal of a Hessian, one
number for each document. The objectives here are the order-preserving losses of
:mod:`skcalrank.losses` on the targets of a measure [CUG13]_: the better the trees minimize
them, the better their order is for the measure, under every distribution of the labels.

Which target
------------
The measure names the targets that are boosted: ``"ndcg@10"`` the gains over the largest
DCG@10 of the query, ``"precision"`` whether a document is relevant, ``"map"`` its share
among the relevant ones. The grades themselves are the targets of the measure ``"dcg"`` with
``gain="linear"``::

    lightgbm_objective("dcg", gain="linear")

Targets that divide by a number of the query weigh queries unequally, and vary with all labels
of the query, which no tree sees; with as many queries as there ever are, that is right for the
measure, and with few of them simpler targets often win. Try the grades, the gains
(``"dcg"``) and the targets of the measure on a validation part; early stopping on the measure
itself (:func:`lightgbm_metric`, :func:`xgboost_metric`) is worth having with each of them.

Which loss
----------
``"pairwise_logistic"``, the default, sees differences within a query only, so trees need not
learn how queries differ in level. A pairwise loss is a sum over pairs, in which a query of n
documents counts n ** 2: with ``query_weight="documents"`` it counts n, and with ``"equal"`` 1.
Weights that depend on the query and its documents, and not on the labels, keep a loss calibrated.
The table of objectives in ``benchmarks/quality_defaults.py`` has both: on five sets this loss is
level with lambdarank, best with queries weighed by documents where they are few and noisy, and
``"pairwise_squared"`` is behind where there is little noise.

Scores of ``"exponential"`` and ``"logistic"`` are logarithms of odds, on which features often add
up, as trees do, while mean targets run flat at both ends. On the made data of
``benchmarks/quality_boosting.py`` they needed fewer trees than the squared losses for the same
NDCG@10; it pays to try them. ``"pairwise_logistic"`` alone is not linear in the number of
documents of a query, and can double the time of a round.

Curvature
---------
Gradients are those of the loss. A leaf takes the value minus the sum of its gradients over the
sum of its curvatures, so where a loss is flat and still steep (a hinge beyond its corner, a
saturated logistic) the true second derivative would throw the scores far off. The curvatures
are therefore

* squared and pairwise squared: the diagonal of the Hessian;
* squared and differentiable hinge: their largest value at any score, ``2 * eta`` and
  ``eta / smoothing``, so that every step of a document decreases its loss;
* logistic, exponential and Bregman losses: the diagonal of the Hessian, and at least a quarter
  of the absolute gradient. Scores are logarithms of odds there, and no document asks
  for a step longer than 4, as in LogitBoost [FHT00]_. No leaf has a larger value then.

All are positive. A document on which the loss does not depend (one alone in its query under a
pairwise loss, or of weight 0) has gradient 0 and a curvature that counts for nothing.
The second derivatives of a pairwise loss off the diagonal are negative, and add up to the
diagonal at most: trees that know the diagonal alone never increase the pairwise squared loss,
with any learning rate up to 1.

Options of the libraries
------------------------
With an objective that is not its own, LightGBM trains on the wrong rows under
``bagging_by_query=True``: :func:`lightgbm_objective` refuses it where ``lightgbm.train`` shows it,
and ``LGBMRanker`` does not. Bagging of rows, GOSS and DART work.

As an estimator
---------------
:class:`~skcalrank.BoostedRanker` does all of this in one call: early stopping on the measure over
whole queries, qids of any type in any order, data frames with categories, and every tool of
scikit-learn, with either library or with the trees of scikit-learn itself. The functions here are
for those who train with the classes of the libraries.

``lightgbm.cv`` cuts queries apart when the objective is not its own: pass
``folds=QueryKFold(5).split(X, qid=qid)``. ``xgboost.cv`` keeps them in one piece, without folds.

References
----------
.. [CUG13] Calauzènes, Usunier, Gallinari: Calibration and Regret Bounds for Order-Preserving
   Surrogate Losses in Learning to Rank, Machine Learning 93, 2013.
.. [FHT00] Friedman, Hastie, Tibshirani: Additive Logistic Regression: a Statistical View of
   Boosting, Annals of Statistics 28, 2000 (section 4.3 on the bound of the steps).
"""

from __future__ import annotations

from ._data import group_sizes
from ._metrics import lightgbm_metric, xgboost_metric
from ._objectives import lightgbm_objective, xgboost_objective
from ._parts import held_out as held_out
from ._parts import part_of as part_of
from ._ranker import BoostedRanker
from ._ranker import fit_held_out as fit_held_out
from ._tree_parts import has_tree_parts as has_tree_parts
from ._tree_parts import tree_parts as tree_parts

__all__ = [
    "BoostedRanker",
    "group_sizes",
    "lightgbm_metric",
    "lightgbm_objective",
    "xgboost_metric",
    "xgboost_objective",
]
