"""Models of clicks: the cascade, and positions that users examine independently."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.isotonic import IsotonicRegression

from ..columns import arrays
from ..columns.types import ArrayLike, Floats, Ints, Matrix
from ..data import call_step, check, handed_to
from ..judgments import ClickCounts, ClickSessions, PositionModel, check_clicks, check_probabilities
from ._propensities import fit_propensities

# Clicks and examinations more that standard errors are taken at, so that those of rare clicks hold.
_MORE_CLICKS, _MORE_EXAMINATIONS = 2, 4


class CascadeEstimate(NamedTuple):
    """Click probabilities and the counts they are based on, each of shape (n_rows,).

    Attributes
    ----------
    probability : ndarray
        Clicks over examinations; of a document without any, those of its whole query.
    clicks, examinations : ndarray of int
        Numbers of sessions.
    standard_error : ndarray
        ``sqrt(p (1 - p) / examinations)``, NaN without examinations, with two clicks in four
        examinations more in this p (Agresti and Coull 1998): without them, errors of small
        probabilities are too small, and 0 for documents never clicked.
    """

    probability: Floats
    clicks: Ints
    examinations: Ints
    standard_error: Floats


def cascade(sessions: ClickSessions) -> CascadeEstimate:
    r"""Estimate the probability that a document satisfies a user who examines it.

    In the cascade model (DMJ13, section 5.2) a user reads from the top, clicks the first satisfying
    document and leaves. Maximum likelihood is

    .. math:: \hat p_l = \frac{\text{clicks on } l}{\text{examinations of } l}

    where a document is examined if it is shown at or above the click, or anywhere in a
    session without a click. Of several clicks of a session all count, and documents down to the
    last one are examined: users who may go on after a click (the dependent click model, in which
    the last click satisfies). Use :func:`position_based` for users who skip positions.

    Parameters
    ----------
    sessions : ClickSessions
        Click sessions of one or more queries.

    Returns
    -------
    estimate : CascadeEstimate
        A named tuple of arrays of shape (n_rows,): ``probability``, higher is better, which for a
        document without examinations (0/0) is the ratio of all clicks of the query to all its
        examinations, or 0 if there are none; ``clicks``, ``examinations``, ``standard_error``.

    Raises
    ------
    TypeError
        For other targets.
    ValueError
        If there are no rows.

    References
    ----------
    Agresti and Coull (1998). Approximate is better than "exact" for interval estimation of binomial
    proportions. The American Statistician 52.

    Examples
    --------
    >>> from skcalrank import ClickSessions
    >>> from skcalrank.aggregation import cascade
    >>> y = ClickSessions([1, 1, 1, 1], [[0, 1, 2], [1, 0], [0, 1]], [2, 0, 1])
    >>> estimate = cascade(y)
    >>> estimate.probability
    array([0.33333333, 0.5       , 0.4       , 0.4       ])
    >>> estimate.examinations
    array([3, 2, 0, 0])
    """
    if not isinstance(sessions, ClickSessions):
        raise TypeError(
            f"sessions must be ClickSessions for cascade, got {type(sessions).__name__}: make them "
            "with ClickSessions(qid, shown_rows, clicked_position)."
        )
    check_clicks(sessions, "cascade")
    clicks, examinations = sessions.counts()
    queries = sessions.queries()
    total = queries.sum(queries.group(examinations))
    share = arrays.safe_divide(queries.sum(queries.group(clicks)), total)
    of_query = queries.ungroup(queries.repeat(share))
    p = np.where(examinations > 0, arrays.safe_divide(clicks, examinations), of_query)
    near = (clicks + _MORE_CLICKS) / (examinations + _MORE_EXAMINATIONS)
    error = arrays.safe_divide(np.sqrt(near * (1 - near)), np.sqrt(examinations), np.nan)
    return CascadeEstimate(p, clicks, examinations, error)


# Parts of the queries, each of which is mapped by the others.
_N_FOLDS = 5


class PositionEstimate(NamedTuple):
    """Estimates of relevance and what they are based on, each of shape (n_rows,).

    Attributes
    ----------
    relevance : ndarray
        Estimated relevance: 0, or the prior, without examinations.
    clicks : ndarray of int
        Number of clicks.
    examinations : ndarray
        Expected number of examinations e: the sum of the propensities of the positions where the
        document was shown, with trust bias the sum of the slopes.
    standard_error : ndarray
        Standard deviation of the estimate in the model, with the propensities as they are; infinite
        without examinations. It is that of the estimate with two clicks in four examinations more
        (Agresti and Coull 1998): without them, errors of small relevances are too small, and 0 for
        documents never clicked.
    """

    relevance: Floats
    clicks: Ints
    examinations: Floats
    standard_error: Floats


def position_based(
    sessions: ClickSessions | ClickCounts,
    propensity: ArrayLike | str,
    *,
    trust: tuple[ArrayLike, ArrayLike] | None = None,
    prior: Any = None,
    X: Matrix | None = None,
    strength: float = 5.0,
) -> PositionEstimate:
    r"""Estimate the relevance of documents from clicks at positions with known propensities.

    A user examines position k with probability :math:`\theta_k`, whatever the documents are, and
    clicks on an examined document if it is relevant. The estimate is

    .. math:: \hat r_l = \frac{\text{clicks on } l}{e_l}, \qquad e_l = \sum_i \theta_{k_i},

    the sum over the impressions i of the document, at positions :math:`k_i`. Given the positions it
    is unbiased, with a variance of at most :math:`r / e_l`, and never more than that of the mean of
    :math:`\text{click}_i / \theta_{k_i}`, the clicks weighed by inverse propensities.

    Parameters
    ----------
    sessions : ClickSessions or ClickCounts
        Clicks of one or more queries.
    propensity : array-like of shape (n_positions,), PropensityEstimate or "fit"
        Probability :math:`\theta_k` > 0 that position k is examined, for k = 1, 2, ... It is
        at most 1, or relative to position 1, which then has 1: a common factor of all propensities
        divides all estimates. "fit" is ``fit_propensities(sessions).propensity``.
    trust : pair of numbers or arrays of shape (n_positions,), default=None
        Probabilities :math:`\epsilon^+_k, \epsilon^-_k` that an examined document at position k is
        clicked if it is relevant and if it is not, :math:`\epsilon^+_k > \epsilon^-_k`. Then a
        click has probability :math:`\alpha_k r + \beta_k` with :math:`\alpha_k = \theta_k
        (\epsilon^+_k - \epsilon^-_k)`, :math:`\beta_k = \theta_k \epsilon^-_k` (Agarwal et al.
        2019), and the estimate is :math:`\sum_i (\text{click}_i - \beta_{k_i}) / e_l` with
        :math:`e_l = \sum_i \alpha_{k_i}`, which is unbiased and may be negative (Vardasbi et al.
        2020). None is (1, 0).
    prior : float, array-like of shape (n_rows,) or fitted ranker, default=None
        Relevances p in [0, 1] that estimates are shrunk to: :math:`(e \hat r + m p) / (e + m)`.
        This has less variance, and is biased towards p. Use it for few sessions, with p from the
        ranker that made the log: the scores of a ranker become relevances by the monotone function
        that fits the estimates of *other* queries best, with weight e. Queries are divided into
        five parts by their names.
    X : array-like, sparse matrix or data frame of shape (n_rows, d), default=None
        Features of the documents, for the ranker `prior` alone.
        :class:`~skcalrank.AggregatedRanker` passes those that it is fitted to. There, `prior` must
        be a :class:`~sklearn.frozen.FrozenEstimator` to stay fitted in cross-validation.
    strength : float, default=5.0
        m > 0, the number of examinations that the prior counts as.

    Returns
    -------
    estimate : PositionEstimate
        A named tuple of arrays of shape (n_rows,): ``relevance``, higher is better, with 0 or the
        prior for documents never shown; ``clicks``, ``examinations``, ``standard_error``.

    Raises
    ------
    TypeError
        For other targets.
    ValueError
        If there are no rows, a document was shown at a position beyond the propensities, a
        propensity is 0, or above 1 where that of position 1 is not 1, propensities grow like
        inverse weights, a parameter is out of range, rows of `X` or `prior` have the index of the
        sessions in another order, or `prior` is a ranker and there is no `X` or one query only.

    See Also
    --------
    fit_propensities : Propensities of documents that were shown at several positions.
    cascade : Estimates for users who read from the top to the first click.
    skcalrank.AggregatedRanker : Ranker of these estimates.

    Notes
    -----
    The variance is :math:`\sum_i v_i / (\sum_i \theta_{k_i})^2`, where :math:`v_i = \theta_{k_i} r
    (1 - \theta_{k_i} r)`, and that of inverse propensities over n impressions :math:`\sum_i v_i
    \theta_{k_i}^{-2} / n^2`. As :math:`v / \theta` and :math:`1 / \theta` fall with
    :math:`\theta`, Chebyshev's sum inequality puts :math:`\sum_i (v_i / \theta_{k_i}) / (n \sum_i
    \theta_{k_i})` between the two.

    The expectation of the estimate over clicks is the relevance, so that surrogates which are
    linear in labels stay calibrated: those of precision, RBP, DCG with a linear gain, and net
    preferences with ``weights="difference"``. Preferences of unit weight, and measures that divide
    by the labels of the query, such as NDCG, are not linear in them: the order of the expected
    targets can be wrong however many sessions there are of one impression each.

    References
    ----------
    Agarwal, Wang, Li, Bendersky and Najork (2019). Addressing trust bias for unbiased
    learning-to-rank. WWW.

    Agresti and Coull (1998). Approximate is better than "exact" for interval estimation of binomial
    proportions. The American Statistician 52.

    Vardasbi, Oosterhuis and de Rijke (2020). When inverse propensity scoring does not work: Affine
    corrections for unbiased learning to rank. CIKM.

    Examples
    --------
    >>> from skcalrank import ClickSessions
    >>> from skcalrank.aggregation import position_based
    >>> y = ClickSessions([1, 1, 1], [[0, 1], [1, 0]], [[1, 2], [1]])
    >>> estimate = position_based(y, [1.0, 0.5])
    >>> estimate.relevance
    array([0.66666667, 1.33333333, 0.        ])
    >>> estimate.examinations
    array([1.5, 1.5, 0. ])
    """
    beside = {} if hasattr(prior, "predict") else {"prior": prior}
    check_clicks(sessions, "position_based", X=X, **beside)
    check.number("strength", strength, "> 0")
    given = {"propensity": propensity, "trust": trust, "prior": prior}
    propensity, _, prior = settled(position_based, given, sessions, X).values()
    shrunk_to = None if prior is None else _prior(prior, len(sessions))
    slope, offset = PositionModel.of(propensity, trust).at(sessions.position)

    def total(values: Any) -> Any:
        return np.bincount(sessions.shown_rows, values, minlength=len(sessions))

    shown = sessions.impressions
    clicks, examinations = total(sessions.clicks), total(slope * shown)
    answered, divisor = clicks - total(offset * shown), examinations
    if shrunk_to is not None:
        answered, divisor = answered + strength * shrunk_to, divisor + strength
    relevance = arrays.safe_divide(answered, divisor)
    near = np.clip((answered + _MORE_CLICKS) / (divisor + _MORE_EXAMINATIONS), 0, 1)
    clicked = np.minimum(slope * near[sessions.shown_rows] + offset, 1.0)
    noise = np.sqrt(total(shown * clicked * (1 - clicked)))
    error = arrays.safe_divide(noise, np.where(examinations > 0, divisor, 0.0), np.inf)
    return PositionEstimate(relevance, clicks.astype(np.intp), examinations, error)


def settled(
    structure: Any, options: Mapping[str, Any], sessions: Any, X: Any = None
) -> dict[str, Any]:
    """Return options of a structure, those of clicks with propensities and a prior as numbers.

    What depends on all sessions of a fit is then the same for every subset of them.
    """
    options = dict(options)
    if structure is not position_based:
        return options
    propensity = options.get("propensity")
    if propensity is None:
        raise ValueError(
            'structure_options must have the propensities for "position_based", got none: pass '
            'structure_options={"propensity": "fit"}, which estimates them, or an array with the '
            "probability that each position is examined."
        )
    if not isinstance(sessions, (ClickSessions, ClickCounts)):
        return options
    if isinstance(propensity, str):
        if propensity != "fit":
            raise ValueError(f'propensity must be an array or "fit", got {propensity!r}.')
        options["propensity"] = fit_propensities(sessions).propensity
    if hasattr(options.get("prior"), "predict"):
        plain = {name: options[name] for name in ("propensity", "trust") if name in options}
        estimate = position_based(sessions, **plain)
        e = estimate.examinations
        options["prior"] = _mapped(options["prior"], X, sessions, estimate.relevance * e, e)
    return options


def _prior(prior: Any, n_rows: int) -> Floats:
    values = check_probabilities(prior, "prior")
    if values.shape not in ((), (n_rows,)):
        raise ValueError(
            f"prior must be a number, have shape ({n_rows},), one relevance for each row, or be a "
            f"fitted ranker, got shape {values.shape}."
        )
    return values


def _mapped(ranker: Any, X: Any, sessions: Any, answered: Floats, e: Floats) -> Floats:
    """Return the relevances that scores of a ranker stand for in other queries."""
    queries = sessions.queries()
    if X is None:
        raise ValueError(
            "X must hold the features of the documents, which the ranker prior scores, got None: "
            "pass X, or as prior relevances in [0, 1]."
        )
    if queries.n_queries < 2:
        raise ValueError(
            "prior must hold relevances for clicks of a single query, got a ranker, whose scores "
            "are mapped to relevances on other queries."
        )
    taken = handed_to(ranker, "predict", qid=sessions.qid)
    scores = np.asarray(call_step(ranker, "predict", X, **taken), dtype=float)
    if scores.shape != e.shape:
        raise ValueError(
            f"X must have a row for each of {len(e)} documents, which the ranker prior scores, got "
            f"scores of shape {scores.shape}."
        )
    fold = (np.argsort(np.argsort(queries.hashes)) % _N_FOLDS)[queries.codes]
    target, out = arrays.safe_divide(answered, e), np.zeros(len(scores))
    for number in range(_N_FOLDS):
        here, others = fold == number, (fold != number) & (e > 0)
        if here.any() and others.any():
            curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
            curve.fit(scores[others], target[others], sample_weight=e[others])
            out[here] = curve.predict(scores[here])
    return out
