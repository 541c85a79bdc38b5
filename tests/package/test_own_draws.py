"""What a ranker draws by itself depends on the seed and the names of the queries alone.

Default folds, queries held out for early stopping, and those on which mixtures are fitted are
drawn by hashes of names. Rounding, units, dtypes, containers, another column and the order of the
queries draw the same ones, so that the models differ by what rounding moves.

What a public function draws of queries depends on the seed and these names alone, too. Exceptions
have a reason: draws of judgments, which are numbered, and of what has no names.
"""

from contextlib import contextmanager
from functools import cache
from inspect import getdoc, isclass, signature

import numpy as np
import pytest
from boosting_cases import ENGINES
from every_estimator import (
    EVERY_ESTIMATOR,
    linear_members,
    small_boosted,
    small_tabular,
)
from public import public_names
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.validation import has_fit_parameter

from skcalrank import (
    AggregatedRanker,
    AveragePrecisionRanker,
    BoostedRanker,
    CalibratedRankerCV,
    ClickSessions,
    GuaranteedCutoff,
    LeastSquaresRankerCV,
    NDCGRanker,
    PairwiseDisagreementRanker,
    PreferenceTarget,
    StackingRanker,
    TabularRanker,
    calibration,
    displays,
    evaluation,
    inspection,
    reliability,
    sample_comparisons,
)
from skcalrank.data import Rows
from skcalrank.datasets import RankingData, make_subset_ranking
from skcalrank.rankers import LeastSquaresPairRanker, StochasticAggregatedRanker

N_QUERIES, N_DOCUMENTS = 24, 8
SENTENCE = "Queries are drawn by their names: other names act as another seed."


def histogram(**params):
    return HistGradientBoostingRegressor(
        max_iter=8, early_stopping=True, n_iter_no_change=2, random_state=0, **params
    )


def drawing():
    """Rankers that draw queries by themselves, by name."""
    # The penalties of the default are relative to the features.
    yield "CV", LeastSquaresRankerCV("ndcg@3")
    yield "CV-measures", LeastSquaresRankerCV(["ndcg@3", "dcg"], cv=3)
    # Before scikit-learn 1.7 its trees draw the rows themselves, which a warning says.
    if has_fit_parameter(histogram(), "X_val"):
        yield "trees-histogram", NDCGRanker(histogram())
        yield "trees-histogram-pairs", NDCGRanker(histogram(), loss="pairwise_squared", n_passes=2)
    for seed in (None, 3):
        yield f"stack-{seed}", StackingRanker(linear_members(), random_state=seed)
        yield (
            f"stack-query-{seed}",
            StackingRanker(linear_members(), normalize="query", random_state=seed),
        )
        for engine in ENGINES:
            yield f"trees-{engine}-{seed}", small_boosted(engine, random_state=seed)
            yield f"trees-{engine}-two-{seed}", small_boosted(engine, n_models=2, random_state=seed)
        yield (
            f"cutoff-{seed}",
            GuaranteedCutoff(loss="dcg", by="score", alpha=0.2, random_state=seed),
        )
        values = CalibratedRankerCV(target="grade", level=None, cv=3, random_state=seed)
        yield f"calibrated-{seed}", values
    yield "start", small_boosted(ENGINES[0], start=LeastSquaresRankerCV("ndcg@3"))
    yield "stack-folds", StackingRanker(linear_members(), cv=3)
    yield "stack-trees", StackingRanker(linear_members(("trees", small_boosted(ENGINES[0]))))
    for trees in (None, *ENGINES):
        yield f"tabular-{trees}", small_tabular(trees)
    yield "TabularRanker", TabularRanker(trees=small_boosted(ENGINES[0]), n_jobs=1)
    yield "chunks-None", small_tabular(None)
    yield f"chunks-{ENGINES[0]}", small_tabular(ENGINES[0])


DRAWING = dict(drawing())


