"""Order-preserving losses against their published formulas, and common properties."""

import pickle
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from skcalrank.columns import CACHE_CELLS
from skcalrank.data import Queries
from skcalrank.losses import (
    LOSSES,
    PREFERENCE_LOSSES,
    PairwiseLogistic,
    PreferenceHinge,
    SquaredHinge,
    get_loss,
)

every_loss = pytest.mark.parametrize("name", LOSSES)
WEIGHTS = ("none", "constant", "random")


def log1pexp(x):
    return np.log(1 + np.exp(x))


def rounded(x, a=0.5):
    return 0.0 if x <= 0 else x * x / (2 * a) if x <= a else x - a / 2


def binary_entropy(v, g, eta):
    return v * np.log(v / g) + (eta - v) * np.log((eta - v) / (eta - g))


# One term, of a document or of a pair, as theory prints it. eta = 3, t = 1, a = 1/2.
POINTWISE = {
    "squared": lambda v, s: (v - s) ** 2,
    "logistic": lambda v, s: v * log1pexp(-s) + (3 - v) * log1pexp(s),
    "exponential": lambda v, s: v * np.exp(-s) + (3 - v) * np.exp(s),
    "squared_hinge": lambda v, s: v * max(1 - s, 0) ** 2 + (3 - v) * max(s, 0) ** 2,
    "differentiable_hinge": lambda v, s: v * rounded(1 - s) + (3 - v) * rounded(s),
    "bregman_logistic": lambda v, s: binary_entropy(v, 3 / (1 + np.exp(-s)), 3),
}
PAIRWISE = {
    "pairwise_squared": lambda v, w, s, t: (v - w - (s - t)) ** 2,
    "pairwise_logistic": lambda v, w, s, t: v * log1pexp(t - s) + w * log1pexp(s - t),
    "pairwise_exponential": lambda v, w, s, t: v * np.exp(t - s) + w * np.exp(s - t),
}


def relative_entropy(v, s, eta):
    """Kullback-Leibler divergence of the shares of the documents and of the remainder."""
    shares = np.append(v, eta - v.sum())
    link = eta * np.append(np.exp(s), 1.0) / (1.0 + np.exp(s).sum())
    return float(np.sum(shares * np.log(shares / link)))


def cross_entropy(v, s):
    """Softmax loss: what the targets pay for the logs of the shares of the scores."""
    return float(-v @ np.log(np.exp(s) / np.exp(s).sum()))


def by_definition(name, v, s, weight):
    if name in POINTWISE:
        return sum(w * POINTWISE[name](a, b) for a, b, w in zip(v, s, weight))
    if name in PAIRWISE:
        mean = weight.mean()
        return sum(
            weight[i] * weight[j] / mean * PAIRWISE[name](v[i], v[j], s[i], s[j])
            for i, j in combinations(range(len(v)), 2)
        )
    if name == "softmax":
        return weight.mean() * cross_entropy(v, s)
    return weight.mean() * relative_entropy(v, s, 3 * len(v))


def make(name, rng, sizes=(1, 2, 7, 3, 12, 5, 2, 1), zeros=False):
    """A loss whose parameters allow all targets, ragged queries, targets and scores."""
    queries = Queries(np.append(0, np.cumsum(sizes)))
    v = rng.uniform(0.05, 2.5, size=queries.n_rows)
    if zeros:
        v *= rng.random(len(v)) < 0.5
    loss = get_loss(name)
    if hasattr(loss, "eta"):
        loss = get_loss(name, eta=3.0 if name != "bregman_kl" else 3.0 * max(sizes))
    return loss.scaled_to(v, queries), queries, v, rng.normal(size=len(v))


def weights(kind, n, rng):
    if kind == "none":
        return None
    return np.full(n, 2.5) if kind == "constant" else rng.uniform(0.2, 3, n)


@pytest.mark.every_case
@pytest.mark.parametrize("name", PAIRWISE)
def test_scores_of_documents_without_pairs_do_not_matter(name, rng):
    loss, queries, v, s = make(name, rng, sizes=(4, 5))
    weight = rng.uniform(0.2, 3, len(v))
    weight[[1, 6, 7]] = 0.0
    far = np.where(weight > 0, s, 1e5)
    value, gradient = loss.value_and_gradient(v, s, queries, weight)
    assert loss.value_and_gradient(v, far, queries, weight)[0] == pytest.approx(value, rel=1e-12)
    for found in (
        loss.value_and_gradient(v, far, queries, weight)[1],
        loss.derivatives(v, far, queries, weight)[0],
        loss.prepare_derivatives(v, queries, weight)(far)[0],
    ):
        np.testing.assert_allclose(found, gradient, rtol=1e-6, atol=1e-9)


