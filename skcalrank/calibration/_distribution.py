"""Distribution of the labels of a few documents, under which expectations are finite sums."""

from typing import Any, cast

import numpy as np
from sklearn.utils import check_random_state

from ..columns import arrays
from ..columns.types import ArrayLike, Floats, Ints, Seed, Self
from ..data import TIES, Queries, Ranked, check
from ..losses import Loss
from ..measures import Measure, get_measure
from ._orders import all_positions, is_best, values_of_scores
from ._surrogates import conditional_risk


class LabelDistribution:
    """Distribution of the labels of one query, given its documents.

    Calibration is about such distributions: everything that a surrogate or a measure depends on is
    an expectation, i.e. a finite sum. Best orders are found by enumerating all orders, so methods
    that compare orders support at most 8 documents (40,320 orders).

    Parameters
    ----------
    labels : array-like of shape (m, r) or (m, r, r)
        Relevances of r documents, one vector for each outcome; or matrices of preferences, where
        ``y_ij > 0`` is the weight with which i is preferred to j. Only pairwise disagreement can be
        evaluated for preferences.
    probabilities : array-like of shape (m,), default=None
        Probability of each outcome. If None, all outcomes are equally likely.

    Attributes
    ----------
    labels : ndarray of shape (m, r) or (m, r, r)
        Labels of each outcome.
    probabilities : ndarray of shape (m,)
        Probability of each outcome.
    n_documents : int
        Number of documents, r.
    certificate : {"exact", "tangents", "not proven"} or None
        If :func:`find_counterexample` returned the distribution, what that is based on: the
        certificate of its :class:`CalibrationGap`. With "not proven" it may be no counterexample.

    Raises
    ------
    ValueError
        If labels are not vectors or square matrices of at least two documents, preferences are
        negative, or the probabilities are not non-negative numbers that sum to 1.

    See Also
    --------
    calibration_gap : Whether a surrogate is calibrated under a distribution.
    find_counterexample : Search for a distribution under which it is not.
    SharedRows : Queries that share rows, each with a distribution.

    Examples
    --------
    Sorting by the expected targets is best for precision, but not for average precision:

    >>> from skcalrank.calibration import LabelDistribution
    >>> law = LabelDistribution([[0, 0, 1, 0], [0, 0, 0, 1], [0, 1, 0, 1]], [0.3, 0.2, 0.5])
    >>> scores = law.expected_targets("map")
    >>> scores
    array([0.  , 0.25, 0.3 , 0.45])
    >>> law.bayes_positions("map")
    array([[4, 2, 3, 1]])
    >>> round(law.target_regret("map", scores), 4)
    0.0333
    >>> law.target_regret("precision@1", law.expected_targets("precision@1"))
    0.0
    """

    certificate: str | None = None

    def __init__(self, labels: ArrayLike, probabilities: ArrayLike | None = None) -> None:
        arrays.refuse_rounding(labels, "labels")
        labels = arrays.checked(labels, "labels", allow_nd=True, ensure_2d=False, copy=True)
        square = labels.ndim == 3 and labels.shape[1] == labels.shape[2]
        if not (labels.ndim == 2 or square) or labels.shape[1] < 2:
            raise ValueError(
                "labels must have shape (m, r), relevances, or (m, r, r), preferences, with r >= "
                f"2, got {labels.shape}."
            )
        if square and labels.min() < 0:
            raise ValueError(
                f"labels must hold non-negative preferences, got {labels.min():g}: swap winner and "
                "loser instead."
            )
        if square and labels.diagonal(axis1=1, axis2=2).any():
            raise ValueError(
                "labels must have diagonals of 0, because no document is preferred to itself."
            )
        self.labels = labels
        self.probabilities = _check_probabilities(probabilities, len(labels))
        self.n_documents = labels.shape[1]

    @classmethod
    def random(
        cls,
        r: int,
        *,
        n_labels: int = 3,
        n_grades: int = 2,
        preferences: bool = False,
        random_state: Seed = None,
    ) -> Self:
        """Draw a distribution on few outcomes, with probabilities in hundredths.

        Parameters
        ----------
        r : int
            Number of documents.
        n_labels : int, default=3
            Number of outcomes, at most 100; two may be equal.
        n_grades : int, default=2
            Relevances are drawn from 0, ..., n_grades - 1.
        preferences : bool, default=False
            Whether to draw weighted acyclic graphs of preferences instead: a random order, two
            thirds of its pairs, and weights 1, 2, 4, 8 or 16.
        random_state : int, RandomState instance or None, default=None
            Seed of the random numbers.

        Returns
        -------
        distribution : LabelDistribution

        Examples
        --------
        >>> from skcalrank.calibration import LabelDistribution
        >>> LabelDistribution.random(3, n_labels=2, random_state=0)
        LabelDistribution([[0, 1, 1], [0, 1, 1]], [0.58, 0.42])
        """
        check.count("r", r, least=2)
        check.count("n_grades", n_grades, least=2)
        check.count("n_labels", n_labels, most=100)
        rng = check_random_state(random_state)
        if preferences:
            labels = _random_graphs(n_labels, r, rng)
        else:
            labels = rng.randint(n_grades, size=(n_labels, r))
        share = rng.dirichlet(np.ones(n_labels))
        hundredths = 1 + rng.multinomial(100 - n_labels, share)
        return cls(labels, hundredths / 100)

    def __repr__(self) -> str:
        labels = self.labels
        if (labels == np.rint(labels)).all():
            labels = labels.astype(int)
        mark = ", not proven" if self.certificate == "not proven" else ""
        return f"LabelDistribution({labels.tolist()}, {self.probabilities.tolist()}){mark}"

    # -- measures -----------------------------------------------------------------

    def expected_targets(self, measure: str | Measure, *, pairs: bool = False) -> Floats:
        """Return the mean targets of a measure, to which least squares on them converge.

        Parameters
        ----------
        measure : str or Measure
            The measure.
        pairs : bool, default=False
            Whether to return the targets of pairs of documents, for a measure of pairs, instead of
            the targets of its score surrogate. For ``"neg_pairwise_disagreement"`` they are the
            mean preferences that the noise conditions are about.

        Returns
        -------
        targets : ndarray of shape (r,), or (r, r) with `pairs`

        Raises
        ------
        ValueError
            If the measure has no such targets, or does not fit the labels.

        Examples
        --------
        >>> from skcalrank.calibration import LabelDistribution, low_noise_condition
        >>> law = LabelDistribution([[2, 1, 0], [2, 0, 0]], [0.5, 0.5])
        >>> EY = law.expected_targets("neg_pairwise_disagreement", pairs=True)
        >>> low_noise_condition(EY)
        Condition(holds=True, margin=0.0)
        """
        return np.tensordot(self.probabilities, self.targets(measure, pairs=pairs), 1)

    def targets(self, measure: str | Measure, *, pairs: bool = False) -> Floats:
        """Return the targets of a measure under each outcome.

        Parameters
        ----------
        measure, pairs
            As in :meth:`expected_targets`.

        Returns
        -------
        targets : ndarray of shape (m, r), or (m, r, r) with `pairs`
        """
        measure = cast(Any, self.resolve(measure))
        if pairs and measure.shape != "pairs":
            raise ValueError(f"measure must have targets of pairs, which {measure.name} has not.")
        if self.labels.ndim == 3:
            matrices = self.labels
            if measure.normalize:
                matrices = arrays.safe_divide(matrices, matrices.sum(axis=(1, 2), keepdims=True))
            return matrices if pairs else matrices.sum(axis=2) - matrices.sum(axis=1)
        y = measure.labels(self.labels.ravel())
        if pairs:
            return measure.pair_targets(y.reshape(self.labels.shape))
        return measure.score_targets(y, self.queries).reshape(self.labels.shape)

    def resolve(self, measure: str | Measure) -> Measure:
        """Return the measure as an object, with options that depend on all labels filled in.

        Parameters
        ----------
        measure : str or Measure
            The measure.

        Returns
        -------
        measure : Measure

        Raises
        ------
        ValueError
            If labels are preferences and the measure is not the pairwise disagreement.
        """
        measure = get_measure(measure)
        if self.labels.ndim == 2:
            return measure.scaled_to(self.labels.ravel())
        if not measure.reads_preferences:
            raise ValueError(
                "measure must be neg_pairwise_disagreement for labels that are preferences, got "
                f"{measure.name}, which needs relevances."
            )
        return measure

    @property
    def queries(self) -> Queries:
        """The outcomes as queries of r documents."""
        return Queries.equal(len(self.labels), self.n_documents)

    def order_values(self, measure: str | Measure) -> Floats:
        """Return the expected value of every order of the documents.

        Outcomes for which the measure is undefined (0/0) count 0.

        Parameters
        ----------
        measure : str or Measure
            The measure.

        Returns
        -------
        values : ndarray of shape (r!,)
            Values in the order of ``itertools.permutations``, as positions of the documents.
        """
        measure = cast(Any, self.resolve(measure))
        if measure.shape is None:
            return self.probabilities @ [self._evaluate(measure, y) for y in self.labels]
        positions = all_positions(self.n_documents)
        if measure.shape == "pairs":
            basis = measure.pair_basis(positions)
            values = np.tensordot(basis, self.expected_targets(measure, pairs=True), 2)
        else:
            discount = measure.basis(positions, np.array(self.n_documents))
            values = discount @ self.expected_targets(measure)
        if self.labels.ndim == 3:
            return values
        y = measure.labels(self.labels.ravel())
        return values + self.probabilities @ measure.offset(y, self.queries)

    def _evaluate(self, measure: Measure, y: Floats) -> Floats:
        """Return the value of every order under one outcome, computed by the measure itself."""
        positions = all_positions(self.n_documents)
        queries = Queries.equal(*positions.shape)
        labels = measure.labels(np.tile(y, len(positions)))
        ranked = Ranked(-positions.ravel().astype(float), queries)
        return np.where(measure.undefined(labels, queries), 0.0, measure.evaluate(labels, ranked))

    def value(
        self, measure: str | Measure, scores: ArrayLike, *, ties: str = "average"
    ) -> float | Any:
        """Return the expected value of the measure for given scores.

        Parameters
        ----------
        measure : str or Measure
            The measure.
        scores : array-like of shape (r,) or (n, r)
            Scores, higher is better, or n vectors of them; they may be infinite. Pass
            positions as ``-positions``.
        ties : {"average", "stable", "reversed", "worst", "best"}, default="average"
            Order of documents with equal scores: the mean over all orders, the order of the
            documents, its reverse, or the one order that is worst or best in expectation.

        Returns
        -------
        value : float or ndarray of shape (n,)

        Examples
        --------
        >>> from skcalrank.calibration import LabelDistribution
        >>> LabelDistribution([[0, 1], [0, 0]]).value("dcg@1", [0.2, 0.7])
        0.5
        """
        check.option("ties", ties, TIES)
        ranks = _check_scores(scores, self.n_documents)
        out = values_of_scores(self.order_values(measure), np.atleast_2d(ranks), ties)
        return out if ranks.ndim == 2 else float(out[0])

    def bayes_value(self, measure: str | Measure) -> float:
        """Return the best expected value over all orders of the documents.

        Parameters
        ----------
        measure : str or Measure
            The measure.

        Returns
        -------
        value : float
        """
        return float(self.order_values(measure).max())

    def bayes_positions(self, measure: str | Measure) -> Ints:
        """Return all orders of the best expected value.

        Parameters
        ----------
        measure : str or Measure
            The measure.

        Returns
        -------
        positions : ndarray of int of shape (n_best, r)
            1-based positions of the documents; a row for each order.
        """
        return all_positions(self.n_documents)[is_best(self.order_values(measure))]

    def target_regret(
        self, measure: str | Measure, scores: ArrayLike, *, ties: str = "worst"
    ) -> float | Any:
        """Return the best expected value minus the expected value for given scores.

        Parameters
        ----------
        measure, scores
            As in :meth:`value`.
        ties : {"average", "stable", "reversed", "worst", "best"}, default="worst"
            As in :meth:`value`. Regret bounds hold for "worst".

        Returns
        -------
        regret : float or ndarray of shape (n,)
        """
        return self.bayes_value(measure) - self.value(measure, scores, ties=ties)

    # -- surrogates ---------------------------------------------------------------

    def surrogate_minimizer(self, surrogate: str | Loss, measure: str | Measure) -> Floats:
        """Return the surrogate values of the smallest conditional risk.

        Parameters
        ----------
        surrogate : str or Loss
            A name in ``SURROGATES``, or a loss of :mod:`skcalrank.losses`.
        measure : str or Measure
            Measure whose targets, or preferences, the surrogate is given.

        Returns
        -------
        u : ndarray of shape (r,), or (r, r) for the surrogate "pairs"
            Infinite where the minimum is not attained. For losses of single preferences and custom
            losses, whose minimizer is found by iteration, large instead.

        Examples
        --------
        >>> from skcalrank.calibration import LabelDistribution
        >>> law = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25])
        >>> law.surrogate_minimizer("squared", "precision@1")
        array([0.25, 0.75, 0.75])
        """
        return conditional_risk(surrogate, self, measure).minimizer()

    def surrogate_regret(
        self, surrogate: str | Loss, measure: str | Measure, u: ArrayLike
    ) -> float | Any:
        """Return the conditional risk of surrogate values minus the smallest risk.

        Parameters
        ----------
        surrogate, measure
            As in :meth:`surrogate_minimizer`.
        u : array-like of shape (r,) or (n, r); for "pairs" (r, r) or (n, r, r)
            Surrogate values.

        Returns
        -------
        regret : float or ndarray of shape (n,)
            A sum over the documents or pairs.

        Examples
        --------
        >>> from skcalrank.calibration import LabelDistribution, regret_bound
        >>> law = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25])
        >>> scores = [0.6, 0.5, 0.4]
        >>> law.target_regret("precision@1", scores)
        0.5
        >>> regret = law.surrogate_regret("squared", "precision@1", scores)
        >>> round(regret_bound("precision@1", "squared", regret, r=3), 3)
        0.784
        """
        risk = conditional_risk(surrogate, self, measure)
        shape = risk.minimizer().shape
        u = arrays.checked(u, "u", allow_nd=True, ensure_2d=False)
        if u.shape != shape and u.shape[1:] != shape:
            raise ValueError(f"u must have shape {shape}, or be a stack of such, got {u.shape}.")
        regret = np.maximum(risk.risk(u.reshape(-1, *shape)) - risk.infimum, 0.0)
        return float(regret[0]) if u.shape == shape else regret


