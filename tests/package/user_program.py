"""A program of a user: ``mypy --strict`` reads it, and the tests run it.

Every public name is used here. ``assert_type`` states what a type checker must see, and the tests
check that values are of this type when the program runs: test_types.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge  # type: ignore[import-untyped]

import skcalrank
from skcalrank import (
    aggregation,
    boosting,
    calibration,
    data,
    datasets,
    displays,
    evaluation,
    export,
    inspection,
    linear_model,
    losses,
    measures,
    metrics,
    model_selection,
    persistence,
    pipeline,
    preds,
    preprocessing,
    rankers,
    reliability,
    structured,
    testing,
)
from skcalrank.dask import partition_by_query
from skcalrank.data import MissingQidError

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value, _):
        return value


Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.integer[Any]]


def made() -> datasets.RankingData:
    return skcalrank.make_subset_ranking(30, 6, 3, n_grades=2, random_state=0)


def judged() -> skcalrank.PreferenceTarget:
    _, y, qid = made()
    return skcalrank.sample_comparisons(y, qid, n_comparisons=3000, random_state=0)


def scores_with_a_meaning() -> None:
    X, y, qid = made()
    calibrated = skcalrank.CalibratedRankerCV(skcalrank.NDCGRanker(), relevance_level=1)
    assert_type(calibrated.fit(X, y, qid).predict(X, qid), Floats)
    assert_type(calibrated.predict_proba(X, qid), Floats)
    p = calibrated.predict(X, qid)
    errors: list[float] = [
        metrics.document_calibration_error(y >= 1, p),
        metrics.query_calibration_error(y >= 1, p, qid=qid),
    ]
    assert max(errors) >= 0
    cutoff = skcalrank.GuaranteedCutoff(
        skcalrank.NDCGRanker(), "recall", 0.2, by="score", relevance_level=1
    ).fit(X, y, qid)
    kept: np.ndarray[Any, np.dtype[np.bool_]] = cutoff.predict_set(X, qid)
    assert kept.shape == y.shape
    places = reliability.rank_stability(
        skcalrank.NDCGRanker(), X, y, qid, X_new=X, qid_new=qid, n_draws=2
    )
    assert_type(places, Ints)
    shown = displays.ReliabilityDisplay.from_estimator(calibrated, X, y, qid=qid)
    assert_type(shown.documents.observed, Floats)
    losses = displays.CutoffDisplay.from_estimator(cutoff, X, y, qid=qid, n_splits=2)
    assert_type(losses.loss, dict[str, Floats])
    assert_type(cutoff.top_k(X, qid, k=2), Any)


def rankers_of_one_measure() -> None:
    X, y, qid = made()
    every: list[rankers.ScoreRanker] = [
        skcalrank.AUCRanker(targets="separable"),
        skcalrank.AveragePrecisionRanker(targets="separable", random_state=0),
        skcalrank.AveragePrecisionRanker(k=5, divisor="attainable"),
        skcalrank.DCGRanker(k=5, gain="linear", discount=lambda p: 1 / p),
        skcalrank.ERRRanker(max_grade=4.0),
        skcalrank.ExpectedRankUtilityRanker(neutral=0.5, half_life=3.0),
        skcalrank.LeastSquaresRanker("recall@5", alpha=1.0),
        rankers.LeastSquaresPairRanker("map", surrogate="score"),
        skcalrank.LeastSquaresRankerCV(alphas=[0.1, 1.0], cv=2),
        skcalrank.NDCGRanker(Ridge(alpha=2.0), k=5),
        skcalrank.NDCGRanker(alpha="auto", loss="pairwise_squared", query_weight="equal"),
        skcalrank.PairwiseDisagreementRanker(weights="unit"),
        skcalrank.PrecisionRanker(k=3, relevance_level=1.0),
        skcalrank.RBPRanker(p=0.5),
        skcalrank.RecallRanker(k=3),
        skcalrank.SpearmanRanker(),
    ]
    for ranker in every:
        assert_type(ranker.fit(X, y, qid), rankers.ScoreRanker)
        assert_type(ranker.predict(X, qid), Floats)
        assert_type(ranker.surrogate_values(X), Floats)
        assert_type(ranker.top_k(X, qid, k=2), Any)
        assert_type(ranker.score(X, y, qid), float)
        assert_type(ranker.n_items_, int | None)
    ndcg = skcalrank.NDCGRanker().fit(X, y, qid)
    assert_type(ndcg, skcalrank.NDCGRanker)
    assert_type(ndcg.alpha_, float)
    assert_type(ndcg.penalty_scale_, Floats)
    assert_type(ndcg.coef_, Floats)
    assert_type(ndcg.intercept_, float | Any)
    assert_type(ndcg.n_features_in_, int)
    assert_type(ndcg.partial_fit(X, y, qid + 100), skcalrank.NDCGRanker)
    assert_type(ndcg.merge(skcalrank.NDCGRanker().fit(X, y, qid + 200)), skcalrank.NDCGRanker)
    searched = skcalrank.LeastSquaresRankerCV().fit(X, y, qid)
    assert_type(searched, skcalrank.LeastSquaresRankerCV)
    assert_type(searched.best_score_, float)
    assert_type(searched.cv_results_, dict[str, Any])


def rankers_of_any_loss() -> None:
    X, y, qid = made()
    linear: list[rankers.LinearScorer] = [
        rankers.DifferenceGraphRanker(edge_loss="hinge"),
        skcalrank.OrderPreservingRanker("dcg@5", loss=losses.Logistic(), alpha=0.1),
        rankers.PairwiseHingeRanker(margin=True),
        skcalrank.PairwiseLogisticRanker(warm_start=True),
        rankers.ValueRegularizedRanker(regularizer="cosh", nu=0.5),
    ]
    for ranker in linear:
        assert_type(ranker.fit(X, y, qid).predict(X), Floats)
        assert_type(ranker.alpha_, float)
        assert_type(ranker.coef_, Floats)
        assert_type(ranker.intercept_, float | Any)
        assert_type(ranker.n_iter_, int)


def rankers_of_judgments() -> None:
    X, y, qid = made()
    comparisons = judged()
    aggregated = skcalrank.AggregatedRanker("borda", skcalrank.NDCGRanker(k=3), random_state=0)
    assert_type(aggregated.fit(X, comparisons), skcalrank.AggregatedRanker)
    assert_type(aggregated.predict(X), Floats)
    stochastic = rankers.StochasticAggregatedRanker(n_updates=50, random_state=0)
    assert_type(stochastic.fit(X, comparisons).predict(X), Floats)
    assert_type(stochastic.partial_fit(X, comparisons), rankers.StochasticAggregatedRanker)
    pairs: rankers.PairRanker = skcalrank.PairwiseDisagreementRanker(surrogate="pairwise")
    solved = pairs.fit(X, y, qid).solve(X, qid)
    assert_type(solved, list[preds.PredResult])
    assert_type(solved[0].positions, Ints)
    assert_type(solved[0].gap, Any)


def rankers_of_several_labels() -> None:
    X, y, qid = made()
    labels = np.column_stack([y, X[:, 0] > np.median(X[:, 0])])
    target = skcalrank.MultiLabelTarget(labels, qid, names=["relevance", "margin"])
    ranker = skcalrank.MultiLabelRanker("ndcg@5", weights={"relevance": 1.0, "margin": 0.5})
    assert_type(ranker.fit(X, target), skcalrank.MultiLabelRanker)
    assert_type(ranker.coef_, Floats)
    front = ranker.front(X, target, mixes=5)
    assert_type(front, rankers.Front)
    chosen = front.choose("margin", lose={"relevance": 0.5})
    assert_type(chosen, int)
    assert_type(ranker.mix(front.weights[chosen]), skcalrank.MultiLabelRanker)


def classifiers() -> None:
    X, y, _ = made()
    classifier = skcalrank.structured.LowRankLossClassifier([[0.0, 1.0], [2.0, 0.0]]).fit(X, y)
    assert_type(classifier, skcalrank.structured.LowRankLossClassifier)
    assert_type(classifier.expected_loss(X), Floats)
    assert_type(classifier.predict(X), NDArray[Any])
    orders = np.argsort(X[:, :2]) + 1
    predictor = skcalrank.structured.StructuredPredictor(factors="hamming").fit(X, orders)
    assert_type(predictor, skcalrank.structured.StructuredPredictor)
    assert_type(predictor.predict(X), NDArray[Any])
    sets = skcalrank.structured.FMeasureClassifier(beta=2.0).fit(X, orders - 1)
    assert_type(sets, skcalrank.structured.FMeasureClassifier)
    assert_type(sets.predict(X), Ints)
    assert_type(sets.expected_score(X), Floats)
    assert_type(predictor.surrogate_values(X), Floats)
    assert_type(predictor.score(X, orders), float)
    assert_type(structured.get_factors("hamming"), structured.Factors)
    assert structured.FACTORS["hamming"] is structured.OrderHamming
    assert structured.get_factors("hit@2") == structured.HitLoss(2)
    assert structured.get_factors("r_precision") == structured.RPrecisionLoss()
    assert structured.get_factors("f_measure") == structured.FMeasure()


def rankers_of_tables() -> None:
    X, y, qid = made()
    stack = skcalrank.StackingRanker(
        [("ndcg", skcalrank.NDCGRanker()), ("auc", skcalrank.AUCRanker())], cv=2, random_state=0
    )
    assert_type(stack.fit(X, y, qid), skcalrank.StackingRanker)
    assert_type(stack.weights_, Floats)
    tabular = skcalrank.TabularRanker("ndcg@5", trees=None)
    assert_type(tabular.fit(X, y, qid), skcalrank.TabularRanker)
    assert_type(tabular.fit_chunks([(X, y, qid)]), skcalrank.TabularRanker)
    assert_type(tabular.contributions(X, qid), Floats)
    assert_type(tabular.feature_importances_, Floats)
    boosted = skcalrank.BoostedRanker(engine="sklearn", n_estimators=3, random_state=0)
    assert_type(boosted.fit(X, y, qid), skcalrank.BoostedRanker)
    external = skcalrank.ExternalRanker(Ridge(), "ndcg@5", columns=None)
    assert_type(external.fit(X, y, qid), skcalrank.ExternalRanker)
    assert_type(external.contributions(X), Floats)
    for scores in boosted.staged_predict(X, qid):
        assert_type(scores, Floats)
    assert_type(boosted.predict(X), Floats)
    assert_type(boosted.feature_importances_, Floats)


def every_ranker() -> None:
    first: rankers.BaseRanker = testing.all_rankers()[0][1]()
    assert first
    assert_type(testing.expected_failed_checks(skcalrank.NDCGRanker()), dict[str, str])


def targets() -> None:
    X, y, qid = made()
    relevance = skcalrank.RankingTarget(y, qid)
    assert_type(relevance, data.RankingTarget)
    assert_type(skcalrank.NDCGRanker().fit(X, relevance), skcalrank.NDCGRanker)
    sessions = skcalrank.sample_sessions((1 + y) / 4, qid, n_sessions=60, random_state=0)
    assert_type(sessions, skcalrank.ClickSessions)
    assert_type(sessions.clicked, NDArray[np.bool_])
    counts = aggregation.position_based(sessions, np.ones(9), trust=(0.9, 0.1), prior=0.5)
    assert_type(counts.relevance, Floats)
    assert_type(counts.examinations, Floats)
    fitted = aggregation.fit_propensities(sessions)
    assert_type(fitted, aggregation.PropensityEstimate)
    assert_type(fitted.group, Ints)
    assert_type(skcalrank.ERRRanker().fit(X, sessions).predict(X), Floats)
    assert_type(skcalrank.PreferenceTarget.from_relevance(y, qid), skcalrank.PreferenceTarget)
    assert_type(judged().net_preference(), Floats)
    with warnings.catch_warnings():
        warnings.simplefilter("error", skcalrank.data.OneQueryWarning)
        warnings.simplefilter("ignore", skcalrank.data.UnseenLevelsWarning)
        warnings.simplefilter("error", skcalrank.data.CutQueriesWarning)
        warnings.simplefilter("error", skcalrank.data.SingleDocumentsWarning)
        warnings.simplefilter("error", skcalrank.data.EqualLabelsWarning)
        warnings.simplefilter("error", skcalrank.data.NotAMeanWarning)
        warnings.simplefilter("error", skcalrank.data.NotGradesWarning)
        skcalrank.NDCGRanker().fit(X, relevance)
    try:
        skcalrank.SpearmanRanker().fit(X, y, qid).rank(X)
    except MissingQidError as error:
        assert_type(str(error), str)


def data_sets(folder: Path) -> None:
    found = made()
    assert_type(found, datasets.RankingData)
    X, y, qid = found
    assert_type((X, y, qid), tuple[Any, NDArray[Any], NDArray[Any]])
    assert_type(skcalrank.load_digits_queries(3, 5), datasets.RankingData)
    assert_type(datasets.make_offers(3, (2, 5), random_state=0), datasets.RankingData)
    orders = skcalrank.make_label_ranking(20, 4, 3, random_state=0)
    assert_type(orders, datasets.LabelRankingData)
    assert_type(orders.item_names, list[str])
    assert isinstance(found.law, datasets.LabelMixture)
    assert isinstance(orders.law, datasets.OrderMixture)
    assert_type(found.law.bayes_value("dcg"), float)
    assert_type(orders.law.bayes_positions(), Ints)
    path = folder / "letor.txt"
    path.write_text("1 qid:1 1:0.5 2:1\n0 qid:1 1:0.2 2:0\n2 qid:2 1:0.1 2:3\n")
    assert_type(skcalrank.load_letor(path), datasets.RankingData)
    for chunk in skcalrank.load_letor(path, chunk_rows=2):
        assert_type(chunk, datasets.RankingData)
    table = folder / "table.csv"
    table.write_text("qid,label,a\n1,0,2\n1,1,3\n")
    assert_type(skcalrank.load_table(table), datasets.RankingData)
    assert_type(skcalrank.load_table([table], columns=["label", "qid"]), datasets.RankingData)
    for chunk in skcalrank.load_table(table, chunk_rows=2, kinds="numbers"):
        assert_type(chunk, datasets.RankingData)
    votes = folder / "drinks.soc"
    votes.write_text("2: 1,2\n1: 2,1\n")
    assert_type(skcalrank.datasets.load_preflib(votes), datasets.LabelRankingData)


def splits() -> None:
    X, y, qid = made()
    assert_type(skcalrank.train_test_query_split(X, y, qid=qid, random_state=0), list[Any])
    for splitter in (skcalrank.QueryKFold(3), model_selection.QueryShuffleSplit(2)):
        for train, test in splitter.split(X, y, qid):
            assert_type(train, Ints)
            assert_type(test, Ints)
        assert_type(splitter.get_n_splits(), int)


def functions() -> None:
    X, y, qid = made()
    for metric in (
        *(metrics.auc_score, metrics.average_precision_score, metrics.f1_at_k_score),
        *(metrics.hit_at_k_score, metrics.precision_at_k_score, metrics.r_precision_score),
        *(metrics.rbp_score, metrics.recall_at_k_score, metrics.reciprocal_rank_score),
    ):
        assert_type(metric(y, X[:, 0], qid=qid, relevance_level=1.0), float)
    for other in (
        *(metrics.dcg_score, metrics.err_score, metrics.eru_score, metrics.kendall_score),
        *(metrics.ndcg_score, metrics.pairwise_disagreement_loss, metrics.spearman_score),
    ):
        assert_type(other(y, X[:, 0], qid=qid), float)
    assert_type(metrics.ndcg_score(y, X[:, 0], qid=qid, k=5, average=False), Floats)
    assert_type(metrics.measure_score("map", y, X[:, 0], qid=qid), float)
    assert_type(metrics.measure_score("map", y, X[:, 0], qid=qid, average=False), Floats)
    several = metrics.evaluate(y, X[:, 0], ["ndcg@5", "map"], qid=qid)
    assert_type(several, dict[Any, float])
    each = metrics.evaluate(y, X[:, 0], {"a": "ndcg@5"}, qid=qid, average=False)
    assert_type(each, dict[Any, Floats])


def scorers() -> None:
    X, y, qid = made()
    scorer = skcalrank.get_scorer("ndcg@5")
    assert_type(scorer, metrics.RankingScorer)
    assert_type(scorer(skcalrank.NDCGRanker().fit(X, y, qid), X, y, qid=qid), float)
    assert_type(skcalrank.get_scorer_names(), list[str])


def comparisons() -> None:
    X, y, qid = made()
    systems = {"a": X[:, 0], "b": -X[:, 0]}
    found = evaluation.compare(y, systems, ["ndcg@5", "map"], qid=qid, baseline="a")
    assert_type(found, evaluation.Comparison)
    assert_type(found.to_frame()["p"].min(), Any)
    assert_type(found.to_markdown(), str)
    assert_type(found.to_latex() + found.to_html() + found.to_csv() + found.caption(), str)
    assert_type(found.query_differences("a", "b", measure="map"), Floats)
    assert_type(found.systems, list[str])
    assert_type(found.values, Floats)
    assert_type(found.differences[0].difference, float)
    values = evaluation.compare_values(
        {"a": {"map": [0.1, 0.4, 0.3, 0.5, 0.2, 0.6]}, "b": {"map": [0.5, 0.2, 0.3, 0.1, 0.4, 0.2]}}
    )
    assert_type(values, evaluation.Comparison)
    estimators = {"a": skcalrank.NDCGRanker(), "b": rankers.PairwiseHingeRanker()}
    crossed = evaluation.cross_compare(estimators, X, y, qid, ["map"], cv=3, relevance_level=1)
    assert_type(crossed, evaluation.Comparison)
    curve = calibration.regret_curve(estimators, made(), measure="dcg", n_samples=[9], n_repeats=1)
    assert_type(curve["regret"].min(), Any)
    methods, policies = evaluation.Methods(pairs="all"), evaluation.Policies(relevance_level=1)
    found = evaluation.compare(y, systems, ["map"], qid=qid, methods=methods, policies=policies)
    assert_type(found.confidence_level, float)
    evaluation.compare(  # every keyword
        *(y, systems, ["map"]),
        qid=qid,
        test="permutation",
        interval="bootstrap-t",
        confidence_level=0.9,
        correction=None,
        pairs="baseline",
        n_resamples=9,
        tail=None,
        margin=0.1,
        random_state=1,
        ties="stable",
        empty="zero",
        relevance_level=1,
    )


def runs() -> None:
    X, y, qid = made()
    run = evaluation.load_run(evaluation.to_run(X[:, 0], qid))
    qrels = evaluation.load_qrels(evaluation.to_qrels(y, qid))
    assert_type(run, evaluation.Run)
    assert_type(qrels, evaluation.Qrels)
    assert_type(evaluation.evaluate_run(qrels, run, ["map"]), evaluation.RunValues[float])
    values = evaluation.evaluate_run(qrels, run, ["map"], average=False)
    assert_type(values, evaluation.RunValues[dict[str, float]])
    assert_type(values.judged_, float)
    frame = evaluation.rank_frame(skcalrank.NDCGRanker().fit(X, y, qid), X, qid, k=2)
    assert len(frame) == 60
    games = skcalrank.PreferenceTarget.from_frame(frame.assign(winner="a", loser="b"))
    assert_type(aggregation.bradley_terry(games), Floats)
    votes = frame.assign(model_a="a", model_b="b", winner=[1, 0] * 30)
    board = skcalrank.leaderboard(votes, ties="davidson", scale="elo")
    assert_type(board, evaluation.Leaderboard)
    assert_type(board.difference("a", "b"), evaluation.ScoreDifference)
    assert_type(board.difference("a", "b").low, float)
    shown = displays.LeaderboardDisplay.from_leaderboard(board)
    assert_type(shown, displays.LeaderboardDisplay)
    assert_type(evaluation.rank_sets(X).items, list[str])
    log = frame.assign(session=frame["qid"], clicked=frame["position"] == 1)
    names = {"query": "qid", "document": "id", "position": "position"}
    sessions = skcalrank.ClickSessions.from_frame(
        log, session="session", clicked="clicked", **names
    )
    assert_type(sessions, skcalrank.ClickSessions)
    counts = skcalrank.ClickCounts.from_frames([log[:30], log[30:]], clicked="clicked", **names)
    assert_type(counts, skcalrank.ClickCounts)


def offline() -> None:
    p, qid = np.tile([0.1, 0.2, 0.6], 500), np.repeat(np.arange(500), 3)
    theta = np.array([1.0, 0.5, 0.3])
    y = skcalrank.sample_sessions(
        p, qid, n_sessions=5000, model="position", propensity=theta, random_state=0
    )
    estimate = evaluation.offline_evaluate(p, y, "dcg@2", propensity=theta, estimator="ips")
    assert_type(estimate, evaluation.OfflineEstimate)
    assert_type(estimate.value, float)
    assert_type(estimate.query_values, Floats)
    assert_type(estimate.safety, evaluation.Safety)
    assert_type(estimate.safety.low, float)
    values = evaluation.offline_evaluate(
        p, y, measures.Precision(1), propensity=theta, baseline=-p, margin=0.1, exponents=[0, 1]
    ).sensitivity
    assert_type(values, evaluation.Sensitivity | None)
    X = np.column_stack([p, -p])
    ranker = skcalrank.AggregatedRanker("position_based", structure_options={"propensity": theta})
    report = evaluation.click_ranker(
        X, y, propensity=theta, candidates={"e": ranker}, measure="precision@1"
    )
    assert_type(report, evaluation.ClickReport)
    assert_type(report.choice, evaluation.ClickChoice)
    assert_type(report.choice.comparison, evaluation.Comparison)
    assert_type(str(report), str)


class Reciprocal(measures.PositionalMeasure):
    """A measure of one's own."""

    name = "reciprocal"

    def targets(self, y: Any, queries: Any) -> Floats:
        return np.asarray(y, dtype=float)

    def basis(self, positions: Any, queries: Any) -> Floats:
        found: Floats = 1.0 / np.asarray(positions)
        return found