@pytest.mark.every_case
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("name", [*POINTWISE, *PAIRWISE, "bregman_kl", "softmax"])
def test_value_is_the_printed_sum(name, kind, rng):
    # One query: eta of bregman_kl is 3 for each document, like that of by_definition.
    loss, queries, v, s = make(name, rng, sizes=(6,))
    weight = weights(kind, len(v), rng)
    expected = by_definition(name, v, s, np.ones(len(v)) if weight is None else weight)
    assert loss.evaluate(v, s, queries, weight)[0] == pytest.approx(expected, rel=1e-12)
    assert loss.value_and_gradient(v, s, queries, weight)[0] == pytest.approx(expected, rel=1e-12)


@every_loss
def test_queries_are_summed(name, rng):
    loss, queries, v, s = make(name, rng)
    weight = rng.uniform(0.2, 3, len(v))
    values = loss.evaluate(v, s, queries, weight)
    alone = [
        loss.evaluate(v[a:b], s[a:b], Queries(np.array([0, b - a])), weight[a:b])[0]
        for a, b in zip(queries.ptr, queries.ptr[1:])
    ]
    np.testing.assert_allclose(values, alone, rtol=1e-12, atol=1e-14)
    total = loss.value_and_gradient(v, s, queries, weight)[0]
    assert total == pytest.approx(values.sum(), rel=1e-12)


@pytest.mark.every_case
@pytest.mark.product
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("zeros", [False, True])
@every_loss
def test_derivatives_by_finite_differences(name, kind, zeros, rng):
    loss, queries, v, s = make(name, rng, zeros=zeros)
    weight = weights(kind, len(v), rng)
    if weight is not None:
        weight[5] = 0.0
    step = 1e-5 * np.eye(len(s))

    def central(of):
        return np.array([(of(s + d) - of(s - d)) / 2e-5 for d in step])

    gradient, curvature = loss.derivatives(v, s, queries, weight)
    numeric = central(lambda s: loss.value_and_gradient(v, s, queries, weight)[0])
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)
    numeric = np.diagonal(central(lambda s: loss.derivatives(v, s, queries, weight)[0]))
    np.testing.assert_allclose(curvature, numeric, rtol=1e-6, atol=1e-6)
    again = loss.value_and_gradient(v, s, queries, weight)[1]
    np.testing.assert_allclose(again, gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.every_case
@pytest.mark.product
@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0, 1000.0])
@every_loss
def test_prepared_derivatives_are_close(name, scale, kind, rng):
    loss, queries, v, s = make(name, rng, sizes=(1, 40, 2, 300, 41, 40), zeros=True)
    weight = weights(kind, len(v), rng)
    if weight is not None:
        weight[queries.ptr[1] : queries.ptr[1] + 20] = 0.0
    prepared = loss.prepare_derivatives(v, queries, weight)
    for scores in (s, scale * s):
        given = v, scores, queries, weight
        triples = zip(prepared(scores), loss.derivatives(*given), (1e-8, 1e-7))
        for found, expected, share in triples:
            # The pair of a document with itself, of curvature v / 4, is integrated and taken away.
            size = np.abs(expected) + (v if weight is None else weight * v)
            bound = share * queries.repeat(queries.max(size)) + 1e-12
            np.testing.assert_array_less(np.abs(found - expected), bound)


def test_prepared_derivatives_do_not_depend_on_the_order(rng, monkeypatch):
    loss, queries, v, s = make("pairwise_logistic", rng, sizes=(70, 40))
    order = np.append(rng.permutation(70), 70 + rng.permutation(40))
    found = loss.prepare_derivatives(v, queries)(s)
    # Many nodes of a long query are computed in parts.
    monkeypatch.setattr("skcalrank.losses._quadrature.CACHE_CELLS", 200)
    again = loss.prepare_derivatives(v[order], queries)(s[order])
    for values, others in zip(found, again):
        np.testing.assert_allclose(values[order], others, rtol=1e-12, atol=1e-13)


