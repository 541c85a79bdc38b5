"""Conventions of other libraries, each against the library: ties, empty and short queries."""

import numpy as np
import pytest
from sklearn.metrics import dcg_score as sklearn_dcg
from sklearn.metrics import ndcg_score as sklearn_ndcg

from skcalrank import get_scorer, metrics
from skcalrank.measures import CONVENTIONS, MEASURES, NDCG, AveragePrecision, get_measure
from skcalrank.metrics import evaluate, measure_score

EXACT = {"rtol": 1e-12, "atol": 1e-12}
CUTOFFS = (1, 3, 5, 10, 100)


@pytest.fixture
def rows(rng):
    """Graded queries of 1 to 11 documents, one after the other, with ties; some have no gain."""
    sizes = rng.integers(1, 12, size=60)
    qid = np.repeat(np.arange(60), sizes)
    y = rng.choice([0, 0, 0, 1, 2, 3], size=len(qid))
    y[qid < 6] = 0
    return y, rng.integers(0, 5, len(qid)).astype(float), qid, sizes


# -- the libraries -------------------------------------------------------------------------------


def lightgbm_values(y, scores, sizes, metric, **params):
    lightgbm = pytest.importorskip("lightgbm")
    # A model that cannot split leaves the initial scores, and is evaluated on them.
    params = params | {
        "objective": "lambdarank",
        "metric": metric,
        "eval_at": CUTOFFS,
        "min_data_in_leaf": 10 * len(y),
        "feature_pre_filter": False,
        "verbosity": -1,
        "num_threads": 1,
    }
    data = lightgbm.Dataset(np.zeros((len(y), 1)), y, group=sizes, init_score=scores)
    found = {}
    lightgbm.train(params, data, 1, [data], callbacks=[lightgbm.record_evaluation(found)])
    (found,) = found.values()
    return {name: value for name, (value,) in found.items()}


def xgboost_value(y, scores, qid, metric):
    xgboost = pytest.importorskip("xgboost")
    data = xgboost.DMatrix(np.zeros((len(y), 1)), y, qid=qid, base_margin=scores)
    params = {"objective": "rank:ndcg", "eval_metric": metric, "nthread": 1}
    return float(xgboost.train(params, data, 0).eval(data).rsplit(":", 1)[1])


@pytest.mark.parametrize("metric", ["ndcg", "map"])
def test_values_are_those_of_lightgbm(rows, metric):
    y, scores, qid, sizes = rows
    theirs = lightgbm_values(y, scores, sizes, metric)
    ours = evaluate(y, scores, list(theirs), qid=qid, convention="lightgbm")
    for name in theirs:
        # Double precision, but with its own table of discounts.
        assert ours[name] == pytest.approx(theirs[name], rel=1e-9), name


def test_gains_of_ones_own_are_label_gain(rows):
    y, scores, qid, sizes = rows
    gain = [0, 1, 1, 5]
    theirs = lightgbm_values(y, scores, sizes, "ndcg", label_gain=gain)
    options = {"qid": qid, "gain": gain, "convention": "lightgbm"}
    for k in CUTOFFS:
        ours = metrics.ndcg_score(y, scores, k=k, **options)
        assert ours == pytest.approx(theirs[f"ndcg@{k}"], rel=1e-9)


@pytest.mark.every_case
@pytest.mark.parametrize("name", [f"{m}{k}" for m in ("ndcg", "map") for k in ("", "@1", "@4")])
def test_values_are_those_of_xgboost(rows, name):
    y, scores, qid, _ = rows
    y = np.minimum(y, 1) if name.startswith("map") else y
    ours = measure_score(name, y, scores, qid=qid, convention="xgboost")
    assert ours == pytest.approx(xgboost_value(y, scores, qid, name), rel=1e-9)


@pytest.mark.every_case
@pytest.mark.parametrize("k", [None, *CUTOFFS])
def test_values_are_those_of_sklearn(rng, k):
    y, scores = rng.integers(0, 4, (40, 9)), rng.integers(0, 4, (40, 9))
    y[:4] = 0
    for ours, theirs in ((metrics.ndcg_score, sklearn_ndcg), (metrics.dcg_score, sklearn_dcg)):
        found = ours(y, scores, k=k, convention="sklearn")
        np.testing.assert_allclose(found, theirs(y, scores, k=k), **EXACT)


TREC = {
    "ndcg": "ndcg",
    "ndcg@5": "ndcg_cut_5",
    "map": "map",
    "map@5": "map_cut_5",
    "precision@5": "P_5",
    "recall@10": "recall_10",
    "r_precision": "Rprec",
    "hit@1": "success_1",
    "hit@5": "success_5",
    "mrr": "recip_rank",
}


