"""Queries that share rows, for what a regressor of single rows can attain."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from ..columns import arrays
from ..columns.types import Array, ArrayLike, Floats, Self
from ..data import Queries
from ..losses import LOSSES, Loss, get_loss
from ..measures import Measure, get_measure
from ._cones import projected_newton
from ._distribution import LabelDistribution
from ._shape import frame_of
from ._surrogates import conditional_risk, targets_of

# Relative difference up to which scores count as equal, and size of gradients that count as zero.
_EQUAL = 1e-6

# Curvatures below this share of the largest one belong to common shifts and minima at infinity.
_FLAT = 1e-8

# Decrease of the risk that is no more than a rounding error, as a share of the losses.
_GAIN = 1e-14


class SharedRows:
    """Queries whose documents are rows of a few kinds, with distributions of their labels.

    A regressor of rows gives all rows of one kind the same score, in every query. The theorems on
    calibration are about functions of the whole query; the regret that remains for functions of one
    row, however flexible, can be computed here.

    Parameters
    ----------
    documents : array-like of int of shape (n_queries, r)
        The kinds of the documents of each query, numbered from 0.
    laws : sequence of LabelDistribution
        Distribution of the labels of each query, as relevances.
    probabilities : array-like of shape (n_queries,), default=None
        Probability of each query. If None, all queries are equally likely.

    Raises
    ------
    ValueError
        If shapes do not fit, or probabilities are negative or do not sum to 1.

    See Also
    --------
    LabelDistribution : Distribution of the labels of one query.
    find_counterexample : Search for queries on which a function of rows has a regret.

    Examples
    --------
    Relevances are independent, and documents are relevant with the probabilities .9, .5, 1 and 0
    of their kind. The targets of recall depend on the rivals of a document too:

    >>> from skcalrank.calibration import SharedRows
    >>> queries = SharedRows.independent(
    ...     [[0, 2, 2, 2], [1, 3, 3, 3], [0, 1, 3, 3]], [0.9, 0.5, 1.0, 0.0], [0.4, 0.4, 0.2]
    ... )
    >>> scores = queries.minimizer("squared", "recall@1")
    >>> bool(scores[1] > scores[0])
    True
    >>> round(queries.regret("recall@1", scores), 4)
    0.0933
    >>> queries.regret("recall@1", queries.minimizer("squared", "precision@1"))
    0.0
    """

    def __init__(
        self,
        documents: ArrayLike,
        laws: Sequence[LabelDistribution],
        probabilities: ArrayLike | None = None,
    ) -> None:
        kinds = np.atleast_2d(arrays.as_array(documents, "documents")).copy()
        if kinds.ndim != 2 or kinds.dtype.kind not in "iu" or not kinds.size or kinds.min() < 0:
            raise ValueError(
                f"documents must be integers >= 0, one row for each query, got {documents!r}."
            )
        if len(laws) != len(kinds) or any(law.labels.shape[1:] != kinds.shape[1:] for law in laws):
            raise ValueError(
                "laws must hold one distribution of relevances for each query, of as many "
                f"documents, got {len(laws)} for documents of shape {kinds.shape}."
            )
        share = LabelDistribution(np.zeros((len(kinds), 2)), probabilities).probabilities
        self.documents, self.laws, self.probabilities = kinds, tuple(laws), share

    @classmethod
    def independent(
        cls, documents: ArrayLike, relevance: ArrayLike, probabilities: ArrayLike | None = None
    ) -> Self:
        """Make queries whose documents are relevant independently of each other.

        Parameters
        ----------
        documents : array-like of int of shape (n_queries, r)
            The kinds of the documents of each query, numbered from 0.
        relevance : array-like of shape (n_kinds,)
            Probability that a row of each kind is relevant.
        probabilities : array-like of shape (n_queries,), default=None
            Probability of each query. If None, all queries are equally likely.

        Returns
        -------
        queries : SharedRows
        """
        p = arrays.as_array(relevance, "relevance").astype(float)
        kinds = np.atleast_2d(arrays.as_array(documents, "documents")).copy()
        if not ((p >= 0) & (p <= 1)).all() or not kinds.size or kinds.max() >= len(p):
            raise ValueError(
                f"relevance must be a probability for each kind of document, got {relevance!r}."
            )
        labels = np.array(list(product((0, 1), repeat=kinds.shape[1])))
        laws = []
        for row in kinds:
            chance = np.where(labels == 1, p[row], 1 - p[row]).prod(axis=1)
            laws.append(LabelDistribution(labels[chance > 0], chance[chance > 0]))
        return cls(kinds, laws, probabilities)

    def __repr__(self) -> str:
        laws = ", ".join(map(repr, self.laws))
        return f"SharedRows({self.documents.tolist()}, [{laws}], {self.probabilities.tolist()})"

    @property
    def n_kinds(self) -> int:
        """Number of kinds of rows."""
        return int(self.documents.max()) + 1

    def data(self) -> tuple[Array, Array, Array, Floats]:
        """Return the population as training data, with one query for each outcome.

        Returns
        -------
        X : ndarray of shape (n_rows, n_kinds)
            One column for each kind.
        y, qid : ndarray of shape (n_rows,)
            Relevances and queries.
        sample_weight : ndarray of shape (n_rows,)
            Probability of query and outcome, scaled to mean 1.
        """
        kinds = np.repeat(self.documents, [len(law.labels) for law in self.laws], axis=0)
        chance = np.concatenate(
            [p * law.probabilities for p, law in zip(self.probabilities, self.laws)]
        )
        y = np.concatenate([law.labels for law in self.laws])
        r = self.documents.shape[1]
        weight = np.repeat(chance * len(chance), r)
        return np.eye(self.n_kinds)[kinds.ravel()], y.ravel(), np.arange(len(y)).repeat(r), weight

    def minimizer(self, surrogate: str | Loss, measure: str | Measure) -> Floats:
        """Return the scores of the kinds with the smallest risk.

        They are the exact fit of a function of one row.

        Parameters
        ----------
        surrogate : str or Loss
            As in :func:`calibration_gap`, for scores and without corners.
        measure : str or Measure
            The measure.

        Returns
        -------
        scores : ndarray of shape (n_kinds,)
            Large where the loss has no minimum.

        Raises
        ------
        ValueError
            For a surrogate of pairs, and if no minimum is found, because the loss has corners or is
            not convex.
        """
        risks = self._risks(surrogate, self._scaled(measure))
        share = self.probabilities

        def by_query(scores: Floats) -> Floats:
            return np.transpose([one.risk(scores[:, d]) for one, d in zip(risks, self.documents)])

        with np.errstate(all="ignore"):
            frame = frame_of(by_query, share, self.n_kinds)

        def risk(scores: Floats) -> Floats:
            return by_query(frame.scores(scores)) @ share

        def gradient(scores: Floats) -> Floats:
            out = np.zeros(scores.shape)
            for p, one, d in zip(share, risks, self.documents):
                slopes = one.gradient(frame.scores(scores)[:, d])
                of_row: Any = (slice(None), d)
                np.add.at(out, of_row, frame.unit * p * slopes)
            return out

        def derivatives(scores: Floats) -> tuple[Floats, Floats]:
            width = 1e-6 * (1.0 + np.abs(scores))
            moved = scores + width[0][:, None] * np.eye(self.n_kinds)
            slopes = gradient(scores)
            hessian = (gradient(moved) - slopes) / width[0][:, None]
            size, axes = np.linalg.eigh((hessian + hessian.T) / 2)
            size = np.abs(size)
            top = size.max() or 1.0
            return slopes, ((axes * np.where(size > _FLAT * top, size, top)) @ axes.T)[None]

        start = np.zeros((1, self.n_kinds))
        with np.errstate(all="ignore"):
            scores = projected_newton(risk, derivatives, np.positive, start, -np.inf, frame.scale)
            slopes, curvature = derivatives(scores)
            gain = (slopes @ np.linalg.solve(curvature[0], slopes[0])).item()
        # A start at the minimum stays there: its slopes are rounding errors if a move along them
        # would change the risk by less than the rounding error of the losses.
        if not (np.abs(slopes).max() <= _EQUAL * frame.scale or abs(gain) <= _GAIN * frame.size):
            raise ValueError(
                "surrogate must be convex and without corners, got one without a minimum that "
                f"Newton's method finds: {surrogate!r}."
            )
        return frame.scores(scores[0])

    def _scaled(self, measure: str | Measure) -> Measure:
        """Return the measure with one scale for all queries, although largest labels differ."""
        return get_measure(measure).scaled_to(np.vstack([law.labels for law in self.laws]))

    def _risks(self, surrogate: Any, measure: Any) -> list[Any]:
        """Return the conditional risk of each query, with one loss for all of them."""
        if not isinstance(surrogate, str) or surrogate in LOSSES:
            surrogate = get_loss(surrogate)
            targets = np.concatenate([targets_of(law, measure, surrogate) for law in self.laws])
            surrogate = surrogate.scaled_to(targets.ravel(), Queries.equal(*targets.shape))
        risks = [conditional_risk(surrogate, law, measure) for law in self.laws]
        if not all(one.smooth for one in risks):
            raise ValueError(
                "surrogate must be convex, of scores, and not 'preference_hinge' or "
                f"'margin_hinge', got {surrogate!r}: no method is known for the others."
            )
        return risks

    def regret(self, measure: str | Measure, scores: ArrayLike, *, ties: str = "best") -> float:
        """Return the best expected value minus the value of the scores, over all queries.

        Parameters
        ----------
        measure : str or Measure
            The measure.
        scores : array-like of shape (n_kinds,)
            Scores of the kinds.
        ties : {"average", "stable", "reversed", "worst", "best"}, default="best"
            As in :meth:`LabelDistribution.value`, applied to scores that are equal up to rounding.

        Returns
        -------
        regret : float
        """
        scores = arrays.as_array(scores, "scores").astype(float)
        measure = self._scaled(measure)
        if scores.ndim != 1 or len(scores) < self.n_kinds:
            raise ValueError(f"scores must have shape ({self.n_kinds},), got {scores.shape}.")
        finite = np.isfinite(scores)
        scores = scores - scores.min(initial=np.inf, where=finite) if finite.any() else scores
        unit = _EQUAL * scores.max(initial=1e-300, where=finite)
        scores = np.round(scores / unit)
        regrets = [
            law.target_regret(measure, scores[row], ties=ties)
            for law, row in zip(self.laws, self.documents)
        ]
        return float(self.probabilities @ regrets)


def random_rows(rng: Any, r: int) -> SharedRows:
    """Draw a few queries of documents of four kinds, whose relevances are independent."""
    n_queries = rng.randint(2, 4)
    share = 1 + rng.multinomial(100 - n_queries, rng.dirichlet(np.ones(n_queries)))
    documents = rng.randint(4, size=(n_queries, r))
    return SharedRows.independent(documents, rng.randint(11, size=4) / 10, share / 100)


def regret_stays(queries: SharedRows, surrogate: Any, measure: Measure) -> bool:
    """Return whether the fitted function of one row has a regret while another one has none."""
    measure = queries._scaled(measure)  # noqa: SLF001 (of this module)
    kinds, shares = queries.documents.ravel(), queries.probabilities
    sums = [p * law.expected_targets("dcg") for p, law in zip(shares, queries.laws)]
    counts = np.bincount(kinds, np.repeat(shares, queries.documents.shape[1]))
    means = arrays.safe_divide(np.bincount(kinds, np.concatenate(sums)), counts)
    ranges = [np.ptp(law.order_values(measure)) for law in queries.laws]
    span = float(queries.probabilities @ ranges)
    if np.ptp(means[counts > 0]) < _EQUAL or queries.regret(measure, means) > 1e-9 * span:
        return False  # no order is better, or no function of one row is as good as all
    return queries.regret(measure, queries.minimizer(surrogate, measure)) > 0.01 * span
