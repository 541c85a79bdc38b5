"""Errors about an argument contain its name, wherever they are raised."""

from datetime import date
from io import BytesIO

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from skcalrank import (
    ClickSessions,
    ERRRanker,
    NDCGRanker,
    PreferenceTarget,
    RankingTarget,
    SpearmanRanker,
)
from skcalrank.calibration import (
    dag_condition,
    find_counterexample,
    low_noise_condition,
    reinforce_condition,
    score_condition,
)
from skcalrank.data import Queries, qid_array
from skcalrank.datasets import Columns, make_offers, make_subset_ranking, read_table
from skcalrank.linear_model import GramRidge
from skcalrank.metrics import (
    auc_score,
    err_score,
    kendall_score,
    ndcg_score,
    pairwise_disagreement_loss,
    precision_at_k_score,
)
from skcalrank.preds import feedback_arc_positions, map_positions
from skcalrank.rankers import PairwiseHingeRanker, StochasticAggregatedRanker

X = np.arange(8.0).reshape(4, 2)
Y, QID = np.array([1.0, 0.0, 2.0, 0.0]), [1, 1, 2, 2]
DATES = np.array(["2024-01-01", "2024-01-03", "2024-01-02", "2024-01-09"], dtype="M8[D]")
RECORDS = np.zeros(4, dtype=[("a", float)])
NO_NUMBERS = {
    "dates": DATES,
    "durations": DATES - DATES[0],
    "records": RECORDS,
    "complex": Y + 1j,
    "objects": [1, {}, 2, 0],
    "text": ["a", "b", "c", "d"],
    "bytes": [b"a"] * 4,
    "None": [1, None, 2, 0],
    "rows of two lengths": [[1], [1, 2], [1], [1]],
    "too large": [10**400, 1.5, "a", 0],
    "sparse": csr_matrix(np.eye(4)[:, :1]),
    "a dict": {0: 1.0},
    "a number": 3.0,
}
DOORS = {
    "X of fit": ("X", lambda bad: NDCGRanker().fit(np.reshape(bad, (4, -1)), Y, QID)),
    "X of predict": ("X", lambda bad: FITTED.predict(np.reshape(bad, (4, -1)))),
    "y of fit": ("y", lambda bad: SpearmanRanker().fit(X, bad, QID)),
    "y of ridge": ("y", lambda bad: GramRidge().fit(X, bad)),
    "labels": ("y_true", lambda bad: ndcg_score(bad, Y, qid=QID)),
    "scores": ("y_score", lambda bad: ndcg_score(Y, bad, qid=QID)),
    "weights": ("sample_weight", lambda bad: NDCGRanker().fit(X, Y, QID, bad)),
    "matrix": ("U", lambda bad: map_positions([bad] * 4)),
}
FITTED = NDCGRanker().fit(X, Y, QID)


@pytest.mark.parametrize("kind", NO_NUMBERS)
@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_number_is_refused_by_name(door, kind):
    name, call = DOORS[door]
    if name in ("X", "U") and kind in ("sparse", "a dict", "a number", "rows of two lengths"):
        pytest.skip("is no matrix")
    if name == "sample_weight" and kind == "a number":
        pytest.skip("is the weight of all rows")
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
        call(NO_NUMBERS[kind])


def test_frames_of_dates_are_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="X must hold numbers, got dtype datetime64"):
        NDCGRanker().fit(pandas.DataFrame({"a": DATES}), Y, QID)


# -- names of queries ------------------------------------------------------------------


def test_names_of_mixed_types_carry_judgments():
    qid = [1, 1, "1", (1,)]
    assert len(PreferenceTarget.from_comparisons([0], [1], qid).queries().sizes) == 3
    assert len(ClickSessions(qid, [[0, 1]], [1]).queries().sizes) == 3


def test_columns_of_names_keep_them_apart():
    for names in (["a", "a\0"], [1, "1"], [2**63, -1], [date(2024, 1, 1), None][:1] * 2):
        codes = Queries.from_qid(qid_array([[name] for name in names])).codes
        assert codes.tolist() == [0, int(names[0] != names[1])]


def test_dates_of_several_units_are_the_same_names():
    days = np.array(["2020-01-01", "2020-01-01", "2020-01-02"], dtype="M8[D]")
    y = RankingTarget([0, 1, 0], days)
    for unit in ("us", "ns"):
        qid = days.astype(f"M8[{unit}]")
        assert ndcg_score(y, [0, 1, 0], qid=qid) == 1.0
        one, other = (PreferenceTarget.from_comparisons([1], [0], names) for names in (days, qid))
        assert one == other
        with pytest.raises(ValueError, match="qid must equal the qid that y carries"):
            ndcg_score(y, [0, 1, 0], qid=qid[::-1])


