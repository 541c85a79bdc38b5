"""Ridge regression from sufficient statistics inside rankers, at once and in chunks."""

import numpy as np
import pytest
from cases import make_data, rankers
from gram_cases import CLOSE, check_close, intercept_or_not
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.linear_model import Ridge, SGDRegressor

from skcalrank import (
    AveragePrecisionRanker,
    DCGRanker,
    ERRRanker,
    LeastSquaresRanker,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    RankingTarget,
    SpearmanRanker,
)
from skcalrank._solvers import SQUARED_LOSSES, WithinQueries, ridge_path
from skcalrank.data import MissingQidError, Queries
from skcalrank.linear_model import GramRidge
from skcalrank.rankers import ScoreRanker
from skcalrank.structured import LowRankLossClassifier

# -- inside rankers --------------------------------------------------------------------


SCORE_RANKERS = [
    r for r in rankers() if isinstance(r, ScoreRanker) and "estimator" in r.get_params()
]
every_score_ranker = pytest.mark.parametrize(
    "ranker", SCORE_RANKERS, ids=lambda r: type(r).__name__
)
every_loss = pytest.mark.parametrize("loss", SQUARED_LOSSES)


def with_gram(ranker, loss, alpha=2.0):
    ranker = clone(ranker).set_params(estimator=GramRidge(alpha), loss=loss)
    if isinstance(ranker, ERRRanker):
        ranker.set_params(max_grade=2)
    return ranker


@pytest.mark.product
@every_loss
@every_score_ranker
def test_rankers_take_it_for_ridge(ranker, loss, rng):
    X, y, qid = make_data(rng)
    weight = rng.uniform(0, 2, len(y))
    ours = with_gram(ranker, loss)
    ridge = clone(ours).set_params(estimator=Ridge(2.0, solver="svd"))
    check_close(ours.fit(X, y, qid, weight), ridge.fit(X, y, qid, weight), X)
    rows = X[:, None] + rng.normal(size=4)
    labels = np.clip(np.round(rows[:, 0] + 1), 0, 2)
    check_close(ours.fit(X, labels), ridge.fit(X, labels), X)


def test_its_default_loss_is_pairwise_squared(rng):
    X, y, qid = make_data(rng)
    ours, default = NDCGRanker(GramRidge()).fit(X, y, qid), NDCGRanker(alpha=1.0).fit(X, y, qid)
    check_close(ours, default, X)


@pytest.mark.parametrize("features", ["concat", "difference"])
@intercept_or_not
def test_regression_of_pairs(features, fit_intercept, rng):
    X, y, qid = make_data(rng)
    X = X + 1000.0
    params = {"surrogate": "pairwise", "pair_features": features}
    inner = {"alpha": 0.5, "fit_intercept": fit_intercept}
    ours = PairwiseDisagreementRanker(GramRidge(**inner), **params)
    ridge = clone(ours).set_params(estimator=Ridge(**inner))
    found, expected = (r.fit(X, y, qid).surrogate_values(X, qid) for r in (ours, ridge))
    for a, b in zip(found, expected):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def test_classifier(rng):
    X, y, _ = make_data(rng)
    ours, ridge = (LowRankLossClassifier(estimator=e).fit(X, y) for e in (GramRidge(), Ridge()))
    np.testing.assert_allclose(ours.expected_loss(X), ridge.expected_loss(X), **CLOSE)


@pytest.mark.parametrize("alpha", [1e3, 1e5])
def test_features_that_nearly_depend_on_each_other(alpha, rng):
    # As in raw LETOR data: every scale, exact dependences, and one whose squares are lost in the
    # rounding of the others, but which the targets tell.
    X, _, qid = make_data(rng, sizes=(30, 50, 20, 40), n_features=8)
    small = rng.normal(size=len(X))
    X *= 10.0 ** np.arange(-1, 7)
    X = np.column_stack([X, X[:, 6] + X[:, 7], X[:, 7] + 3e-2 * small, np.full(len(X), 3.3)])
    y = np.abs(small + rng.normal(size=len(X)))
    rows = np.argsort(qid, kind="stable")
    centred, target = X[rows], y[rows]
    for part in np.split(np.arange(len(X)), np.flatnonzero(np.diff(qid[rows])) + 1):
        for values in (centred, target):
            values[part] = np.sqrt(len(part)) * (values[part] - values[part].mean(axis=0))
    exact = centred @ ridge_on_one_scale(centred, target, alpha)
    for regressor in (Ridge(alpha), GramRidge(alpha)):
        coef = LeastSquaresRanker("eru", estimator=regressor).fit(X, y, qid).coef_
        np.testing.assert_allclose(centred @ coef, exact, atol=1e-5 * abs(exact).max())
    path = WithinQueries(X, y[:, None], Queries.from_qid(qid)).moments()
    found = centred @ ridge_path(path, [alpha])[0, :, 0]
    np.testing.assert_allclose(found, exact, atol=1e-5 * abs(exact).max())