def objects() -> None:
    every: list[measures.Measure] = [
        *(measures.AUC(), measures.DCG(5), measures.ERR(5), measures.ERU(), measures.F1(5)),
        *(measures.NDCG(5), measures.RBP(p=0.5), measures.AveragePrecision(), measures.Kendall()),
        *(measures.HitRate(3), measures.PairwiseDisagreement(), measures.Precision(3)),
        *(measures.RPrecision(), measures.Recall(3), measures.ReciprocalRank()),
        *(measures.Spearman(), measures.get_measure("ndcg@5", convention="sklearn")),
        Reciprocal(),
    ]
    pairs = [each for each in every if isinstance(each, measures.PairMeasure)]
    assert_type(pairs, list[measures.PairMeasure])
    assert_type(every[0].full_name, str)
    assert_type(measures.MEASURES, dict[str, type[measures.Measure]])


def surrogates() -> None:
    falls: Callable[[Any], Any] = lambda x: np.exp(-x)  # noqa: E731
    twice: Callable[[Any], Any] = lambda v: 2.0 * np.ones_like(v)  # noqa: E731
    every: list[losses.Loss] = [
        *(losses.BregmanKL(), losses.BregmanLogistic(), losses.DifferentiableHinge()),
        losses.Softmax(),
        *(losses.Exponential(), losses.Logistic(), losses.Squared(), losses.SquaredHinge()),
        *(losses.PairwiseExponential(), losses.PairwiseLogistic(), losses.PairwiseSquared()),
        losses.PairwiseTemplate(falls, lambda x: -np.exp(-x), falls, name="steps"),
        losses.PairwiseObjective(falls, lambda x: -np.exp(-x)),
        losses.BregmanTemplate((np.square, lambda v: 2.0 * v, twice), (np.exp, np.exp, np.log)),
        losses.get_loss("logistic", eta=2.0),
    ]
    of_preferences: list[losses.PreferenceLoss] = [
        *(losses.PreferenceExponential(), losses.PreferenceHinge()),
        *(losses.PreferenceLogistic(), losses.PreferenceSquaredHinge()),
        losses.PreferenceTemplate(falls, lambda x: -np.exp(-x), falls, h=np.sqrt),
    ]
    points = [each for each in every if isinstance(each, losses.PointwiseLoss)]
    assert_type(points, list[losses.PointwiseLoss])
    assert_type(losses.LOSSES, dict[str, type[losses.Loss]])
    assert_type(losses.PREFERENCE_LOSSES, dict[str, type[losses.PreferenceLoss]])
    assert of_preferences