def every_drawing(test):
    """Run a test over all that draw: by default each kind, and of its seeds and engines a few."""
    return pytest.mark.kinds(pytest.mark.parametrize("name", DRAWING)(test))


def problem(rng, n_queries=N_QUERIES):
    X = rng.normal(size=(n_queries * N_DOCUMENTS, 4))
    y = np.clip(np.round(X[:, 0] + rng.normal(size=len(X)) + 1), 0, 3)
    return X, y, np.repeat(np.arange(n_queries), N_DOCUMENTS)


@contextmanager
def watched():
    """The names of the queries that are held out, one set for each draw and fold."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        for name in ("held_out", "folds"):
            patch.setattr(Rows, name, told(getattr(Rows, name), seen))
        yield seen


def told(method, seen):
    """The method, whose draws are appended to a list."""

    def draw(rows, *args, **options):
        parts = method(rows, *args, **options)
        masks = [part[1] if isinstance(part, tuple) else part for part in parts]
        seen.append([set(rows.qid[mask].tolist()) for mask in masks])
        return parts

    return draw


def fitted(name, X, y, qid, **params):
    """The fitted ranker, with some other parameters, and the queries that were held out."""
    ranker = clone(DRAWING[name]).set_params(**params)
    with watched() as seen:
        if name.startswith("chunks"):
            halves = [np.isin(qid, part) for part in np.array_split(np.unique(qid), 2)]
            ranker.fit_chunks([(X[rows], y[rows], qid[rows]) for rows in halves])
        else:
            ranker.fit(X, y, qid)
    return ranker, sorted(seen, key=repr)


@cache
def usual(name):
    """The ranker fitted to the problem that tests draw first, and what was held out."""
    return fitted(name, *problem(np.random.default_rng(0)))


def in_float32(X):
    return X.astype(np.float32)


def as_frame(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))


#: What changes no draw, and how far it may move linear fits, in their spread.
CHANGES = {
    "rounded": (lambda X: np.round(X, 12), 1e-11),
    "doubled": (lambda X: 2 * X, 1e-11),
    "float32": (in_float32, 1e-6),
    "fortran": (np.asfortranarray, 1e-11),
    "frame": (as_frame, 1e-11),
    "sparse": (csr_matrix, 1e-11),
}
TAKE_NO_SPARSE = ("tabular", "TabularRanker", "chunks", "stack", "trees-sklearn", "trees-histogram")


@pytest.mark.product
@pytest.mark.parametrize("change", CHANGES)
@every_drawing
def test_the_form_of_the_features_changes_no_draw(name, change, rng):
    if change == "sparse" and name.startswith(TAKE_NO_SPARSE):
        pytest.skip("takes no sparse matrix")
    if change == "frame" and name.startswith("chunks"):
        pytest.skip("the rows of a frame are chosen in another way")
    X, y, qid = problem(rng)
    changed, tolerance = CHANGES[change]
    one, expected = usual(name)
    two, drawn = fitted(name, changed(X), y, qid)
    assert expected
    assert drawn == expected
    if change == "doubled" and name.startswith(("tabular", "Tabular", "chunks")):
        return  # logarithms of features depend on their units
    scores = one.predict(X, qid)
    tolerance = 0.0 if name.startswith("trees") else tolerance * np.ptp(scores)
    np.testing.assert_allclose(two.predict(changed(X), qid), scores, rtol=0, atol=tolerance)


@every_drawing
def test_another_column_changes_no_draw(name, rng):
    X, y, qid = problem(rng)
    _, expected = usual(name)
    _, drawn = fitted(name, np.column_stack([X, rng.normal(size=len(X))]), y, qid)
    assert drawn == expected


@pytest.mark.product
@every_drawing
def test_the_order_of_the_queries_changes_nothing(name, rng):
    X, y, qid = problem(rng)
    one, expected = usual(name)
    rows = np.argsort(rng.permutation(N_QUERIES)[qid], kind="stable")
    two, drawn = fitted(name, X[rows], y[rows], qid[rows])
    assert drawn == expected
    scores = one.predict(X, qid)
    np.testing.assert_allclose(two.predict(X, qid), scores, rtol=0, atol=1e-12 * np.std(scores))


@pytest.mark.product
@every_drawing
def test_the_order_of_rows_within_queries_changes_last_bits(name, rng):
    X, y, qid = problem(rng)
    one, expected = usual(name)
    rows = rng.permutation(len(y))
    two, drawn = fitted(name, X[rows], y[rows], qid[rows])
    assert drawn == expected
    scores = one.predict(X, qid)
    np.testing.assert_allclose(two.predict(X, qid), scores, rtol=0, atol=1e-9 * np.std(scores))


@every_drawing
def test_names_act_as_seeds(name, rng):
    X, y, qid = problem(rng)
    _, expected = usual(name)
    for alike in (qid.astype(object), qid.astype(np.uint8).astype(float)):
        assert fitted(name, X, y, alike)[1] == expected
    _, others = fitted(name, X, y, qid + 1000)
    assert [[{q - 1000 for q in part} for part in draw] for draw in others] != expected


@every_drawing
def test_a_query_keeps_its_side_when_another_one_is_left_out(name, rng):
    X, y, qid = problem(rng, 60)
    _, (all_drawn, *_) = fitted(name, X, y, qid)
    rows = qid != 7
    _, (drawn, *_) = fitted(name, X[rows], y[rows], qid[rows])
    moved = set().union(*(a ^ b for a, b in zip(all_drawn, drawn))) - {7}
    assert len(moved) <= 5


@pytest.mark.parametrize("name", [name for name in DRAWING if name.endswith("-None")])
def test_no_seed_is_seed_0(name, rng):
    if "random_state" not in signature(type(DRAWING[name])).parameters:
        pytest.skip("has no seed")
    X, y, qid = problem(rng)
    assert usual(name)[0].random_state is None
    two = fitted(name, X, y, qid, random_state=0)[0]
    np.testing.assert_array_equal(two.predict(X, qid), usual(name)[0].predict(X, qid))


@pytest.mark.kinds
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", EVERY_ESTIMATOR, ids=lambda case: case.name)
def test_whoever_draws_is_a_case_and_says_so(case, rng):
    with watched() as seen:
        estimator = case.fit(*problem(rng))
    if seen:
        inside = {type(ranker) for ranker in DRAWING.values()}
        assert type(estimator) in inside
        assert SENTENCE in " ".join(getdoc(type(estimator)).split())
    else:
        assert type(estimator) not in {BoostedRanker, StackingRanker, TabularRanker}


# -- draws of functions ----------------------------------------------------------------------


def compared(result):
    """Numbers of a comparison that its methods draw."""
    means = np.array([[row.low, row.high] for row in result.estimates])
    return means, np.array([[row.low, row.high, row.p_adjusted] for row in result.differences])


def comparing(**methods):
    """The function from rows to what these methods draw of a comparison."""

    def draw(X, y, qid):
        scores = dict(zip("abc", X.T))
        options = {"baseline": "b", "n_resamples": 500, **methods}
        result = evaluation.compare(y, scores, ["ndcg@3"], qid=qid, **options)
        values = {name: {"ndcg": result.values[k, 0]} for k, name in enumerate(scores)}
        named = {
            name: {"ndcg": dict(zip(result.queries.tolist(), of["ndcg"]))}
            for name, of in values.items()
        }
        again = evaluation.compare_values(named, **options)
        for one, two in zip(compared(result), compared(again)):
            np.testing.assert_array_equal(one, two)
        return compared(result)

    return draw


def ranked(X, y, qid):
    """Whom of many systems a table of tasks, or a comparison by queries, has above whom."""
    pandas = pytest.importorskip("pandas")
    tasks = qid[np.sort(np.unique(qid, return_index=True)[1])]
    factors, gains = np.random.default_rng(0).normal(size=(4, 30)), np.arange(30) / 30
    values = [X[qid == task].mean(0) @ factors + y[qid == task].mean() * gains for task in tasks]
    table = pandas.DataFrame(values, index=tasks).add_prefix("system ")
    named = {name: {"m": dict(of)} for name, of in table.items()}
    boards = evaluation.rank_sets(table), evaluation.compare_values(named).rank_sets()
    assert (boards[0].above == boards[1].above).all()
    return [boards[0].above]


def clicked(X, y, qid):
    """A report of sessions that show the rows of a query in the order of their first features."""
    of_queries = [np.flatnonzero(qid == name) for name in np.unique(qid)]
    sessions = [rows[np.argsort(X[rows, k])] for rows in of_queries for k in range(3)]
    clicks = [1 + np.flatnonzero(y[rows] + X[rows, 3] > 2) for rows in sessions]
    log = ClickSessions(qid, sessions, clicks)
    report = evaluation.click_ranker(X, log, propensity=1 / np.arange(1.0, N_DOCUMENTS + 1))
    return report.estimate[:3], list(report.choice.lost.values()), report.ranker.ranker_.coef_


def positions(X, y, qid):
    new = np.random.default_rng(1).normal(size=(20, 4))
    options = {"X_new": new, "qid_new": np.zeros(20), "n_draws": 5}
    return [reliability.rank_stability(NDCGRanker(), X, y, qid, **options)]


def curves(X, y, qid):
    pytest.importorskip("matplotlib")
    cutoff = clone(DRAWING["cutoff-3"]).fit(X, y, qid)
    display = displays.CutoffDisplay.from_estimator(
        cutoff, X, y, qid=qid, alpha=[0.3, 0.5], n_splits=3
    )
    return *display.loss.values(), *display.kept.values()


def shuffled_columns(X, y, qid):
    """Importance of columns that vary within the queries, and of one that does not."""
    X = np.column_stack([X[:, :2], np.unique(qid, return_inverse=True)[1]])
    ranker = BoostedRanker(engine="sklearn", loss="pairwise_squared", n_estimators=3)
    ranker.fit(X, y * (X[:, 2] > N_QUERIES // 2), qid)
    found = inspection.query_permutation_importance(ranker, X, y, qid, random_state=0)
    return found.importances, found.errors


def regrets(X, y, qid):
    pytest.importorskip("pandas")
    test = make_subset_ranking(n_queries=20, n_features=4, random_state=0)
    options = {"test": test, "n_samples": [10], "n_repeats": 3, "random_state": 0}
    data = RankingData(X, y, qid)
    return [calibration.regret_curve({"ndcg": NDCGRanker()}, data, **options)["regret"]]


#: Public functions that draw queries, by the names that have `random_state`: arrays that they
#: return for X, y and qid.
FUNCTIONS = {
    "Methods": [
        comparing(test="permutation"),
        comparing(test="permutation", correction="max-t"),
        comparing(interval="bootstrap-t"),
        comparing(tail=0.3),
    ],
    "rank_sets": [ranked],
    "click_ranker": [clicked],
    "rank_stability": [positions],
    "CutoffDisplay.from_estimator": [curves],
    "query_permutation_importance": [shuffled_columns],
    "regret_curve": [regrets],
}

#: Functions that draw documents, which have no names: their order within a query counts.
OF_DOCUMENTS = {"query_permutation_importance"}

#: What else has `random_state`, and why the order of the queries may count, or cannot.
OTHERS = {
    "QueryKFold": "numbers queries in the order of first appearance, as KFold numbers rows",
    "QueryShuffleSplit": "numbers queries in the order of first appearance, as ShuffleSplit does",
    "train_test_query_split": "is a split of QueryShuffleSplit",
    "leaderboard": "draws errors of items, which are sorted; above 2,000 of votes, as is said",
    "sample_comparisons": "makes data",
    "sample_sessions": "makes data",
    "load_digits_queries": "makes data",
    "make_label_ranking": "makes data",
    "make_offers": "makes data",
    "make_subset_ranking": "makes data",
    "LabelDistribution.random": "has no queries",
    "find_counterexample": "has no queries",
    "feedback_arc_positions": "has no queries",
}


@pytest.mark.parametrize("order", ["queries", "rows"])
@pytest.mark.parametrize(
    ("name", "draw"), [(name, draw) for name, draws in FUNCTIONS.items() for draw in draws]
)
@pytest.mark.filterwarnings("ignore")
def test_functions_draw_queries_by_their_names(name, draw, order, rng):
    if order == "rows" and name in OF_DOCUMENTS:
        pytest.skip("draws documents")
    X, y, qid = problem(rng)
    blocks = np.argsort(rng.permutation(N_QUERIES)[qid], kind="stable")
    rows = blocks if order == "queries" else rng.permutation(len(y))
    qid = np.array([f"query {k}" for k in qid])
    expected, found = draw(X, y, qid), draw(X[rows], y[rows], qid[rows])
    for one, two in zip(expected, found):
        np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-12)


# -- draws of judgments ----------------------------------------------------------------------

#: Rankers that draw judgments of all queries by one generator, query after query, so that the order
#: in which the queries appear says which judgments of a query are drawn.
OF_JUDGMENTS = [
    AggregatedRanker("win_rate", order=3, n_draws=2, random_state=0),
    StochasticAggregatedRanker("win_rate", n_updates=50, random_state=0),
]

#: Rankers that draw in predict alone: which of documents that are equal comes first.
OF_EQUAL_DOCUMENTS = [
    AveragePrecisionRanker(),
    LeastSquaresPairRanker(),
    PairwiseDisagreementRanker(),
]


EVERY_RANKER = [*OF_JUDGMENTS, *OF_EQUAL_DOCUMENTS, *DRAWING.values()]


def seeded():
    """Names of public functions, methods and classes that have a seed."""
    public = dict(public_names())
    for name, cls in public_names().items():
        if isclass(cls):
            names = [method for method in vars(cls) if not method.startswith("_")]
            public |= {f"{name}.{method}": getattr(cls, method, None) for method in names}
    return {name for name, of in public.items() if callable(of) and has_seed(of)}


def has_seed(routine):
    try:
        return "random_state" in signature(routine).parameters
    except ValueError:  # methods of C
        return False


def test_whatever_has_a_seed_is_a_case():
    rankers = {type(ranker).__name__ for ranker in EVERY_RANKER}
    assert not {*FUNCTIONS} & {*OTHERS}
    assert {*FUNCTIONS, *OTHERS} <= seeded() <= {*FUNCTIONS, *OTHERS, *rankers}


@pytest.mark.parametrize("ranker", OF_JUDGMENTS, ids=lambda ranker: type(ranker).__name__)
def test_draws_of_judgments_read_the_order_of_the_queries_alone(ranker, rng):
    X, y, qid = problem(rng)
    judged = sample_comparisons(y, qid, n_comparisons=40 * N_QUERIES, random_state=0)

    def predictions(rows, names=qid):
        pairs = [np.argsort(rows)[side] for side in (judged.winner, judged.loser)]
        target = PreferenceTarget.from_comparisons(
            *pairs, names[rows], weight=judged.weight, judgment=judged.judgment
        )
        return clone(ranker).fit(X[rows], target).predict(X)

    expected = predictions(np.arange(len(y)))
    shuffled = np.concatenate(
        [rng.permutation(rows) for rows in np.split(np.arange(len(y)), N_QUERIES)]
    )
    np.testing.assert_allclose(predictions(shuffled), expected, rtol=1e-7, atol=1e-9)
    names = rng.permutation(N_QUERIES)
    np.testing.assert_allclose(predictions(np.arange(len(y)), names[qid]), expected, rtol=1e-9)
    # What gives the reason for the exception: a cure makes this a case of the tests above.
    blocks = np.argsort(names[qid], kind="stable")
    assert not np.allclose(predictions(blocks), expected, rtol=1e-3)