def ridge_on_one_scale(X, target, alpha):
    """Least squares of the penalty stacked below the features, on columns of one scale."""
    scale = np.sqrt((X**2).sum(axis=0) + alpha)
    stacked = np.vstack([X, np.sqrt(alpha) * np.eye(X.shape[1])]) / scale
    return np.linalg.lstsq(stacked, np.append(target, 0 * scale), rcond=None)[0] / scale


# -- rankers in chunks -----------------------------------------------------------------


def chunks_of_queries(qid, rng, n_chunks=3):
    """Rows in chunks of whole queries, in any order."""
    for names in np.array_split(rng.permutation(np.unique(qid)), n_chunks):
        yield rng.permutation(np.flatnonzero(np.isin(qid, names)))


@pytest.mark.product
@every_loss
@every_score_ranker
def test_merged_rankers_are_the_whole(ranker, loss, rng):
    X, y, qid = make_data(rng)
    parts = [
        with_gram(ranker, loss).fit(X[rows], y[rows], qid[rows])
        for rows in chunks_of_queries(qid, rng)
    ]
    before = [part.coef_.copy() for part in parts]
    merged, whole = parts[0].merge(*parts[1:]), with_gram(ranker, loss).fit(X, y, qid)
    check_close(merged, whole, X)
    assert np.array_equal(merged.rank(X, qid), whole.rank(X, qid))
    for part, coef in zip(parts, before):
        assert np.array_equal(part.coef_, coef)
    with pytest.raises(ValueError, match=r"seen by two .*rows of a query must be given to one"):
        merged.merge(parts[0])
    with pytest.raises(ValueError, match="earlier chunk"):
        merged.partial_fit(X, y, qid)


def test_rankers_that_cannot_be_merged(rng):
    X, y, qid = make_data(rng)
    fitted = NDCGRanker(GramRidge(), k=3).fit(X, y, qid)
    others = [
        (NDCGRanker(GramRidge(), k=5).fit(X, y, qid + 100), "The measure of a ranker to be merged"),
        (NDCGRanker(GramRidge(), k=3, loss="squared").fit(X, y, qid + 100), "The loss of"),
        (DCGRanker(GramRidge(), k=3).fit(X, y, qid + 100), "The kind of"),
        (NDCGRanker(GramRidge(), k=3).fit(X[:9], np.eye(9)[:, :2]), "equally many items"),
        (NDCGRanker(GramRidge(), k=3).fit(X[:, :2], y, qid + 100), "2 features"),
    ]
    for other, words in others:
        with pytest.raises(ValueError, match=words):
            fitted.merge(other)
    assert not hasattr(NDCGRanker(Ridge()), "merge")


@pytest.mark.parametrize("changed", [{"k": 5}, {"gain": "linear"}, {"loss": "squared"}], ids=str)
def test_what_is_learned_stays_the_same_over_chunks(changed, rng):
    X, y, qid = make_data(rng)
    ranker = NDCGRanker(GramRidge(), k=3).fit(X, y, qid)
    coef = ranker.coef_.copy()
    with pytest.raises(ValueError, match=r"of this chunk must be .*Begin with a new ranker"):
        ranker.set_params(**changed).partial_fit(X, y, qid + 100)
    assert np.array_equal(ranker.coef_, coef)
    # The penalty can change, since it is not part of the stored sums.
    ranker.set_params(k=3, gain="exponential", loss=None, estimator__alpha=5.0)
    ranker.partial_fit(X, y, qid + 100)


@pytest.mark.product
@every_loss
@every_score_ranker
@pytest.mark.parametrize("container", [np.asarray, csr_matrix], ids=["dense", "sparse"])
def test_ranker_in_chunks_is_the_whole(ranker, loss, container, rng):
    X, y, qid = make_data(rng)
    X = X + 20.0
    weight = rng.uniform(0, 2, len(y))
    whole, chunks = with_gram(ranker, loss), with_gram(ranker, loss)
    for number, rows in enumerate(chunks_of_queries(qid, rng)):
        # A target that carries its queries, and a qid beside it, may take turns.
        target = (RankingTarget(y[rows], qid[rows]), None) if number == 1 else (y[rows], qid[rows])
        chunks.partial_fit(container(X[rows]), *target, sample_weight=weight[rows])
    check_close(chunks, whole.fit(container(X), y, qid, weight), X)
    assert np.array_equal(chunks.rank(X, qid), whole.rank(X, qid))
    with pytest.raises(MissingQidError):
        chunks.rank(X)


@pytest.mark.filterwarnings("ignore::skcalrank.data.SingleDocumentsWarning")
@every_loss
def test_label_form_in_chunks(loss, rng):
    X = rng.normal(size=(30, 3))
    y = rng.normal(size=(30, 4))
    whole, chunks = (SpearmanRanker(GramRidge(), loss=loss) for _ in range(2))
    for rows in np.split(rng.permutation(30), [3, 20]):
        chunks.partial_fit(X[rows], y[rows])
    check_close(chunks, whole.fit(X, y), X)
    with pytest.raises(ValueError, match=r"4 items per row.*before, got 3"):
        chunks.partial_fit(X, y[:, :3])
    with pytest.raises(ValueError, match=r"4 items per row.*before, got none"):
        chunks.partial_fit(X, y[:, 0], np.arange(30))


