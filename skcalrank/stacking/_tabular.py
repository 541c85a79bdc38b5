"""The ranker of a table in one call."""

from __future__ import annotations

from typing import Any

from ..boosting import BoostedRanker
from ..data import Seed, check_option
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
    """Make the ranker to begin with on a table: linear views and boosted trees, stacked.

    Takes a data frame as it is, of pandas or polars: numbers, categories, text and missing values,
    with queries of any type. Nothing is to be tuned. Its parts are

    * three closed forms, :class:`LeastSquaresRanker` with its automatic penalty: of numbers scaled
      within the query, of their signed logarithms, and of
      :class:`~skcalrank.preprocessing.QuantileHinges`. Missing numbers are the mean of their
      column, and categories indicators;
    * two :class:`BoostedRanker`, which read the table as it is, with the logistic loss of the
      targets of the measure: one weighs queries by their documents, the other by their pairs;
    * a :class:`StackingRanker`, which normalizes scores within the query and mixes them by
      least squares of the grades. Each boosted ranker is stopped on a fifth of the queries
      of its own, which the weights are learned from, and trained on all others.

    Each part minimizes a loss that is calibrated for the measure, over what it can represent; of
    their mixture no theorem is known.

    The closed forms alone (``trees=None``) take a tenth to a third of the time, and are level with
    trees or ahead where features act by themselves or data are few. Where features act together
    they are far behind; :doc:`/benchmarks` says by how much.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        What is estimated, stops the trees, and is computed by `score`: a positional measure, such
        as "ndcg@10", "dcg", "precision@5", "recall@10", "rbp", "eru", "auc" or "spearman".
    trees : {"auto", "lightgbm", "xgboost", "sklearn"} or None, default="auto"
        Library of the boosted rankers. "auto" is LightGBM where it is installed, else XGBoost, else
        the histogram trees of scikit-learn. None leaves them out.
    random_state : int or None, default=None
        Draws the queries that are held out, and seeds the trees. None draws them by the
        values in the table.
    n_jobs : int, default=None
        Number of threads of the trees.
    verbose : int, default=0
        Whether to print the time that each fit takes.

    Returns
    -------
    ranker : StackingRanker
        `predict`, `rank`, `top_k` and `score` need the qid where `fit` had one.

    Raises
    ------
    ValueError
        If `trees` is unknown, or the measure is not positional, for which there is no closed form.

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
            f"measure={measure!r} is not positional, so that there is no closed form to mix: "
            "choose a measure such as 'ndcg@10', BoostedRanker, or rankers of your own in a "
            "StackingRanker."
        )
    rankers = linear_views(measure)
    if trees is not None:
        check_option("trees", trees, _TREES)
        rankers += _boosted(measure, trees, random_state, n_jobs)
    return StackingRanker(
        rankers,
        measure=measure,
        normalize="query",
        targets="grades",
        random_state=random_state,
        verbose=verbose,
    )


def _boosted(measure, trees, random_state, n_jobs) -> list[tuple[str, Any]]:
    """Return the boosted rankers by name."""
    engine = None if trees == "auto" else trees
    return [
        (
            f"by_{query_weight}",
            BoostedRanker(
                measure,
                engine=engine,
                query_weight=query_weight,
                random_state=random_state,
                n_jobs=n_jobs,
            ),
        )
        for query_weight in ("documents", "pairs")
    ]