@every_loss
def test_convex_and_affine_in_the_targets(name, rng):
    loss, queries, v, s = make(name, rng)
    other_v, other_s = rng.uniform(0.05, 2.5, len(v)), rng.normal(size=len(v))
    middle = loss.evaluate(v, (s + other_s) / 2, queries)
    ends = loss.evaluate(v, s, queries) + loss.evaluate(v, other_s, queries)
    assert (middle <= ends / 2 + 1e-12).all()
    # Differences of losses for two score vectors are affine in the targets.
    gain = [
        loss.evaluate(u, s, queries) - loss.evaluate(u, other_s, queries)
        for u in (v, other_v, (v + other_v) / 2)
    ]
    np.testing.assert_allclose(gain[2], (gain[0] + gain[1]) / 2, rtol=1e-9, atol=1e-9)


@every_loss
def test_infimum_and_minimizer(name, rng):
    loss, queries, v, s = make(name, rng)
    best = loss.minimizer(v, queries)
    least = loss.infimum(v, queries)
    np.testing.assert_allclose(loss.evaluate(v, best, queries), least, rtol=1e-9, atol=1e-12)
    for spread in (0.01, 0.3, 3.0):
        for _ in range(50):
            near = best + spread * rng.normal(size=len(s))
            assert (loss.evaluate(v, near, queries) >= least - 1e-12).all()
    found = minimize(
        lambda s: loss.value_and_gradient(v, s, queries), s, jac=True, method="L-BFGS-B"
    )
    assert found.fun == pytest.approx(least.sum(), rel=1e-6, abs=1e-6)


@every_loss
def test_minimizer_orders_like_the_targets(name, rng):
    loss, queries, v, _ = make(name, rng, sizes=(40,))
    v[5] = v[6]
    best = loss.minimizer(v, queries)
    assert np.array_equal(np.sign(best[:, None] - best), np.sign(v[:, None] - v))


def test_minimizer_where_targets_fill_the_whole():
    # Targets of recall: they sum to eta whatever the labels.
    queries, v = Queries(np.array([0, 3])), np.array([0.7, 0.3, 0.0])
    loss = get_loss("bregman_kl").scaled_to(v, queries)
    best = loss.minimizer(v, queries)
    assert best[0] > best[1] > best[2] == -np.inf
    assert best[0] - best[1] == pytest.approx(np.log(0.7 / 0.3))
    far = np.maximum(best, -300)
    assert loss.evaluate(v, far, queries)[0] == pytest.approx(0, abs=1e-12)