def test_preferences_in_chunks(rng):
    X, y, qid = make_data(rng)
    whole = PairwiseDisagreementRanker(GramRidge()).fit(X, PreferenceTarget.from_relevance(y, qid))
    chunks = PairwiseDisagreementRanker(GramRidge())
    for rows in chunks_of_queries(qid, rng):
        chunks.partial_fit(X[rows], PreferenceTarget.from_relevance(y[rows], qid[rows]))
    check_close(chunks, whole, X)
    assert chunks.score(X, PreferenceTarget.from_relevance(y, qid)) <= 0


def test_chunks_after_fit(rng):
    X, y, qid = make_data(rng)
    first = qid < 13
    ranker = NDCGRanker(GramRidge()).fit(X[first], y[first], qid[first])
    ranker.partial_fit(X[~first], y[~first], qid[~first])
    check_close(ranker, NDCGRanker(Ridge()).fit(X, y, qid), X)
    with pytest.raises(ValueError, match="Query 10 was in an earlier chunk"):
        ranker.partial_fit(X, y, qid)
    ranker.fit(X, y, qid)
    check_close(ranker, NDCGRanker(Ridge()).fit(X, y, qid), X)


def test_chunks_after_a_regressor_without_them(rng):
    X, y, qid = make_data(rng)
    for fitted in (
        NDCGRanker(Ridge()).fit(X, y, qid),
        AveragePrecisionRanker(surrogate="pairwise", relevance_level=1).fit(X, y, qid),
    ):
        params = {"surrogate": "score"} if hasattr(fitted, "surrogate") else {}
        fitted.set_params(estimator=GramRidge(), **params)
        check_close(fitted.partial_fit(X, y, qid), clone(fitted).fit(X, y, qid), X)


@pytest.mark.parametrize(
    "names", [str, lambda q: (q, "x"), lambda q: q], ids=["str", "tuple", "int"]
)
def test_a_query_in_two_chunks_is_named(names, rng):
    X, y, qid = make_data(rng)
    qid = [names(int(q)) for q in np.sort(qid)]
    ranker = NDCGRanker(GramRidge()).partial_fit(X[:10], y[:10], qid[:10])
    before = ranker.coef_.copy()
    again = str(qid[9]).replace("(", r"\(").replace(")", r"\)")
    with pytest.raises(ValueError, match=f"Query '?{again}'? was in an earlier chunk.*whole|one"):
        ranker.partial_fit(X[9:], y[9:], qid[9:])
    assert np.array_equal(ranker.coef_, before)
    ranker.partial_fit(X[10:], y[10:], [f"another {q}" for q in qid[10:]])


@pytest.mark.filterwarnings("ignore::skcalrank.data.OneQueryWarning")
def test_forms_of_chunks_must_agree(rng):
    X, y, qid = make_data(rng)
    ranker = NDCGRanker(GramRidge()).partial_fit(X, y, qid)
    with pytest.raises(MissingQidError, match="qid was given in earlier calls"):
        ranker.partial_fit(X, y)
    with pytest.raises(ValueError, match="features"):
        ranker.partial_fit(X[:, :2], y, qid + 100)
    one_query_each = NDCGRanker(GramRidge()).partial_fit(X, y).partial_fit(X[:5], y[:5])
    with pytest.raises(ValueError, match="chunks before had none"):
        one_query_each.partial_fit(X, y, qid)
    both = np.r_[X, X[:5]], np.r_[y, y[:5]], np.r_[np.zeros(len(y)), np.ones(5)]
    check_close(one_query_each, NDCGRanker(Ridge()).fit(*both), X)


def test_targets_that_a_chunk_does_not_know():
    with pytest.raises(ValueError, match="set max_grade"):
        ERRRanker(GramRidge()).partial_fit([[0.0], [1.0]], [0, 1], [7, 7])


def test_who_has_partial_fit():
    assert hasattr(NDCGRanker(GramRidge()), "partial_fit")
    assert hasattr(NDCGRanker(SGDRegressor()), "partial_fit")
    assert not hasattr(NDCGRanker(Ridge()), "partial_fit")
    assert hasattr(AveragePrecisionRanker(GramRidge()), "partial_fit")
    assert not hasattr(AveragePrecisionRanker(GramRidge(), surrogate="pairwise"), "partial_fit")
    with pytest.raises(ValueError, match=r"pred must be None.*got 'exact'"):
        AveragePrecisionRanker(GramRidge(), pred="exact").partial_fit([[0.0]], [0], [1])


@every_loss
def test_regressors_that_learn_by_steps_see_queries_again(loss, rng):
    X, y, qid = make_data(rng)
    ranker = LeastSquaresRanker(estimator=SGDRegressor(random_state=0, eta0=1e-3), loss=loss)
    steps = [ranker.partial_fit(X, y, qid).coef_.copy() for _ in range(3)]
    assert not np.allclose(steps[0], steps[2])
    labels = rng.normal(size=(len(X), 3))
    of_items = SpearmanRanker(SGDRegressor(random_state=0), loss=loss)
    assert of_items.partial_fit(X, labels).partial_fit(X, labels).predict(X).shape == labels.shape
