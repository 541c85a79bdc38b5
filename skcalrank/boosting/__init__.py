r"""Boosted trees with calibrated losses: a ranker, and objectives for LightGBM and XGBoost.

Both libraries can boost any function that returns a gradient and the diagonal of a Hessian, one
number for each document. The objectives here are the order-preserving losses of
:mod:`skcalrank.losses` on the targets of a measure [CUG13]_: as their risk approaches its
minimum, the value of the measure approaches its maximum, under every distribution of the labels.

Which target
------------
The measure determines the targets that are boosted: for ``"ndcg@10"`` the gain divided by the
largest DCG@10 of the query, for ``"precision"`` 1 for a relevant document and 0 for others, for
``"map"`` the same divided by the number of relevant documents. The targets of the measure
``"dcg"`` with ``gain="linear"`` are the grades themselves::

    lightgbm_objective("dcg", gain="linear")

Targets that are divided by a number of the query weight queries unequally, and depend on all
labels of the query, which a tree does not see. With very many queries these are the right targets
for the measure; with few queries simpler targets often rank better. Compare the grades, the gains
(``"dcg"``) and the targets of the measure on validation queries. Early stopping on the measure
itself (:func:`lightgbm_metric`, :func:`xgboost_metric`) helps with each of them.

Which loss
----------
The default, ``"pairwise_logistic"``, depends only on differences of scores within a query, so the
trees need not learn how queries differ in level. A pairwise loss is a sum over pairs, so a query
of n documents has weight n ** 2; with ``query_weight="documents"`` it has weight n, with
``"equal"`` weight 1. A loss stays calibrated under weights that depend on the query and its
documents but not on the labels. The table of objectives in ``benchmarks/quality_defaults.py``
compares them on five data sets: ``"pairwise_logistic"`` is level with lambdarank, and
``query_weight="documents"`` is best where queries are few and noisy; ``"pairwise_squared"`` is
behind on synthetic data.

``"softmax"`` is the loss of lists of ListNet and of recommenders, on the targets of the measure. It
depends only on differences of scores, too, but costs as much as a loss of documents, and a query
counts by the sum of its targets.

Scores of ``"exponential"`` and ``"logistic"`` are log-odds. The effects of features often add up
on this scale, as trees assume, whereas mean targets flatten at both ends. On the synthetic data of
``benchmarks/quality_boosting.py`` these two losses needed fewer trees than the squared losses for
the same NDCG@10. ``"pairwise_logistic"`` is the only loss whose time grows faster than the number
of documents of a query; rounds take 1.2 times as long there.

Curvature
---------
Gradients are those of the loss. The value of a leaf is minus the sum of its gradients divided by
the sum of its curvatures, so where a loss has a slope but almost no curvature (a hinge beyond its
corner, a saturated logistic) the true second derivative would make steps far too long. The
curvatures are therefore

* squared and pairwise squared losses: the diagonal of the Hessian;
* squared and differentiable hinge: the largest second derivative at any score, ``2 * eta`` and
  ``eta / smoothing``, so that a step of one document always decreases its loss;
* logistic, exponential, Bregman and softmax losses: the diagonal of the Hessian, or a quarter of
  the absolute gradient where that is larger. Scores are log-odds, and the step of a document is at
  most 4 long, as in LogitBoost [FHT00]_, so the value of a leaf is at most 4 as well.

All curvatures are positive. A document on which the loss does not depend (the only one of its
query under a pairwise loss, or one of weight 0) has gradient 0 and the smallest curvature that
single precision holds, which has no effect. The second derivatives of a pairwise loss off the
diagonal are negative, and in absolute value sum to the diagonal at most: trees that use the
diagonal alone never increase the pairwise squared loss, with any learning rate up to 1.

Options of the libraries
------------------------
With a custom objective and ``bagging_by_query=True``, LightGBM trains on the wrong rows. The
objective raises an error when ``lightgbm.train`` is used; it cannot see the option when
``LGBMRanker`` is used. Bagging of rows, GOSS and DART work.

Several workers
---------------
On a cluster, the objective of each worker is called with the labels of its own rows. The scale of
some losses depends on the labels: ``eta`` of the losses that have one, and ``max_grade`` of the
measure ``"err"``. Workers with other scales would minimize other losses. ``freeze``, called with
the labels of all workers, returns the objective with their scales, so that the gradients are those
of one loss::

    objective = lightgbm_objective("err", "logistic").freeze(y, qid)
    DaskLGBMRanker(objective=objective).fit(dask_X, dask_y, group=sizes)

An objective that depends on the labels and is not frozen raises while LightGBM with several
machines or XGBoost with several workers trains, and while LightGBM trains in a task of Dask, as
``DaskLGBMRanker`` does: a task does not tell whether others have further rows. It also raises if
the labels of a later call make another scale than those of an earlier one, such as those of the
folds of ``xgboost.cv``. :func:`xgboost_metric` is the mean over the queries of all workers;
LightGBM evaluates on each worker the validation rows of this worker.

As an estimator
---------------
:class:`~skcalrank.BoostedRanker` does all of this in one call: early stopping on the measure over
whole queries, qids of any type in any order, data frames with categories, and all tools of
scikit-learn, with either library or with the trees of scikit-learn itself. Use the functions here
to train with the classes of the libraries.

``lightgbm.cv`` splits queries between folds when the objective is a custom one: pass
``folds=QueryKFold(5).split(X, qid=qid)``. ``xgboost.cv`` keeps queries whole without ``folds``.

References
----------
.. [CUG13] Calauzènes, Usunier, Gallinari: Calibration and Regret Bounds for Order-Preserving
   Surrogate Losses in Learning to Rank, Machine Learning 93, 2013.
.. [FHT00] Friedman, Hastie, Tibshirani: Additive Logistic Regression: a Statistical View of
   Boosting, Annals of Statistics 28, 2000 (section 4.3 on the bound of the steps).
"""

from ._estimators import adds_trees, scores_of, taken_by
from ._external import ExternalRanker, adapted, is_least_squares, tree_scores
from ._handed import group_sizes
from ._metrics import lightgbm_metric, xgboost_metric
from ._objectives import LightGBMObjective, XGBoostObjective, lightgbm_objective, xgboost_objective
from ._ranker import BoostedRanker, check_fit_part, fit_held_out
from ._reader import TableReader, encodes
from ._training import held_out, sums

__all__ = [
    "BoostedRanker",
    "ExternalRanker",
    "LightGBMObjective",
    "XGBoostObjective",
    "group_sizes",
    "lightgbm_metric",
    "lightgbm_objective",
    "xgboost_metric",
    "xgboost_objective",
]