@every_loss
def test_infimum_where_the_minimizer_is_at_infinity(name, rng):
    # Documents of target 0: the infimum is the limit of small targets.
    loss, queries, v, _ = make(name, rng, zeros=True)
    small = np.where(v > 0, v, 1e-9)
    np.testing.assert_allclose(
        loss.infimum(v, queries), loss.infimum(small, queries), rtol=1e-3, atol=1e-3
    )
    far = np.clip(np.nan_to_num(loss.minimizer(v, queries), neginf=-200), -200, 200)
    np.testing.assert_allclose(
        loss.evaluate(v, far, queries), loss.infimum(v, queries), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("name", [n for n in LOSSES if "pairwise" in n or n == "softmax"])
def test_losses_of_pairs_and_lists_see_differences_only(name, rng):
    loss, queries, v, s = make(name, rng)
    shift = queries.repeat(100 * rng.normal(size=queries.n_queries))
    np.testing.assert_allclose(
        loss.evaluate(v, s + shift, queries), loss.evaluate(v, s, queries), rtol=1e-10, atol=1e-10
    )
    assert not loss.needs_intercept
    assert (loss.evaluate(v, s, queries)[queries.sizes == 1] == 0).all()


@pytest.mark.parametrize("name", [n for n in LOSSES if "pairwise" not in n and n != "softmax"])
def test_other_losses_see_shifts(name, rng):
    loss, queries, v, s = make(name, rng)
    assert loss.needs_intercept
    assert not np.allclose(loss.evaluate(v, s + 0.5, queries), loss.evaluate(v, s, queries))


@every_loss
def test_far_scores_give_numbers(name, rng):
    loss, queries, v, s = make(name, rng, zeros=True)
    for scale in (1e2, 1e4, 1e8):
        value, gradient = loss.value_and_gradient(v, scale * s, queries)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert np.isfinite(loss.derivatives(v, scale * s, queries)[1]).all()
        assert value >= loss.infimum(v, queries).sum() - 1e-9


def test_long_queries_go_through_blocks(rng):
    # One query whose pairs are more than a block, and queries of all sizes around it.
    sizes = (900, 3, 30, 1, 400, 2)
    assert max(sizes) ** 2 > 4 * CACHE_CELLS
    loss, queries, v, s = make("pairwise_logistic", rng, sizes=sizes, zeros=True)
    values = []
    for a, b in zip(queries.ptr, queries.ptr[1:]):
        terms = v[a:b, None] * log1pexp(s[a:b] - s[a:b, None])
        values.append(terms.sum() - np.trace(terms))
    np.testing.assert_allclose(loss.evaluate(v, s, queries), values, rtol=1e-10, atol=1e-12)
    gradient = loss.value_and_gradient(v, s, queries)[1]
    np.testing.assert_allclose(queries.sum(gradient), 0, atol=1e-8)


def test_pair_buckets_hold_every_query_once_and_are_small(rng):
    queries = Queries(np.append(0, np.cumsum(rng.integers(1, 600, size=300))))
    buckets = queries.pair_buckets
    ids = np.concatenate([b.ids for b in buckets])
    assert np.array_equal(np.sort(ids), np.arange(300))
    for bucket in buckets:
        assert len(bucket.ids) == 1 or len(bucket.ids) * bucket.width**2 <= CACHE_CELLS


@every_loss
def test_no_rows(name):
    # As of a worker, whose rows are all held out or none.
    loss, queries, nothing = get_loss(name), Queries.from_qid(np.zeros(0, dtype=int)), np.zeros(0)
    loss = loss.scaled_to(nothing, queries)
    for values in loss.prepare_derivatives(nothing, queries)(nothing):
        assert values.shape == (0,)


def test_all_targets_zero(rng):
    queries = Queries(np.array([0, 3, 5]))
    v, s = np.zeros(5), rng.normal(size=5)
    for name in LOSSES:
        loss = get_loss(name).scaled_to(v, queries)
        value, gradient = loss.value_and_gradient(v, s, queries)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
    assert PairwiseLogistic().evaluate(v, s, queries).tolist() == [0, 0]


@pytest.mark.every_case
@every_loss
def test_options(name):
    loss = get_loss(name)
    assert get_loss(loss) is loss
    assert pickle.loads(pickle.dumps(loss)) == loss
    assert loss.name == name
    with pytest.raises(ValueError, match="Set them on the loss"):
        get_loss(loss, eta=1.0)
    options = {"eta": 0.0, "threshold": -1.0, "smoothing": 0.6}
    for option, value in options.items():
        with pytest.raises(ValueError, match=rf"{option} must .* got {value}"):
            get_loss(name, **{option: value})
    for bad in ("2", np.nan, np.inf):
        with pytest.raises(ValueError, match="eta must "):
            get_loss(name, eta=bad)
    own = ", ".join(vars(loss)) or "none"
    with pytest.raises(ValueError, match=rf"must be None .*\((only )?{own}\)"):
        get_loss(name, name="other")


def test_unknown_loss_lists_the_names():
    with pytest.raises(ValueError, match=r"Unknown loss 'hinge': choose .*pairwise_squared"):
        get_loss("hinge")
    with pytest.raises(ValueError, match="Unknown loss 3"):
        get_loss(3)


@pytest.mark.parametrize("name", [n for n in LOSSES if hasattr(get_loss(n), "eta")])
def test_targets_may_pass_eta_by_rounding(name):
    queries = Queries(np.array([0, 1]))
    for eta in (1.0, 0.3, 7.0):
        loss, above = get_loss(name, eta=eta), np.array([np.nextafter(eta, np.inf)])
        for values in (loss.infimum, loss.minimizer):
            passed, reached = values(above, queries), values(np.array([eta]), queries)
            np.testing.assert_allclose(passed, reached, rtol=1e-7, atol=1e-7)
        # Nor is the loss unbounded below.
        assert loss.evaluate(above, np.array([200.0]), queries)[0] > -1e-9


@pytest.mark.parametrize("name", [n for n in LOSSES if hasattr(get_loss(n), "eta")])
def test_eta_stands_above_every_target(name):
    queries = Queries(np.array([0, 2, 3]))
    v = np.array([0.5, 1.5, 1.0])
    largest = 2.0 if name == "bregman_kl" else 1.5
    assert get_loss(name).scaled_to(v, queries).eta == largest
    assert get_loss(name, eta=7.0).scaled_to(v, queries).eta == 7.0
    assert get_loss(name).scaled_to(0 * v, queries).eta == 1.0
    with pytest.raises(ValueError, match=rf"eta must be at least {largest:g}.* got 1.2"):
        get_loss(name, eta=1.2).scaled_to(v, queries)
    # A sum of targets is rounded, but not by more.
    get_loss(name, eta=largest * (1 - 5e-13)).scaled_to(v, queries)
    with pytest.raises(ValueError, match="eta must be at least"):
        get_loss(name, eta=largest * (1 - 1.5e-12)).scaled_to(v, queries)


@every_loss
def test_negative_targets(name):
    queries, v = Queries(np.array([0, 2])), np.array([-0.5, 1.0])
    if name in ("squared", "pairwise_squared"):
        get_loss(name).scaled_to(v, queries)
    else:
        with pytest.raises(ValueError, match=r"Targets must be non-negative.*-0\.5"):
            get_loss(name).scaled_to(v, queries)


# -- losses of single preferences ------------------------------------------------------

TERMS = {
    "hinge": lambda x: max(1 - x, 0.0),
    "logistic": lambda x: log1pexp(-x),
    "exponential": lambda x: np.exp(-x),
    "squared_hinge": lambda x: max(1 - x, 0.0) ** 2,
}


@pytest.mark.every_case
@pytest.mark.parametrize("margin", [False, True])
@pytest.mark.parametrize("name", PREFERENCE_LOSSES)
def test_preference_losses(name, margin, rng):
    loss = PREFERENCE_LOSSES[name]()
    s = rng.normal(size=9)
    winner, loser = rng.integers(0, 9, size=(2, 30))
    stated, factor = rng.uniform(0, 2, size=(2, 30))
    expected = sum(
        f * (TERMS[name](s[i] - s[j] - h) if margin else h * TERMS[name](s[i] - s[j]))
        for i, j, h, f in zip(winner, loser, stated, factor)
    )
    value, gradient = loss.value_and_gradient(
        s, winner, loser, stated, factor=factor, margin=margin
    )
    assert value == pytest.approx(expected, rel=1e-3 if name == "hinge" else 1e-12)

    def at(s):
        return loss.value_and_gradient(s, winner, loser, stated, factor=factor, margin=margin)[0]

    numeric = [(at(s + d) - at(s - d)) / 2e-6 for d in 1e-6 * np.eye(9)]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", PREFERENCE_LOSSES)
def test_curvatures_of_preference_losses(name, rng):
    loss = PREFERENCE_LOSSES[name]()
    # Some of them in the rounded corner of the hinge.
    ahead = np.append(rng.normal(size=30), 1.0 - loss_width(loss) * rng.uniform(0.1, 0.9, 5))
    step = 1e-6
    numeric = (loss.slopes(ahead + step) - loss.slopes(ahead - step)) / (2 * step)
    np.testing.assert_allclose(loss.curvatures(ahead), numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", PREFERENCE_LOSSES)
def test_a_loss_that_has_ended_has_no_curvature(name):
    loss, ahead = PREFERENCE_LOSSES[name](), np.array([0.5, 1.0, 1.0 + 1e-12, 2.0])
    assert (loss.curvatures(ahead)[loss.slopes(ahead) == 0] == 0).all()


def loss_width(loss):
    return getattr(loss, "corner_width", 0.5)


def test_the_corner_of_the_hinge():
    for bad in (0, 2, "1"):
        with pytest.raises(ValueError, match="corner_width must"):
            PreferenceHinge(corner_width=bad)
    ahead = np.linspace(-2, 3, 501)
    gap = np.maximum(1 - ahead, 0) - PreferenceHinge(corner_width=0.2).terms(ahead)
    assert gap.min() >= 0
    assert gap.max() == pytest.approx(0.1)


@pytest.mark.parametrize("threshold", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("eta", [1.0, 2.5])
def test_squared_hinge_has_its_least_value_at_its_minimizer(threshold, eta):
    loss, v = SquaredHinge(eta=eta, threshold=threshold), np.array([0.0, 0.3, 0.9, 1.0])
    grid = np.linspace(-0.2, threshold + 0.2, 4001)
    risk = np.array([loss.terms(target, grid) for target in v])
    np.testing.assert_allclose(loss.least(v), risk.min(axis=1), atol=1e-5)
    best = loss.minimizer(v, Queries.equal(1, 4))
    np.testing.assert_allclose(loss.terms(v, best), loss.least(v), rtol=1e-12, atol=1e-12)


def test_the_corner_of_a_hinge_is_curved_between_its_ends():
    loss = PreferenceHinge(corner_width=0.5)
    assert loss.curvatures(np.array([0.5, 0.75, 1.0])).tolist() == [0, 2, 0]
