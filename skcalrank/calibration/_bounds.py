"""Bounds of the target regret by the surrogate regret."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from ..columns import arrays
from ..columns.types import ArrayLike, Ints
from ..data import check
from ..losses import LOSSES, Loss, PointwiseLoss, get_loss
from ..measures import Measure, get_measure
from ..preds import PredResult, map_positions
from ._function import Family, largest_regret
from ._gap import calibration_gap, random_law
from ._orders import all_positions
from ._surrogates import conditional_risk

# Losses whose constant depends on the largest mean target.
_OF_MAX_TARGET = ("pairwise_logistic", "pairwise_exponential", "softmax")

# Numbers of documents of the distributions on which the constant of a custom loss is checked.
_CLAIM_SIZES = (2, 2, 2, 3, 3, 3, 3, 3, 3, 3)

# Largest number of documents for the exact map of MAP.
_LARGEST_MAP = 20


def c_phi(measure: str | Measure, r: int, p: float = 2) -> float:
    r"""Return the constant of the discount of a positional measure in its regret bound.

    .. math:: C_\phi(p) = \Big(\sum_{i \le \lfloor r/2 \rfloor}
        (\phi(i) - \phi(r - i + 1))^p\Big)^{1/p}

    This is eq. 10 of CUG13. The largest distance between two orders, in discounts, is
    :math:`\sqrt 2\, C_\phi(2)`.

    Parameters
    ----------
    measure : str or PositionalMeasure
        As in :func:`~skcalrank.metrics.measure_score`, such as ``"ndcg@10"`` or ``"auc"``.
    r : int
        Number of documents.
    p : float, default=2
        Exponent, >= 1; may be infinite.

    Returns
    -------
    c : float
        0 for a single document.

    Raises
    ------
    ValueError
        If the measure is not positional, or a number is out of its range.

    Examples
    --------
    >>> from skcalrank.calibration import c_phi
    >>> c_phi("precision@1", 10)
    1.0
    >>> round(c_phi("ndcg@10", 100), 3)
    1.58
    """
    measure = get_measure(measure)
    if measure.shape != "documents":
        raise ValueError(
            f"measure must be positional, which {measure.name} is not: choose a measure such as "
            "ndcg@10, or use regret_bound, which supports others too."
        )
    if np.ndim(r):
        raise ValueError(f"r must be one number of documents, got {r!r}.")
    (r,) = _check_sizes(r)
    check.number("p", p, ">= 1", is_finite=False)
    phi = measure.basis(np.arange(1, r + 1), r)  # type: ignore[attr-defined]
    half = r // 2
    return float(np.linalg.norm(phi[:half] - phi[::-1][:half], p)) if half else 0.0


def regret_bound(
    measure: Any,
    loss: str | Loss,
    surrogate_regret: ArrayLike,
    *,
    r: ArrayLike | None,
    eta: float | None = None,
    threshold: float | None = None,
    smoothing: float | None = None,
    max_target: float | None = None,
    best_value: float | None = None,
    max_pair: float | None = None,
    results: PredResult | Sequence[PredResult] | None = None,
    pred: str | None = None,
    margin: float | None = None,
    labels: ArrayLike | None = None,
) -> float | Any:
    r"""Return the largest target regret that is possible with a given surrogate regret.

    For a positional measure and an order-preserving loss on its targets, sorted (CUG13,
    Table 2),

    .. math:: \text{target regret} \le c \, C_\phi(2) \sqrt{\text{surrogate regret}} ,

    for the worst breaking of ties. A loss of your own may have an exponent q other than 2; then
    :math:`C_\phi(p)` and the q-th root take their places, with 1/p + 1/q = 1 (CUG13, Theorem 5.2).
    For MAP, Kendall's tau and pairwise disagreement with least
    squares on their targets of pairs and the exact prediction map (calibrated by RAT13, Theorem 3;
    the bound is the comparison inequality of Ciliberto, Rosasco and Rudi, 2016, and Osokin, Bach
    and Lacoste-Julien, 2017),

    .. math:: \text{target regret} \le \max_{\sigma, \tau} \|\beta_\sigma - \beta_\tau\|
        \sqrt{\text{surrogate regret}} ,

    where for pairwise disagreement, on all r(r-1) entries, the diameter is
    :math:`\sqrt{r(r-1)}`. The root is concave, so the bound also holds for means over queries.

    A map that is not proven best adds its gap. With the mean targets U, their estimates u, the
    positions :math:`\sigma` of the map and the best ones :math:`\sigma^*` for U,

    .. math:: \langle U, \beta_{\sigma^*} - \beta_\sigma \rangle
        = \langle U - u, \beta_{\sigma^*} - \beta_\sigma \rangle
        + \langle u, \beta_{\sigma^*} - \beta_\sigma \rangle ,

    where the second term is at most the gap (twice the gap for Kendall's tau, which counts a pair
    as 1 or -1).

    If every order that is not best loses at least a margin :math:`\delta` on every query, a regret
    is 0 or at least :math:`\delta`, so that it is at most its square over :math:`\delta`: with D
    the factor of the root above,

    .. math:: \text{target regret} \le D^2 \, \text{surrogate regret} / \delta

    (Cabannes, Bach and Rudi, 2021). The smaller of the two bounds is returned. For least squares it
    also holds if on every query the predicted order is better by :math:`\delta`, for the estimates,
    than all orders that differ from it: a regret above 0 takes errors of at least
    :math:`\delta / D`.

    Where a surrogate and a map are not calibrated, such as least squares on the scores of MAP and a
    sort, there is a bound too, which does not vanish with the surrogate regret: the largest convex
    function below :func:`calibration_function`, inverted (DMJ10, Lemma 1; Osokin, Bach and
    Lacoste-Julien, 2017; Struminsky, Lacoste-Julien and Osokin, 2018). It begins at
    :func:`inconsistency_level`, and no bound for all distributions of these labels, and for means
    over queries, is smaller.

    Parameters
    ----------
    measure : str, Measure or array-like of shape (n_predictions, d)
        A positional measure, or a measure of pairs; or the vectors :math:`\beta_t` of any low-rank
        loss, such as ``beta_`` of :class:`~skcalrank.structured.LowRankLossClassifier`.
    loss : str or Loss
        A name in ``LOSSES``, or a loss; ``"squared"`` for measures of pairs and for vectors. The
        bound of a custom loss is the one that its ``constant`` claims, which is checked on a few
        distributions.
    surrogate_regret : float or array-like
        Excess of the surrogate risk over the smallest risk, as a *sum* over the documents or pairs
        of a query. Multiply means over documents by r.
    r : int or array-like of int, or None
        Number of documents, None for vectors. For queries of several sizes, the largest bound is
        returned. At most 20 for MAP, and 8 for a measure of pairs of your own.
    eta, threshold, smoothing : float, default=None
        Options of a loss given by its name. ``eta`` is required if the loss has one.
    max_target : float, default=None
        Largest mean target of a document on any query, :math:`\max_i U_i`: required by
        "pairwise_logistic", "pairwise_exponential" and "softmax", and checked against ``eta``.
    best_value : float, default=None
        In place of ``max_target`` for these losses, if no bound of the targets is known: the
        best possible value of the measure, a mean over the queries, without the terms b(y). The
        bound is then for means over these queries only (CUG13, Corollary A.2), and ``margin`` must
        be None.
    max_pair : float, default=None
        In place of ``max_target`` for "softmax": the largest sum of the mean targets of two
        documents, :math:`\max_{i \ne j} (U_i + U_j)`, which is 1 for targets that sum to at most 1.
    results : PredResult or sequence of PredResult, default=None
        Results of the prediction map of a measure of pairs on the queries, such as those of
        ``ranker.solve(X, qid)``: the mean of their gaps is added. If None, the map is exact.
    pred : {"sort", "exact", "diagonal", "topological"}, default=None
        Prediction map, as in :func:`calibration_gap`. None means the sort for a positional measure,
        and the exact map for a measure of pairs. With another one the bound is that of least
        squares for 2 to 5 documents (5 take up to a minute).
    margin : float, default=None
        Least loss of an order that is not best on its query, on any query, under the true
        distribution; orders that are equally good under it are all best. With least squares it may
        also be the smallest margin of the estimates in :func:`margin_report`, unless that is 0: a
        tie of estimates has no linear bound.
    labels : array-like of shape (m, r) or (m, r, r), default=None
        Possible labels, where `pred` is not calibrated, as in :func:`calibration_function`.

    Returns
    -------
    bound : float or ndarray
        Of the shape of `surrogate_regret`.

    Raises
    ------
    ValueError
        If no bound is known for the measure and the loss, something required is missing, a number
        is out of its range, or a distribution violates the bound of a custom loss. ``smoothing``
        must be at most 1/2: the range printed in CUG13 is too large.

    Notes
    -----
    For "pairwise_squared", :math:`c = \sqrt{2/r}`, where the table has 1.

    Examples
    --------
    >>> from skcalrank.calibration import regret_bound
    >>> round(regret_bound("precision@1", "squared", 0.01, r=10), 4)
    0.1414
    >>> round(regret_bound("ndcg@10", "logistic", 0.01, r=100, eta=1.0), 4)
    0.158
    >>> round(regret_bound("map", "squared", 0.01, r=5), 4)
    0.128
    >>> regret_bound([[0.0, 0.0], [3.0, 4.0]], "squared", 0.01, r=None)
    0.5

    With a map that stops before it has proven its order:

    >>> from skcalrank.preds import feedback_arc_positions
    >>> result = feedback_arc_positions([[0, 3, 0], [0, 0, 2], [1, 0, 0]], method="local_search")
    >>> result.gap
    1.0
    >>> round(regret_bound("neg_pairwise_disagreement", "squared", 0.01, r=3, results=result), 4)
    1.2449

    With a sort, MAP can lose up to 1/18 without any surrogate regret:

    >>> regret_bound("map", "squared", [0.0, 0.001], r=3, pred="sort").round(4)
    array([0.0556, 0.0857])
    """
    regret = arrays.as_array(surrogate_regret, "surrogate_regret").astype(float)
    wrong = ~((regret >= 0) & (regret < np.inf))
    if wrong.any():
        raise ValueError(
            f"surrogate_regret must be finite and non-negative, got {regret[wrong][0]:g}."
        )
    if margin is not None:
        check.number("margin", margin, "> 0")
    is_calibrated = _is_calibrated(measure, pred)
    if np.ndim(measure) or not is_calibrated:
        options = {"eta": eta, "threshold": threshold, "smoothing": smoothing}
        options |= {"max_target": max_target, "best_value": best_value, "max_pair": max_pair}
        of = "vectors" if is_calibrated else f"pred={pred!r}, which is not calibrated"
        _refuse_unread(of, **options)
    if not is_calibrated:
        if margin is not None or results is not None:
            raise ValueError(
                f"margin and results must be None for pred={pred!r}, which is not calibrated."
            )
        family = [_family(measure, loss, pred, r, labels) for r in _check_sizes(r).tolist()]
        bound = [max(largest_regret(one, s) for one in family) for s in regret.ravel().tolist()]
        return np.reshape(bound, regret.shape) if regret.ndim else bound[0]
    if labels is not None:
        raise ValueError(
            f"labels must be None for pred={pred!r}, whose bound is for all labels: they are read "
            "where the map is not calibrated."
        )
    if np.ndim(measure):
        vectors = arrays.checked(measure, "measure")
        if get_loss(loss).name != "squared":
            raise ValueError(f"loss must be 'squared' for vectors, got {loss!r}.")
        factor, q = float(pdist(vectors).max(initial=0.0)), 2.0
    else:
        measure = get_measure(measure)
        if max_pair is not None:
            max_target = _half_of_pair(loss, max_pair, max_target)
        sizes = _check_sizes(r)
        targets = dict.fromkeys(sizes.tolist(), max_target)
        if best_value is not None:
            targets = _largest_targets(measure, loss, sizes, best_value, max_target)
            max_target = max(targets.values())
        loss = _bounded(loss, max_target, eta=eta, threshold=threshold, smoothing=smoothing)
        factor = max(_factor(measure, loss, r, largest) for r, largest in targets.items())
        q = loss.exponent
        if type(loss) not in LOSSES.values() and factor < np.inf:
            _check_claim(measure, loss)
    # An infinite factor means that no bound is known, not even for a regret of 0.
    bound = np.full(regret.shape, factor) if np.isinf(factor) else factor * regret ** (1.0 / q)
    if margin is not None:
        if results is not None or best_value is not None:
            raise ValueError("margin must be None with results or best_value, got both.")
        bound = np.minimum(bound, bound * (bound / margin) ** (q - 1.0))
    bound = bound + _mean_gap(measure, results)
    return bound if regret.ndim else float(bound)


def _refuse_unread(of: str, **options: float | None) -> None:
    """Raise for an option of a loss, where the bound reads none."""
    for name, value in options.items():
        if value is not None:
            raise ValueError(f"{name} must be None for {of}, got {value!r}: it is not read.")


def _is_calibrated(measure: Any, pred: Any) -> bool:
    """Return whether a map of a measure is the one whose bound is a root."""
    if np.ndim(measure) and pred is not None:
        raise ValueError(f"pred must be None for vectors, got {pred!r}.")
    if pred is None:
        return True
    return {"documents": "sort", "pairs": "exact"}.get(str(get_measure(measure).shape)) == pred


def _family(measure: Any, loss: Any, pred: Any, r: int, labels: Any) -> Family:
    """Return the laws and least squares of a map that is not calibrated, or raise."""
    check.count("r", r, least=2, most=5)
    surrogate = get_loss(loss).name
    if surrogate not in ("squared", "pairwise_squared"):
        raise ValueError(
            f"loss must be 'squared' or 'pairwise_squared' for pred={pred!r}, which is not "
            f"calibrated for {get_measure(measure).name}, got {surrogate!r}."
        )
    return Family(surrogate if pred == "sort" else "pairs", pred, measure, r, labels)


def _mean_gap(measure: Any, results: Any) -> float:
    """Return the mean gap of results of a map of pairs, 0 without results, or raise."""
    if results is None:
        return 0.0
    if getattr(measure, "shape", None) != "pairs":
        raise ValueError(
            "results must be None unless the measure is one of pairs, whose map may leave a gap."
        )
    results = [results] if isinstance(results, PredResult) else list(results)
    if not results or not all(isinstance(result, PredResult) for result in results):
        raise ValueError(f"results must be results of a prediction map, got {results!r}.")
    gaps = np.concatenate([np.ravel(result.gap) for result in results])
    # What a pair of documents in the wrong order costs.
    unit = diameter(measure, 2) / np.sqrt(2.0) if measure.objective == "disagreement" else 1.0
    return float(unit * gaps.mean())


def _largest_targets(
    measure: Any, loss: Any, sizes: Ints, best_value: float, max_target: float | None
) -> dict[int, float]:
    """Return what stands for the largest target in CUG13, Corollary A.2, by number of documents.

    The constant of the loss contains the root of the largest mean target B of a query. By the
    inequality of Cauchy and Schwarz, the mean of B, at most the best value over the discount of the
    first position, takes its place.
    """
    if max_target is not None:
        raise ValueError("best_value must be None with max_target: give one of the two.")
    if measure.shape != "documents" or get_loss(loss).name not in _OF_MAX_TARGET:
        raise ValueError(
            "best_value must be None unless the measure is positional and the loss one of "
            f"{', '.join(_OF_MAX_TARGET)}, got {measure.name} and {get_loss(loss).name!r}."
        )
    check.number("best_value", best_value, ">= 0")
    first = np.ones(1, dtype=int)
    return {r: float(best_value / measure.basis(first, np.array([r]))[0]) for r in sizes.tolist()}


def _half_of_pair(loss: Any, max_pair: float, max_target: float | None) -> float:
    """Return what stands for the largest target in the constant of a loss of pairs of targets."""
    if get_loss(loss).name != "softmax" or max_target is not None:
        raise ValueError(
            "max_pair must be None with max_target, and for losses other than 'softmax', got "
            f"{max_pair!r} for {get_loss(loss).name!r}."
        )
    check.number("max_pair", max_pair, ">= 0")
    return float(max_pair) / 2.0


def _bounded(loss: Any, max_target: float | None, **options: float | None) -> Any:
    """Return the loss with all options that its bound depends on, or raise if one is missing."""
    loss = get_loss(loss, **options)
    eta = getattr(loss, "eta", 0.0)
    if eta is None:
        least = "target (1 for precision, recall and NDCG)"
        if loss.name == "bregman_kl":
            least = "sum of the targets of a query"
        raise ValueError(
            f"eta must be given for the loss {loss.name!r}, whose bound depends on it: at least "
            f"the largest {least}."
        )
    if max_target is None:
        if loss.name in _OF_MAX_TARGET:
            raise ValueError(
                f"max_target must be given, because the bound of the loss {loss.name!r} depends on "
                "the largest mean target (1 is enough for precision, recall and NDCG)."
            )
        return loss
    check.number("max_target", max_target, ">= 0")
    if eta and max_target > eta:
        raise ValueError(f"eta must be at least max_target={max_target!r}, got {eta!r}.")
    return loss


def _factor(measure: Measure, loss: Any, r: int, max_target: float | None) -> float:
    """Return the factor of the root of the surrogate regret."""
    if measure.shape == "documents":
        constant = loss.constant(max_target) if max_target is not None else loss.constant()
        if loss.name == "pairwise_squared":
            constant = min(constant, np.sqrt(2.0 / r))
        spread = c_phi(measure, r, _conjugate(loss.exponent))
        # A single document has one order, so the factor is 0 even if the constant is infinite.
        return constant * spread if spread else 0.0
    if measure.shape is None:
        raise ValueError(
            "measure must have a bound that is 0 where the regret of the loss is, for every "
            f"distribution, got {measure.full_name}: pass pred='sort' for a bound that begins at a "
            "level, or precision@1 in place of hit@1 and mrr@1."
        )
    if loss.name != "squared":
        raise ValueError(
            f"loss must be 'squared' for {measure.name}, whose bound is for least squares on its "
            f"targets of pairs, got {loss.name!r}."
        )
    return diameter(measure, r)


def _conjugate(q: float) -> float:
    """Return p with 1/p + 1/q = 1."""
    check.number("exponent of the loss", q, ">= 1")
    return np.inf if q == 1 else q / (q - 1.0)


def _check_claim(measure: Any, loss: PointwiseLoss) -> None:
    """Raise if a distribution is found under which the bound of a custom loss is violated."""
    rng = np.random.RandomState(0)
    for r in _CLAIM_SIZES:
        law = random_law(rng, r, measure)
        if law.targets(measure).max() > (getattr(loss, "eta", None) or np.inf):
            continue
        scaled = conditional_risk(loss, law, measure).loss
        result = calibration_gap(loss, "sort", measure, law)
        constant = scaled.constant(float(law.expected_targets(measure).max()))
        q = scaled.exponent
        bound = constant * c_phi(measure, r, _conjugate(q)) * result.gap ** (1.0 / q)
        if result.regret > bound * (1 + 1e-6) + 1e-9:
            raise ValueError(
                f"The constant of the loss {loss.name!r} must bound the regret, got a bound of "
                f"{bound:.4g} for a regret of {result.regret:.4g} under {law!r}: return "
                "numpy.inf where no bound is proven."
            )


def diameter(measure: Any, r: int) -> float:
    """Return the largest distance between the bases of two orders, for a measure of pairs."""
    first = np.arange(1, r + 1)
    if measure.objective == "disagreement":
        # Two orders may disagree on every pair.
        others = first[None, ::-1]
    elif measure.objective == "map":
        if r > _LARGEST_MAP:
            raise ValueError(
                f"r must be at most {_LARGEST_MAP} for MAP, got {r}: larger bounds are not known."
            )
        # All bases have the same norm, so the farthest one has the smallest inner product.
        farthest = map_positions(-measure.pair_basis(first), time_limit=None, **measure.problem)
        others = farthest.positions[None]
    else:
        others = all_positions(r)
    apart = measure.pair_basis(others) - measure.pair_basis(first)
    return float(np.sqrt((apart**2).sum(axis=(1, 2)).max()))


def _check_sizes(r: Any) -> Ints:
    """Return the distinct numbers of documents, or raise."""
    sizes = np.unique(r)
    if sizes.dtype.kind not in "iu" or not len(sizes) or sizes[0] < 1:
        raise ValueError(f"r must be an integer >= 1, or several, got {r!r}.")
    return sizes