def test_names_of_polars():
    polars = pytest.importorskip("polars")
    scores = ndcg_score([1, 0], [0, 1], qid=polars.Series(["a", "a\0"]), average=False)
    assert len(scores) == 2
    # Up to version 1.33 such integers end in a panic of the library.
    if hasattr(polars, "Int128") and tuple(map(int, polars.__version__.split(".")[:2])) > (1, 33):
        with pytest.raises(ValueError, match="convertible to a numpy array, got a Series"):
            ndcg_score([1, 0], [0, 1], qid=polars.Series([2**63, -(2**63)], dtype=polars.Int128))


# -- numbers that overflow -------------------------------------------------------------


def test_lists_of_half_precision():
    assert kendall_score([1, 0], list(np.array([2, 1], dtype="f2"))) == 1


def test_scores_whose_sums_overflow_both_ways():
    s = np.array([1.7e308, -1.7e308, 1.7e308, -1.7e308] * 5)
    assert auc_score([s > 0], [s]) == pytest.approx(1, rel=1e-15)
    with pytest.raises(ValueError, match="y_score contains infinity"):
        auc_score([s > 0], [np.where(s > 0, np.inf, -np.inf)])


def test_solvers_that_overflow_name_the_arguments():
    with pytest.raises(ValueError, match="Products of X, y and sample_weight must be finite"):
        PairwiseHingeRanker().fit(X, Y * 1e150, QID, np.full(4, 1e200))


@pytest.mark.filterwarnings("ignore::skcalrank.data.NotGradesWarning")
def test_labels_above_the_highest_grade_are_named():
    with pytest.raises(ValueError, match=r"y must be at most 1000 for err, got 2000"):
        ERRRanker().fit(X, Y * 1000, QID)


def test_spread_beside_large_means_is_no_constant():
    spread = np.array([[0.0], [1.0], [0.0], [3.0]])
    for loss in ("squared", "pairwise_squared"):
        ranker = NDCGRanker(GramRidge(0.0), loss=loss, k=1)
        expected = ranker.fit(spread, Y, QID).rank(spread, QID)
        far = 1e155 + spread * 1e145
        assert np.array_equal(ranker.fit(far, Y, QID).rank(far, QID), expected)


@pytest.mark.long
def test_the_stochastic_ranker_learns_after_queries_of_one_document():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    qid = [*range(30), *[30] * 10]
    ranker = StochasticAggregatedRanker(structure="win_rate", n_updates=60, random_state=0)
    coef = ranker.fit(X, PreferenceTarget.from_relevance(X[:, 0], qid)).coef_
    assert coef[0] > 0.01
    assert np.isfinite(clone(ranker).fit(X[:1], [0.0], [1]).coef_).all()


# -- files -----------------------------------------------------------------------------


def test_tables_of_damaged_text_are_named(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    file = BytesIO()
    pandas.DataFrame({"qid": ["same"] * 2, "label": [0, 1], "f": [2.0, 3.0]}).to_parquet(
        file, compression="none", use_dictionary=False
    )
    path = tmp_path / "a.parquet"
    path.write_bytes(file.getvalue().replace(b"same", b"sam\x80"))
    with pytest.raises(ValueError, match=r"a\.parquet"):
        list(read_table(path, Columns())[1])


NOT_NUMBERS = {
    "max_grade": lambda bad: err_score([0, 1], [0, 1], max_grade=bad),
    "time_limit": lambda bad: feedback_arc_positions(np.eye(3), time_limit=bad),
    "relevance_level": lambda bad: precision_at_k_score([0, 1], [0, 1], relevance_level=bad),
    "normalize": lambda bad: pairwise_disagreement_loss([0, 1], [0, 1], normalize=bad),
    "tol": lambda bad: reinforce_condition(np.eye(3), tol=bad),
    "tol of DAGs": lambda bad: dag_condition(np.eye(3), tol=bad),
    "tol of low noise": lambda bad: low_noise_condition(np.eye(3), tol=bad),
    "tol of scores": lambda bad: score_condition(np.eye(3), [0, 1, 2], tol=bad),
    "r": lambda bad: find_counterexample("squared", "sort", "dcg", r=bad),
    "n_tries": lambda bad: find_counterexample("squared", "sort", "dcg", n_tries=bad),
    "draw": lambda bad: find_counterexample("squared", "sort", "dcg", draw=bad),
    "n_documents": lambda bad: make_subset_ranking(n_documents=bad),
    "n_documents of offers": lambda bad: make_offers(n_documents=bad),
}


@pytest.mark.parametrize("name", NOT_NUMBERS)
@pytest.mark.parametrize("bad", ["2", [2], {}, 1j], ids=str)
def test_options_that_are_not_numbers(name, bad):
    with pytest.raises(ValueError, match=name.split()[0]):
        NOT_NUMBERS[name](bad)