def prediction_maps() -> None:
    U = np.array([[0.0, 3.0, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
    assert_type(preds.sort_positions(U[0]), Ints)
    assert_type(preds.topological_positions(U), Ints)
    result = preds.feedback_arc_positions(U, time_limit=1.0, random_state=0)
    assert_type(result, preds.PredResult)
    calibration.regret_bound("kendall", "squared", 0.1, r=3, results=[result])
    assert_type(preds.map_positions(U, method="beam").positions, Ints)
    assert_type(preds.pair_positions(U, measures.AveragePrecision().pair_basis).positions, Ints)
    assert_type(preds.get_pred("beam", "map"), preds.Pred)
    assert_type(preds.preds_for("map"), dict[str, preds.Pred])
    assert preds.PREDS


def structures() -> None:
    comparisons = judged()
    for structure in (
        *(aggregation.borda, aggregation.bradley_terry, aggregation.mean_log_odds),
        *(aggregation.principal_eigenvector, aggregation.thurstone_mosteller, aggregation.win_rate),
    ):
        assert_type(structure(comparisons), Floats)
    assert_type(aggregation.log_odds(comparisons), list[Any])
    assert_type(aggregation.mean_adjacency(comparisons), list[Any])
    _, y, qid = made()
    sessions = skcalrank.sample_sessions((1 + y) / 4, qid, n_sessions=60, random_state=0)
    assert_type(aggregation.cascade(sessions).probability, Floats)
    votes = aggregation.kemeny([["a", "b"], ["b", ("a", "c")]], weights=[2, 1])
    assert_type(votes, aggregation.Consensus)
    assert_type(votes.order, list[Any])


def theory() -> None:
    law = calibration.LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25])
    assert_type(law.bayes_value("ndcg"), float)
    gap = calibration.calibration_gap("squared", "sort", "ndcg", law)
    assert_type(gap, calibration.CalibrationGap)
    assert_type(gap.calibrated, bool | None)
    assert_type(calibration.calibration_of(skcalrank.NDCGRanker()), calibration.Calibration)
    assert_type(calibration.c_phi("ndcg", 3), float)
    found = calibration.find_counterexample("logistic", "sort", "map", n_tries=1, random_state=0)
    assert_type(found, calibration.LabelDistribution | calibration.SharedRows | None)
    assert_type(calibration.inconsistency_level("squared", "sort", "precision@1", 3), float)
    value = calibration.calibration_function("squared", "sort", "precision@1", 3, 0.1)
    assert_type(value, float | Any)
    bound = calibration.regret_bound("ndcg", "squared", 0.1, r=3, max_target=1.0)
    assert_type(bound, float | Any)
    EY = np.array([[0.0, 0.8], [0.2, 0.0]])
    for condition in (calibration.dag_condition, calibration.low_noise_condition):
        assert_type(condition(EY), calibration.Condition)
    assert_type(calibration.reinforce_condition(EY).holds, bool)
    assert_type(calibration.score_condition(EY, [0.8, 0.2]).margin, float)
    X, y, qid = made()
    ranker = skcalrank.PairwiseDisagreementRanker(surrogate="pairwise").fit(X, y, qid)
    assert_type(calibration.rank_differentiable_condition(law), calibration.Condition)
    dimension = calibration.calibration_dimension("map", 3)
    assert_type(dimension, calibration.CalibrationDimension)
    assert_type(dimension.scores_can_suffice, bool)
    margins = calibration.margin_report(skcalrank.DCGRanker().fit(X, y, qid), X, qid)
    assert_type(margins, calibration.MarginReport)
    assert_type(margins.best_share(0.1), float)
    report = calibration.noise_report(ranker, X, qid)
    assert_type(report, calibration.NoiseReport)
    assert_type(report.equal_share, float)
    context = calibration.context_report(skcalrank.NDCGRanker(), X, y, qid, cv=2)
    assert_type(context, calibration.ContextReport)
    assert_type(context.bound_high, float)
    assert calibration.CONDITIONS
    assert calibration.SURROGATES


def steps() -> None:
    X, y, qid = made()
    steps = pipeline.make_query_pipeline(
        preprocessing.QueryScaler(append=True),
        preprocessing.TableEncoder(),
        preprocessing.LinearColumns(),
        preprocessing.QueryContext(["mean"]),
        preprocessing.QuantileHinges(3),
        skcalrank.NDCGRanker(),
    )
    assert_type(steps, pipeline.QueryPipeline)
    hosted = pipeline.HostedRanker(steps).fit(X, y, group=[len(y)])
    assert_type(hosted, pipeline.HostedRanker)
    assert_type(steps.fit(X, y, qid), pipeline.QueryPipeline)
    assert_type(steps.predict(X, qid), Floats)
    assert_type(steps.score(X, y, qid), float)
    assert_type(steps.top_k(X, qid), Any)
    assert_type(preprocessing.signed_log1p(X), Floats)
    ridge = linear_model.GramRidge([1.0, 2.0]).fit(X, np.column_stack([y, y]))
    assert_type(ridge, linear_model.GramRidge)
    assert_type(ridge.predict(X), Floats)


def explanations() -> None:
    X, y, qid = made()
    ranker = skcalrank.NDCGRanker().fit(X, y, qid)
    shuffled = inspection.query_permutation_importance(ranker, X, y, qid, groups={"two": [0, 1]})
    assert_type(shuffled, inspection.PermutationImportance)
    assert_type(shuffled.errors, Floats)
    assert_type(preds.rerank_diverse(ranker.predict(X), X, qid, k=3), Ints)
    found = inspection.explain_order(ranker, X, 0, 1)
    assert_type(found, inspection.Explanation)
    assert_type(found.total, float)
    assert_type(found.contributions, Floats)
    assert_type(found.to_string(), str)
    scores = inspection.explain_scores(ranker, X, qid)
    assert_type(scores, inspection.ScoreExplanation)
    assert_type(scores.contributions, Floats)
    assert_type(scores.importances, Floats)
    assert_type(inspection.FixedQueries(ranker, qid).predict(X), Floats)


def files(folder: Path) -> None:
    X, y, qid = made()
    ranker = skcalrank.NDCGRanker().fit(X, y, qid)
    persistence.save_model(ranker, folder / "ranker.skops", author="me")
    assert_type(persistence.trusted_types(ranker), list[str])
    assert_type(persistence.read_header(folder / "ranker.skops"), dict[str, Any])
    again: skcalrank.NDCGRanker = persistence.load_model(folder / "ranker.skops")
    assert_type(again.predict(X), Floats)


def exports() -> None:
    X, y, qid = made()
    ranker = skcalrank.NDCGRanker().fit(X, y, qid)
    names = ["a", "b", "c"]
    assert_type(export.to_json(ranker, feature_names=names), str)
    assert_type(export.to_sql(ranker, feature_names=names), str)
    assert_type(export.to_sql(ranker, table="t", qid="q", keep=["id"], feature_names=names), str)
    assert_type(export.to_elasticsearch(ranker, "ranker", feature_names=names), str)
    assert_type(export.to_opensearch(ranker, "ranker", feature_names=names), str)
    # With libraries that may not be there.
    trees: list[Callable[[Any], str]] = [export.to_engine]
    graphs: list[Callable[[Any], Any]] = [export.to_onnx]
    registers: list[Callable[[], None]] = [export.register_converters]
    assert len(trees) + len(graphs) + len(registers) == 3


def engines() -> None:
    assert_type(boosting.group_sizes(made().qid), Ints)
    callbacks: list[Callable[..., Any]] = [
        *(boosting.lightgbm_metric("ndcg@5"), boosting.xgboost_metric("map")),
    ]
    data, trees = made(), boosting.lightgbm_objective("ndcg@5")
    assert_type(trees.freeze(data.y, data.qid), boosting.LightGBMObjective)
    assert_type(boosting.xgboost_objective("map", eta=None), boosting.XGBoostObjective)
    partitions: list[Callable[[Any, Any, Any], tuple[Any, ...]]] = [partition_by_query]
    assert callbacks + partitions


def pictures() -> None:
    X, y, qid = made()
    ranker = skcalrank.NDCGRanker().fit(X, y, qid)
    found = evaluation.compare(y, {"a": X[:, 0], "b": -X[:, 0]}, ["map"], qid=qid)
    at_k = displays.MeasureAtKDisplay.from_estimator(ranker, X, y, qid=qid, k=3)
    assert_type(at_k, displays.MeasureAtKDisplay)
    assert_type(at_k.plot(), displays.MeasureAtKDisplay)
    means = displays.ComparisonDisplay.from_comparison(found, kind="means")
    assert_type(means, displays.ComparisonDisplay)
    queries = displays.QueryDifferenceDisplay.from_comparison(found)
    assert_type(queries, displays.QueryDifferenceDisplay)
    boosted = skcalrank.BoostedRanker(engine="sklearn", n_estimators=3, random_state=0)
    curves = displays.TrainingCurveDisplay.from_estimator(boosted.fit(X, y, qid))
    assert_type(curves, displays.TrainingCurveDisplay)
    parts = displays.ContributionDisplay.from_estimator(ranker, X, 0, 1)
    assert_type(parts, displays.ContributionDisplay)
    importances = displays.ImportanceDisplay.from_estimator(ranker, X, qid)
    assert_type(importances, displays.ImportanceDisplay)
    best = displays.TopContributionsDisplay.from_estimator(ranker, X, qid, k=2)
    assert_type(best, displays.TopContributionsDisplay)


if __name__ == "__main__":
    assert_type(skcalrank.__version__, str)
    skcalrank.show_versions()
