"""The ranker to begin with on a table."""

from __future__ import annotations

from typing import Any

from ..boosting import BoostedRanker
from ..data import check
from ..data.types import Seed
from ..measures import Measure, get_measure
from ._ranker import StackingRanker
from ._views import linear_views

_TREES = ("auto", "lightgbm", "xgboost", "sklearn")


def tabular_ranker(
    measure: str | Measure = "ndcg@10",
    *,
    trees: str | None = "auto",
    random_state: Seed = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> StackingRanker:
    """Make the ranker to begin with on a table: a stack of linear rankers and boosted trees.

    The ranker takes a data frame of pandas or polars as it is, with numbers, categories, text and
    missing values, and queries of any type. There is nothing to tune. It consists of

    * three linear rankers in closed form, :class:`LeastSquaresRanker` with its automatic penalty,
      on numbers scaled within the query, on their signed logarithms, and on
      :class:`~skcalrank.preprocessing.QuantileHinges`. Missing numbers are replaced by the mean of
      their column, and categories by indicators;
    * two :class:`BoostedRanker`, which read the table as it is, with the pairwise logistic loss of
      the targets of the measure: one weights queries by their documents, the other by their pairs;
    * a :class:`StackingRanker`, which normalizes scores within the query and mixes them by
      least squares on the grades. Each boosted ranker is stopped early on its own fifth of the
      queries, which also determines its weight, and is trained on all other queries.

    Each part minimizes a loss that is calibrated for the measure, over the functions that it can
    represent; we know of no theorem about their mixture.

    The linear rankers alone (``trees=None``) take a tenth to a third of the time. They are level
    with trees or ahead if the effects of the features add up or data are few, and far behind if
    features interact; :doc:`/benchmarks` has the figures.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        Measure whose targets are estimated, on which the trees stop early, and which `score`
        computes. It must be positional, such as "ndcg@10", "dcg", "precision@5", "recall@10",
        "rbp", "eru", "auc" or "spearman".
    trees : {"auto", "lightgbm", "xgboost", "sklearn"} or None, default="auto"
        Library of the boosted rankers. "auto" is LightGBM if it is installed, else XGBoost, else
        the histogram trees of scikit-learn. None leaves the boosted rankers out.
    random_state : int or None, default=None
        Seed for the draw of the held-out queries and for the trees. If None, the draw depends on
        the values in the table, and is the same in every fit.
    n_jobs : int, default=None
        Number of threads of the trees. None means the default of the library, -1 one for each core.
    verbose : int, default=0
        If not 0, the time of each fit is printed.

    Returns
    -------
    ranker : StackingRanker
        Not fitted. `predict`, `rank`, `top_k` and `score` need the qid if `fit` got one.

    Raises
    ------
    ValueError
        If `trees` is unknown, or the measure is not positional and has no closed form.

    See Also
    --------
    StackingRanker : The same with rankers of your choice.
    BoostedRanker : Boosted trees alone.
    NDCGRanker : One linear ranker, in milliseconds.

    Examples
    --------
    >>> from skcalrank import load_digits_queries, tabular_ranker
    >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
    >>> ranker = tabular_ranker("ndcg@10", trees=None).fit(X, y, qid)
    >>> bool(ranker.score(X, y, qid) > 0.8)
    True
    """
    if get_measure(measure).shape != "documents":
        raise ValueError(
            f"measure must be positional for the closed forms of tabular_ranker, got {measure!r}. "
            "Choose a measure such as 'ndcg@10', a BoostedRanker, or a StackingRanker of your own "
            "rankers."
        )
    rankers = linear_views(measure)
    if trees is not None:
        check.option("trees", trees, (*_TREES, None))
        options: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs}
        options["engine"] = None if trees == "auto" else trees
        for weight in ("documents", "pairs"):
            rankers.append((f"by_{weight}", BoostedRanker(measure, query_weight=weight, **options)))
    return StackingRanker(
        rankers,
        measure=measure,
        normalize="query",
        targets="grades",
        random_state=random_state,
        verbose=verbose,
    )
