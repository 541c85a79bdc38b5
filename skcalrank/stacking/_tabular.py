"""The ranker to begin with on a table."""

from collections.abc import Mapping
from typing import Any, ClassVar

from sklearn.base import clone
from sklearn.utils import Bunch

from ..boosting import BoostedRanker
from ..columns.types import Seed, Self
from ..data import Rows, check, fitting, limits
from ..losses import Loss
from ..measures import Measure
from ..rankers import FIT, BaseRanker, Plan
from ..trees import hinting
from ._ranker import StackingRanker
from ._streamed import Streamed
from ._views import linear_views

# Losses of the two boosted rankers: that of the given trees, and squares of the grades, which make
# other errors.
_BOOSTED = {"by_targets": {}, "by_grades": {"loss": "pairwise_squared", "targets": "grades"}}


def _check_positional(ranker: Any, plan: Plan) -> None:
    """Raise for a measure that the closed forms do not learn."""
    if plan.measure.shape != "documents":
        raise ValueError(
            f"measure must be positional for the closed forms of {type(ranker).__name__}, got "
            f"{ranker.measure!r}. Choose a measure such as 'ndcg@10', a BoostedRanker, or a "
            "StackingRanker of your own rankers."
        )


class TabularRanker(StackingRanker):
    """The ranker to begin with on a table: linear rankers and boosted trees, mixed.

    Use it on a data frame with numbers, categories, dates, text and missing values, and with
    queries of any type. Most users set `measure`, and nothing needs tuning. The ranker consists of

    * three linear rankers in closed form, :class:`LeastSquaresRanker` with its automatic penalty:
      on numbers scaled within the query, on their signed logarithms, and on
      :class:`~skcalrank.preprocessing.QuantileHinges`, each with indicators of categories;
    * two :class:`BoostedRanker`, one with the pairwise logistic loss of the targets of the measure,
      and one with the pairwise squared loss of the grades, which makes other errors;
    * weights of these five, as in :class:`StackingRanker`, which minimize the pairwise logistic
      loss of the mixed scores on held-out queries. Each boosted ranker holds out another fifth of
      the queries, which stops its training and determines its weight.

    All five read one matrix, which a :class:`~skcalrank.preprocessing.TableEncoder` makes, and a
    fitted ranker scores a query in one pass over this matrix.

    Parameters
    ----------
    measure : str or Measure, default="ndcg@10"
        Measure whose targets are estimated, on which the trees stop early, and which `score`
        computes. It must be positional, such as "ndcg@10", "dcg", "precision@5", "recall@10",
        "rbp", "eru", "auc" or "spearman".
    trees : {"auto", "lightgbm", "xgboost", "sklearn"}, BoostedRanker or None, default="auto"
        Library of the boosted rankers. "auto" is LightGBM if it is installed, else XGBoost, else
        the histogram trees of scikit-learn. A :class:`BoostedRanker` sets the other options of
        both, and the `loss` and `targets` of the first; its `measure`, `query_weight` and `columns`
        are those of this ranker, and so are its `random_state` and `n_jobs` where they are None.
        None leaves the trees out.
    normalize : {"pooled", "query"}, default="pooled"
        Whether scores are divided by their spread over the queries of `fit`, or by the spread
        within each query, on which a score then depends. See :class:`StackingRanker`.
    loss : str or Loss, default=None
        Loss of the mixture, as in :class:`StackingRanker`. None is "pairwise_logistic", and with
        ``trees=None`` "pairwise_squared" on the grades.
    columns : dict, default=None
        Kinds of columns by name, as in :class:`BoostedRanker`.
    random_state : int, RandomState instance or None, default=None
        Queries are drawn by their names: other names act as another seed. None is seed 0. Trees
        without a seed of their own get this one.
    n_jobs : int, default=None
        Number of threads of the trees, as in :class:`BoostedRanker`.
    verbose : int, default=0
        If not 0, the time of each fit is printed, and `held_out_scores_`.

    Attributes
    ----------
    linear_ : Bunch
        The fitted linear rankers by name: "scaled", "logs" and "hinges".
    boosted_ : Bunch
        The fitted boosted rankers by name: "by_targets" and "by_grades"; empty without trees.
    weights_ : ndarray of shape (n_members,)
        Weights of the linear rankers, then of the boosted ones, as in :class:`StackingRanker`.
    loss_ : str or Loss
        Loss that the weights minimize.
    held_out_scores_ : dict of str to float
        The measure of each ranker, by name, and of the mixture, "mixture", on held-out queries, as
        in :class:`StackingRanker`.
    spreads_ : ndarray of shape (n_members,)
        Spreads that their scores are divided by with ``normalize="pooled"``.
    encoder_ : TableEncoder or None
        Reader of the columns, if X is a table or an array of objects.
    feature_importances_ : ndarray of shape (d,)
        Importances of the columns of X, normalized to sum 1, as in :class:`StackingRanker`.
    n_features_in_ : int
        Number of columns seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    StackingRanker : The same with rankers of your choice.
    BoostedRanker : Boosted trees alone.
    NDCGRanker : One linear ranker, in milliseconds.

    Notes
    -----
    Each part but the boosted squares minimizes a loss that is calibrated (Fisher-consistent) for
    the measure, over the functions that it can represent, and so does their mixture, over weighted
    sums, each with its penalty: the minimum over *all* functions may have another order. The
    boosted squares learn grades, and so does the mixture without trees or of few queries (see
    :class:`StackingRanker`); for graded labels we know of no theorem about that.

    The linear rankers alone (``trees=None``) take a thirtieth to a fifth of the time. They are
    level with trees or ahead if the effects of the features add up or data are few, and far behind
    if features interact; :doc:`/benchmarks` has the figures.

    Tables may have more columns than rows. No view is left out of them: hinges make four columns of
    a number, so that 2,000 rows of 5,000 numbers take about 1 GB of memory in `fit`.

    Examples
    --------
    A data frame with titles, dates, categories and missing values; ``trees=None`` only to be quick:

    >>> from skcalrank import TabularRanker, make_offers
    >>> offers, grades, search = make_offers(n_queries=60, random_state=0)
    >>> list(offers.columns[:5])
    ['title', 'listed', 'category', 'price', 'rating']
    >>> train = search < 40
    >>> ranker = TabularRanker("ndcg@10", trees=None, columns={"sku": "drop"})
    >>> ranker = ranker.fit(offers[train], grades[train], search[train])
    >>> bool(ranker.score(offers[~train], grades[~train], search[~train]) > 0.6)
    True
    """

    # What a stack has parameters for.
    rankers = cv = targets = None
    _threads_are_of_trees = True
    _rules: ClassVar[Any] = (_check_positional,)

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "trees": [limits.one_of("auto", "lightgbm", "xgboost", "sklearn"), BoostedRanker, None]
    }

    @hinting
    def __init__(
        self,
        measure: str | Measure = "ndcg@10",
        *,
        trees: str | BoostedRanker | None = "auto",
        normalize: str = "pooled",
        loss: str | Loss | None = None,
        columns: Mapping[Any, str] | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.trees = trees
        self.normalize = normalize
        self.loss = loss
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def set_params(self, **params: Any) -> Self:
        """Set parameters, or parameters of the trees.

        Parameters
        ----------
        **params
            Values by name, such as ``trees__learning_rate=0.05`` if `trees` is a
            :class:`BoostedRanker`.

        Returns
        -------
        self : TabularRanker

        Raises
        ------
        ValueError
            If a name is unknown, or is one of the trees and `trees` is no ranker.
        """
        trees = params.get("trees", self.trees)
        for name in params:
            if name.startswith("trees__") and not hasattr(trees, "set_params"):
                raise ValueError(
                    f"trees must be a BoostedRanker to set {name}, got {trees!r}: begin with "
                    "TabularRanker(trees=BoostedRanker())."
                )
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        # The same for all members, whose own tags would cost as much as the scores of a query.
        tags = BaseRanker.__sklearn_tags__(self)
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _members(self) -> list[tuple[str, Any]]:
        members, trees = linear_views(self.measure), self.trees
        if trees is None:
            return members
        if not isinstance(trees, BoostedRanker):
            trees = BoostedRanker(engine=None if trees == "auto" else trees)
        shared = {"measure": self.measure, "columns": None, "query_weight": "documents"}
        for name in ("random_state", "n_jobs"):
            if getattr(trees, name) is None:
                shared[name] = getattr(self, name)
        boosted = [(k, clone(trees).set_params(**shared, **loss)) for k, loss in _BOOSTED.items()]
        return members + boosted

    def _check_rows(self, X: Any, qid: Any, method: str) -> Rows:
        # Whether a score reads the query depends on the weights, and what a call takes must not.
        if qid is None:
            self._require_qid(qid, method)
        return super()._check_rows(X, qid, method)

    @fitting
    def fit_chunks(self, chunks: Any, *, max_rows: int = 200_000) -> Self:
        """Fit to a table that does not fit into memory, in chunks of whole queries.

        The labels and queries of all rows are kept in memory, and the features of a sample of whole
        queries. The linear rankers are those of all rows, up to rounding; the boosted rankers and
        the mixture learn from the sample. If it has all rows, the ranker is that of :meth:`fit`.
        The chunks are read about ten times.

        Parameters
        ----------
        chunks : iterable or callable
            Tuples ``(X, y, qid)`` or ``(X, y, qid, sample_weight)`` with whole queries and the same
            columns, or a function that returns an iterator over them, such as ``lambda:
            load_table("train/", chunk_rows=100_000)``. They are read several times, and must be
            the same each time.
        max_rows : int, default=200_000
            Number of rows of the sample, of which a fifth is held out of each boosted ranker. Its
            queries are drawn by their names, too.

        Returns
        -------
        self : TabularRanker
            The fitted ranker.

        Raises
        ------
        ValueError
            If a parameter or a chunk is invalid, chunks can be read only once, or rows of a query
            are in two chunks.

        Examples
        --------
        >>> from skcalrank import TabularRanker, load_digits_queries
        >>> X, y, qid = load_digits_queries(n_queries=40, n_documents=30)
        >>> chunks = [(X[rows], y[rows], qid[rows]) for rows in (qid < 20, qid >= 20)]
        >>> ranker = TabularRanker(trees=None).fit_chunks(chunks)
        >>> whole = TabularRanker(trees=None).fit(X, y, qid)
        >>> bool(abs(ranker.predict(X, qid) - whole.predict(X, qid)).max() < 1e-9)
        True
        """
        self._check_params()
        check.count("max_rows", max_rows)
        streamed = Streamed(self, chunks, self.columns, max_rows)
        return self._fit(FIT, streamed.table(), streamed.y, streamed.qid, streamed.weight)

    @property
    def linear_(self) -> Bunch:
        """The fitted linear rankers by name."""
        members = self.named_rankers_
        return Bunch(**{name: members[name] for name in members if not name.startswith("by_")})

    @property
    def boosted_(self) -> Bunch:
        """The fitted boosted rankers by name."""
        members = self.named_rankers_
        return Bunch(**{name: members[name] for name in members if name.startswith("by_")})