def test_values_are_those_of_trec_eval(rows):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    y, scores, qid, _ = rows
    # Rows in the order of the names of their documents: trec_eval breaks ties from Z to A.
    queries = {str(q): np.flatnonzero(qid == q) for q in np.unique(qid)}
    qrel = {q: {f"d{i:04}": int(y[i]) for i in each} for q, each in queries.items()}
    run = {q: {f"d{i:04}": float(scores[i]) for i in each} for q, each in queries.items()}
    theirs = pytrec_eval.RelevanceEvaluator(qrel, set(TREC.values())).evaluate(run)
    ours = evaluate(y, scores, list(TREC), qid=qid, average=False, convention="trec_eval")
    assert set(CONVENTIONS["trec_eval"].options) == {name.split("@")[0] for name in TREC}
    for name, their_name in TREC.items():
        expected = [theirs[q][their_name] for q in queries]
        np.testing.assert_allclose(ours[name], expected, **EXACT, err_msg=name)


# -- what a convention is ------------------------------------------------------------------------


def test_conventions_are_of_measures():
    for convention in CONVENTIONS.values():
        for name in convention.options:
            assert isinstance(get_measure(name, convention=convention.name), MEASURES[name])


def test_what_is_given_beside_a_convention_stays():
    assert get_measure("ndcg@5", convention="sklearn") == NDCG(5, "linear")
    assert get_measure(NDCG(5, "linear"), convention="sklearn") == NDCG(5, "linear")
    assert get_measure(NDCG(5), convention="lightgbm") == NDCG(5)
    assert get_measure("ndcg", gain=[0, 2], convention="sklearn") == NDCG(gain=[0, 2])
    own = get_measure("map", relevance_level=2, convention="lightgbm")
    assert own == AveragePrecision(relevance_level=2, divisor="attainable")
    scorer = get_scorer("ndcg@5", convention="lightgbm", empty="zero")
    assert scorer == get_scorer("ndcg@5", ties="stable", empty="zero")
    y, scores = [[0, 0], [0, 1]], [[1, 1], [2, 2]]
    assert metrics.ndcg_score(y, scores, k=1, convention="xgboost") == 0.5
    assert metrics.ndcg_score(y, scores, k=1, convention="xgboost", empty="zero") == 0
    assert metrics.ndcg_score(y, scores, k=1, convention="xgboost", ties="best") == 1


FUNCTIONS = {
    function.measure.name: function
    for function in map(vars(metrics).get, metrics.__all__)
    if hasattr(function, "measure")
}
GIVEN = [
    (name, measure, option, MEASURES[measure].__dataclass_fields__[option].default)
    for name, convention in CONVENTIONS.items()
    for measure, options in convention.options.items()
    for option in options
]


@pytest.mark.parametrize(("name", "measure", "option", "default"), GIVEN)
def test_an_option_that_is_given_as_its_default_stays(name, measure, option, default):
    given = {option: default}
    assert getattr(get_measure(measure, convention=name, **given), option) == default
    assert getattr(get_scorer(measure, convention=name, **given).measure, option) == default
    y, scores = [0, 2 if option == "gain" else 1, 0, 1, 1], [1, 2, 3, 4, 5]
    others = {k: v for k, v in CONVENTIONS[name].options[measure].items() if k != option}
    found, cutoff = FUNCTIONS[measure], {"k": 2} if MEASURES[measure].has_cutoff else {}
    expected = found(y, scores, **cutoff, **others)
    value = found(y, scores, convention=name, **cutoff, **given)
    assert value == pytest.approx(expected, rel=1e-14)
    with pytest.raises(ValueError, match=rf"must have .*{option}=.* with convention='{name}'"):
        get_measure(MEASURES[measure](), convention=name)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_policies_that_are_given_as_their_defaults_stay(name):
    y, scores = [[0, 0, 0], [2, 0, 1]], [[1, 1, 1], [2, 2, 2]]
    own, measure = CONVENTIONS[name], get_measure("ndcg", convention=name)

    def of_scorer(y, scores, **options):
        scorer = get_scorer("ndcg", **options)
        return measure_score(scorer.measure, y, scores, ties=scorer.ties, empty=scorer.empty)

    calls = [
        metrics.ndcg_score,
        of_scorer,
        lambda *args, **options: measure_score("ndcg", *args, **options),
        lambda *args, **options: evaluate(*args, ["ndcg"], **options)["ndcg"],
    ]
    for given in ({}, {"ties": "average"}, {"empty": "skip"}, {"ties": "average", "empty": "skip"}):
        policies = {"ties": own.ties, "empty": own.empty} | given
        expected = measure_score(measure, y, scores, **policies)
        for call in calls:
            assert call(y, scores, convention=name, **given) == expected


def test_a_library_has_its_measures_only():
    with pytest.raises(ValueError, match=r"convention='lightgbm', got eru"):
        get_measure("eru", convention="lightgbm")
    with pytest.raises(ValueError, match=r"convention must .* got 'catboost'"):
        metrics.ndcg_score([0, 1], [1, 2], convention="catboost")
    with pytest.raises(ValueError, match=r"convention must be one of .* got 3"):
        get_scorer("ndcg", convention=3)
