"""What calibration_of says of rankers, against enumeration, the pages and the command line."""

import re
from pathlib import Path

import numpy as np
import pytest
from boosting_cases import NEEDS_LIGHTGBM
from public import public_names
from row_laws import law_of
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import AdaBoostRegressor, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import skcalrank
from skcalrank import (
    AggregatedRanker,
    AveragePrecisionRanker,
    BoostedRanker,
    DCGRanker,
    ERRRanker,
    LeastSquaresRankerCV,
    MultiLabelRanker,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
    RecallRanker,
    StackingRanker,
)
from skcalrank.calibration import calibration_of
from skcalrank.losses import LOSSES, PairwiseTemplate, Squared
from skcalrank.measures import DCG, PositionalMeasure, get_measure
from skcalrank.preds import Pred
from skcalrank.rankers import (
    DifferenceGraphRanker,
    PairwiseHingeRanker,
    StochasticAggregatedRanker,
    ValueRegularizedRanker,
)
from skcalrank.testing import all_rankers

MEDIAN = HistGradientBoostingRegressor(loss="absolute_error")


class OwnLoss(Squared):
    """A subclass may be any loss."""


class Rising(PositionalMeasure):
    """A measure of the last positions."""

    name = "rising"

    def targets(self, y, queries):
        return y

    def basis(self, positions, sizes):
        return positions / sizes


TEMPLATE = PairwiseTemplate(
    lambda x: np.exp(-x), lambda x: -np.exp(-x), lambda x: np.exp(-x), name="own"
)
OWN_AUTO = Pred.from_positions(lambda U: np.arange(1, len(U) + 1), "map", name="auto")
NOT = ("none", "does not estimate means")
LAW = [
    (NDCGRanker(), "query", "means estimated from the whole query"),
    (DCGRanker(), "always", "or from a row"),
    (LeastSquaresRankerCV("precision@3"), "always", "means"),
    (make_pipeline(StandardScaler(), NDCGRanker()), "query", "means"),
    (NDCGRanker(loss="centered"), "condition", "carries its whole query"),
    (NDCGRanker(targets="separable"), "condition", "independent and stochastically ordered"),
    (RecallRanker(targets="separable"), "condition", "independent given"),
    (NDCGRanker(SVR()), "none", "SVR does not estimate means"),
    (NDCGRanker(make_pipeline(StandardScaler(), SVR())), "none", "SVR does not estimate means"),
    (RecallRanker(MEDIAN, loss="centered"), "none", "absolute_error.* does not estimate means"),
    (NDCGRanker(GridSearchCV(HistGradientBoostingRegressor(), {"loss": ["absolute_error"]})), *NOT),
    (NDCGRanker(GridSearchCV(Ridge(), [{"alpha": [1.0]}, {"max_iter": [5]}])), "query", "means"),
    (
        NDCGRanker(RandomizedSearchCV(Pipeline([("last", Ridge())]), {"last": [Ridge(), SVR()]})),
        *NOT,
    ),
    (NDCGRanker(AdaBoostRegressor()), *NOT),
    (NDCGRanker(DummyRegressor(strategy="median")), *NOT),
    (NDCGRanker(FrozenEstimator(Ridge())), *NOT),
    (NDCGRanker(LogisticRegression()), *NOT),
    (NDCGRanker(DecisionTreeRegressor(criterion="poisson")), "query", "means"),
    (ERRRanker(), "condition", "independent"),
    (AveragePrecisionRanker(), "condition", "P_reinforce"),
    (AveragePrecisionRanker(surrogate="pairwise", pred="exact"), "query", "Theorem 3"),
    (AveragePrecisionRanker(surrogate="pairwise", pred="diagonal"), "condition", "P_reinforce"),
    (AveragePrecisionRanker(surrogate="pairwise", pred="beam"), "none", "the map 'beam'"),
    (AveragePrecisionRanker(surrogate="pairwise"), "condition", "map is exact"),
    (AveragePrecisionRanker(MEDIAN, surrogate="pairwise", pred="exact"), "none", "means"),
    (PairwiseDisagreementRanker(), "condition", "P_f"),
    (PairwiseDisagreementRanker(score_function=np.sum), "condition", "score_function"),
    (PairwiseDisagreementRanker(surrogate="pairwise", pred="topological"), "condition", "P_DAG"),
    (ValueRegularizedRanker(), "condition", "P_f"),
    (DifferenceGraphRanker(), "condition", "P_DAG"),
    (PairwiseHingeRanker(), "none", "low noise"),
    (PairwiseLogisticRanker(), "none", "low noise"),
    *[(OrderPreservingRanker("ndcg@5", loss=loss), "query", "means") for loss in LOSSES],
    (OrderPreservingRanker("precision@5", loss="logistic"), "always", "or from a row"),
    (OrderPreservingRanker("precision@5", loss="bregman_kl"), "query", "the whole query$"),
    (OrderPreservingRanker("precision@5", loss=TEMPLATE), "query", "the whole query$"),
    (BoostedRanker("dcg", loss="bregman_kl"), "query", "the whole query$"),
    (OrderPreservingRanker(loss=TEMPLATE), "query", "means"),
    (OrderPreservingRanker(loss=OwnLoss()), "none", "find_counterexample"),
    (OrderPreservingRanker("map"), "condition", "P_reinforce"),
    (OrderPreservingRanker("hit@1"), "always", "means"),
    (OrderPreservingRanker("hit@2"), "condition", "independent"),
    (BoostedRanker(), "query", "means"),
    pytest.param(BoostedRanker(loss="lambdarank"), "none", "lambdarank", marks=NEEDS_LIGHTGBM),
    (BoostedRanker(n_models=2), "none", "sums of models"),
    (BoostedRanker("precision", n_models=2), "always", "means"),
    (BoostedRanker("dcg", targets="grades"), "none", "grades"),
    (BoostedRanker(DCG(gain="linear"), targets="grades"), "always", "means"),
    (BoostedRanker("precision@5", targets="grades"), "always", "means"),
    (BoostedRanker(targets="separable"), "condition", "stochastically"),
    (AggregatedRanker(), "condition", "many judgments"),
    (AggregatedRanker(ranker=NDCGRanker(SVR())), "none", "SVR"),
    (StochasticAggregatedRanker(), "condition", "many judgments"),
    (MultiLabelRanker(), "condition", "mix"),
    (StackingRanker([("a", NDCGRanker())]), "none", "no theorem"),
    (LinearRegression(), "none", "LinearRegression is no ranker"),
    (Pipeline([("last", "passthrough")]), "none", "str is no ranker"),
    (GridSearchCV(NDCGRanker(), {"loss": ["centered"]}), "none", "GridSearchCV chooses .* in fit"),
    (FrozenEstimator(NDCGRanker(loss="centered")), "condition", "carries its whole query"),
    (AveragePrecisionRanker(surrogate="pairwise", pred=OWN_AUTO), "none", "the map 'auto'"),
]


