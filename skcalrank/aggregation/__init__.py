r"""Structures: functions that aggregate many partial judgments of a query into scores of documents.

Each function takes the judgments of one or more queries as a :class:`~skcalrank.PreferenceTarget`
(``cascade`` and ``position_based``: :class:`~skcalrank.ClickSessions`), and returns one score per
row, higher is better, or one matrix per query. Those of clicks return a named tuple, with the
scores in its first field.

A judgment is a set of preferences that were stated together, and a query has k of them. The
empirical probability :math:`\hat P(j \succ l)` is the weight with which j is preferred to l, summed
over the judgments and divided by k. With ``conditional=True`` it is divided by the weight with
which the pair is compared at all. A preference of weight 0 has no effect, but its judgment counts.
Documents that are not compared, or not connected by comparisons, never have infinite scores: each
function documents their scores, and a warning names queries with scores that are not meaningful.

:func:`kemeny` returns an order in place of scores, for votes about one set of candidates.
"""

from ._bradley_terry import bradley_terry
from ._click_structures import cascade, position_based
from ._click_structures import settled as settled
from ._counting import borda, log_odds, mean_adjacency, mean_log_odds, win_rate
from ._iterative import principal_eigenvector, thurstone_mosteller
from ._judgments import judgments_of
from ._kemeny import Consensus, kemeny
from ._propensities import PropensityEstimate, fit_propensities
from ._subsets import evidence_of, is_of_clicks, mean_over_subsets, structure_scores

__all__ = [
    "Consensus",
    "PropensityEstimate",
    "borda",
    "bradley_terry",
    "cascade",
    "fit_propensities",
    "kemeny",
    "log_odds",
    "mean_adjacency",
    "mean_log_odds",
    "position_based",
    "principal_eigenvector",
    "thurstone_mosteller",
    "win_rate",
]

#: Structures that return scores, by name.
STRUCTURES = {
    "borda": borda,
    "win_rate": win_rate,
    "mean_log_odds": mean_log_odds,
    "thurstone_mosteller": thurstone_mosteller,
    "bradley_terry": bradley_terry,
    "principal_eigenvector": principal_eigenvector,
    "cascade": cascade,
    "position_based": position_based,
}