def _random_graphs(n: int, r: int, rng: np.random.RandomState) -> Ints:
    """Return random weighted acyclic graphs, as matrices."""
    kept = np.triu(rng.randint(3, size=(n, r, r)) > 0, 1)
    matrices = kept << rng.randint(5, size=(n, r, r))
    order = rng.rand(n, r).argsort(axis=1)
    return matrices[np.arange(n)[:, None, None], order[:, :, None], order[:, None, :]]


def _check_probabilities(probabilities: Any, n: int) -> Floats:
    """Return validated probabilities of n outcomes."""
    if probabilities is None:
        return np.full(n, 1.0 / n)
    out = arrays.checked(probabilities, "probabilities", ensure_2d=False, copy=True)
    if out.shape != (n,):
        raise ValueError(f"probabilities must have shape ({n},), one per outcome, got {out.shape}.")
    if out.min() < 0 or abs(out.sum() - 1.0) > 1e-8:
        raise ValueError(
            "probabilities must be non-negative and sum to 1, got a sum of "
            f"{out.sum():g} and a smallest one of {out.min():g}."
        )
    return out


def _check_scores(scores: Any, r: int) -> Floats:
    """Return validated scores of r documents, as numbers of the same order."""
    ranks = arrays.exact_ranks(scores, "scores")
    scores = arrays.as_array(scores if ranks is None else ranks, "scores").astype(float)
    if scores.ndim not in (1, 2) or scores.shape[-1] != r:
        raise ValueError(f"scores must have shape ({r},) or (n, {r}), got {scores.shape}.")
    if np.isnan(scores).any():
        raise ValueError("scores must be numbers, possibly infinite, got NaN.")
    return scores