@pytest.mark.parametrize(("ranker", "holds", "why"), LAW, ids=lambda x: str(x)[:40])
def test_parameters_are_read(ranker, holds, why):
    calibration = calibration_of(ranker)
    assert calibration.holds == holds
    assert re.search(why, calibration.why)


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotAMeanWarning")
def test_a_search_is_read_after_its_fit(rng):
    X, y = rng.normal(size=(30, 2)), rng.integers(0, 3, (30, 4))
    search = GridSearchCV(NDCGRanker(), {"estimator": [SVR()]}, cv=2)
    assert "SVR" in calibration_of(make_pipeline(StandardScaler(), search).fit(X, y)).why


@pytest.mark.parametrize(
    ("ranker", "name"),
    [
        (NDCGRanker(targets="nonsense"), "targets"),
        (NDCGRanker(loss="nonsense"), "loss"),
        (NDCGRanker("ndcg"), "estimator"),
        (AveragePrecisionRanker(pred="exact"), "pred"),
        (AveragePrecisionRanker(surrogate="both"), "surrogate"),
        (BoostedRanker(targets="nonsense"), "targets"),
        (AggregatedRanker(ranker=Ridge()), "ranker"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_parameters_that_fit_refuses_are_refused(ranker, name):
    with pytest.raises((ValueError, TypeError), match=f"\\b{name}\\b"):
        calibration_of(ranker)


def test_a_row_of_the_label_ranking_form_carries_its_query():
    ranker = NDCGRanker(loss="centered").fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    assert calibration_of(ranker).holds == "query"
    ranker = NDCGRanker(loss="centered").fit([[0.0], [1.0]], [0, 1], [0, 0])
    assert calibration_of(ranker).holds == "condition"


def test_the_measure_must_be_the_one_that_is_learned():
    assert calibration_of(NDCGRanker(), "ndcg@10").holds == "query"
    assert "learns ndcg@10" in calibration_of(NDCGRanker(), "ndcg@5").why
    assert calibration_of(PrecisionRanker(k=5), "precision@3").holds == "always"
    assert calibration_of(PrecisionRanker(), "hit@1").holds == "always"
    assert calibration_of(PrecisionRanker(), "hit@2").holds == "none"


def test_every_ranker_says_something():
    for name, cls in all_rankers():
        required = {"LeastSquaresRanker": "ndcg@10"}
        if name in ("StackingRanker", "AggregatedRanker"):
            continue
        calibration = calibration_of(cls(required[name]) if name in required else cls())
        assert calibration.holds in ("always", "query", "condition", "none"), name
        assert calibration.why


# -- what is said is true ----------------------------------------------------------------------

REGRESSING = [cls for _, cls in all_rankers() if cls.short_names and cls.regresses_targets]


@pytest.mark.product
@pytest.mark.parametrize("cls", REGRESSING, ids=lambda cls: cls.__name__)
@pytest.mark.parametrize("loss", ["squared", "centered", "pairwise_squared"])
@pytest.mark.parametrize("targets", ["measure", "separable"])
def test_what_always_holds_has_no_regret(cls, loss, targets, rng):
    # A row that carries its query: the label-ranking form of one instance.
    ranker = cls(LinearRegression(fit_intercept=False), loss=loss)
    if targets != "measure":
        if "targets" not in ranker.get_params():
            pytest.skip("has no targets to choose")
        ranker.set_params(targets=targets)
    if calibration_of(ranker).holds not in ("always", "query"):
        pytest.skip("claims less")
    measure = calibration_measure(ranker)
    for _ in range(5):
        law = law_of(measure, 4, rng)
        X = np.ones((len(law.labels), 1))
        fitted = clone(ranker).fit(X, law.labels, sample_weight=law.probabilities)
        assert law.target_regret(measure, fitted.predict([[1.0]])[0]) < 1e-9


def calibration_measure(ranker):
    return clone(ranker).fit([[0.0], [1.0]], [0, 1], [0, 0]).record_.measure


# -- the pages -------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "doc" / "what_is_calibrated.rst").read_text()
ROW = re.compile(r"   \* - (.*?)(?=\n   \* - |\n\n\S)", re.DOTALL)


def rows_of_the_page():
    """Rankers of each row of the table, and for which distributions it says that they are."""
    table = PAGE[PAGE.index("   * - measure") : PAGE.index(".. _noise-conditions:")]
    for row in ROW.findall(table)[1:]:
        cells = [" ".join(cell.split()) for cell in row.split("\n     - ")]
        for text in re.findall(
            r"``([A-Z]\w*\(.*?\))``|:class:`~skcalrank\.(?:\w+\.)?(\w+)`", cells[-1]
        ):
            yield text[0] or f"{text[1]}()", cells[2]


@pytest.mark.parametrize(("text", "stated"), rows_of_the_page())
def test_the_page_says_the_same(text, stated):
    if text.partition("(")[0] in skcalrank.structured.__all__:
        pytest.skip("predicts labels, not orders of documents")
    text = "LeastSquaresRanker('ndcg')" if text == "LeastSquaresRanker()" else text
    ranker = eval(text, public_names())
    if stated.startswith("every distribution"):
        expected = {"always", "query"}
    elif stated.startswith("not even"):
        expected = {"none"}
    else:  # hit@1 is always among the measures of a row
        expected = {"condition", "always", "query"} if "hit@1" in stated else {"condition"}
    assert calibration_of(ranker).holds in expected


def test_the_table_of_rankers_says_the_same():
    page = (Path(__file__).parents[2] / "doc" / "which_ranker.rst").read_text()
    table = page[page.index(":term:`calibrated` for it") :]
    table, read = table[: table.index("\n\n")], 0
    for row in ROW.findall(table + "\n\n|"):
        _, rankers, stated = (" ".join(cell.split()) for cell in row.split("\n     - "))
        for text in re.findall(r"``([A-Z]\w*\(.*?\))``", rankers):
            ranker = eval(text, public_names())
            always = "query" if stated == "always, from the whole query" else "always"
            expected = always if stated.startswith("always") else "condition"
            assert calibration_of(ranker).holds == expected, text
            read += 1
    assert read >= 10


@pytest.mark.parametrize("name", ["losses", "rows_and_context", "what_is_calibrated"])
def test_pages_name_the_losses_that_rows_are_not_enough_for(name):
    page = " ".join((Path(__file__).parents[2] / "doc" / f"{name}.rst").read_text().split())
    start = page.index(":attr:`~skcalrank.losses.Loss.of_rows`")
    around = page[start - 60 : start + 150]
    named = {loss for loss in LOSSES if f'"{loss}"' in around}
    expected = {loss for loss, cls in LOSSES.items() if not cls.of_rows}
    assert named == (set() if name == "what_is_calibrated" else expected)


def test_the_table_is_read():
    assert len(list(rows_of_the_page())) >= 18
    assert get_measure("ndcg").condition == "always"
