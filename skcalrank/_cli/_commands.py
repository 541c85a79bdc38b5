"""Rankers beside each other: ``demo`` and ``compare``."""

from __future__ import annotations

import time

import numpy as np
from threadpoolctl import threadpool_limits

from ..datasets import RankingData, load_digits_queries, load_letor
from ..model_selection import QueryKFold
from ..rankers import measure_of
from ._rankers import ALWAYS, CONDITIONALLY, make_measure, make_ranker
from ._readers import Reader, check_missing, reading
from ._report import count_line, results_table
from ._results import group_equal, measure_scores, references
from ._shared import COMPARE_RANKERS, DEMO_RANKERS, MEASURES, without_binary
from ._terminal import paragraphs, say, width

_CALIBRATED = (
    f"{ALWAYS} the ranker is calibrated for the measure of the row: Fisher-consistent, i.e. "
    "minimizing its surrogate over functions of the whole query leads to the best possible value "
    "of the measure, whatever the law of the labels (with rows: where they determine the law of "
    "their label and the measure is separable, or carry the context of the query). "
    f"{CONDITIONALLY} the same, under a condition on that law which the "
    "documentation of the ranker states. Neither means that scores are probabilities."
)
_REFERENCES = (
    "constant: all scores equal, which is the exact mean over random orders. ideal: the labels "
    "as scores."
)


def demo(args) -> str:
    """Cross-validate the rankers on the digits that scikit-learn embeds."""
    measures = {name: make_measure(name) for name in args.measures or MEASURES}
    rankers = {name: make_ranker(name) for name in args.rankers or DEMO_RANKERS}
    data = load_digits_queries(args.queries, args.documents)
    folds = list(QueryKFold(args.folds).split(data.X, data.y, qid=data.qid))
    results = [
        measure_scores(
            name, _held_out_scores(rankers[name], data, folds), data, measures, ranker=rankers[name]
        )
        for name in _with_progress(rankers)
    ]
    groups = group_equal(results)
    columns = groups + [[reference] for reference in references(data, measures)]
    return paragraphs(
        f"Query by example on scikit-learn's handwritten digits: {args.queries} query images, "
        f"{args.documents} other images to rank for each, relevant (1) where they show the same "
        f"digit, else 0; {data.X.shape[1]} features compare the two images. The table holds mean "
        f"± standard error over held-out queries, from {args.folds} folds of whole queries that "
        "are the same for every ranker. Higher is better in every row.",
        results_table(columns, measures, width()),
        _CALIBRATED,
        _shared_columns(groups),
        _REFERENCES,
        count_line(results[0]),
    )


def _shared_columns(groups):
    if max(map(len, groups)) == 1:
        return ""
    return (
        "Rankers that share a column agree on every query: with labels 0 and 1 and queries of "
        "one size, their surrogates regress the same target up to scale and shift."
    )


def _held_out_scores(ranker, data, folds):
    """Scores of every row by the ranker that was fitted without its fold."""
    scores = np.empty(len(data.y))
    # On data this small, threads mostly wait for each other.
    with threadpool_limits(1):
        for train, test in folds:
            ranker.fit(data.X[train], data.y[train], data.qid[train])
            scores[test] = ranker.predict(data.X[test])
    return scores


def compare(args) -> str:
    """Fit the rankers on one file, evaluate them on another."""
    level, empty = args.relevance_level, args.empty
    # Names are checked before anything long.
    measures = {name: make_measure(name, level) for name in args.measures or MEASURES}
    rankers = {name: make_ranker(name, level) for name in args.rankers or COMPARE_RANKERS}
    train, test, left_out = _load_pair(args, rankers.values())
    labels = np.union1d(train.y, test.y)
    own = {name: measure_of(ranker) for name, ranker in rankers.items()}
    rows = without_binary(measures, labels, level, args.measures)
    kept = without_binary(own, labels, level, args.rankers)
    note = ""
    if len(rows) < len(measures) or len(kept) < len(rankers):
        note = "Binary measures and rankers are left out: --relevance-level brings them in."
    measures = {name: _on_scale(measures[name], labels) for name in rows}
    results = [
        _fit_and_measure(name, rankers[name], train, test, measures, empty)
        for name in _with_progress(kept)
    ]
    columns = results + references(test, measures, empty=empty)
    return paragraphs(
        f"Fitted on {_describe(train, args.train)}, {train.X.shape[1]} features; evaluated on "
        f"{_describe(test, args.test)}. {left_out}The table holds mean ± standard error over test "
        "queries. Higher is better in every row.",
        results_table([[r] for r in columns], measures, width(), baseline=results[0]),
        f"+ and - better and worse than {results[0].name} at p < .05: paired t-test over the "
        "queries that count, not corrected for the number of comparisons.",
        _CALIBRATED,
        _REFERENCES,
        f"{count_line(results[0])} {note}",
    )


def _load_pair(args, rankers):
    """Both files with the features of the first, and a sentence where that cost some."""
    reader = Reader(args.train, args, whole=True, rankers=rankers)
    if reader.table:
        (train,) = reader
        names = list(train.X.columns)
        (test,) = Reader(args.test, args, whole=True, names=names, rankers=rankers)
        return *(RankingData(p.X.to_numpy(), p.y, p.qid) for p in (train, test)), ""
    train, test = _load(args.train, rankers), _load(args.test, rankers)
    n_train, n_test = train.X.shape[1], test.X.shape[1]
    if n_train == n_test:
        return train, test, ""
    X = np.zeros((len(test.y), n_train), dtype=test.X.dtype)
    shared = min(n_train, n_test)
    X[:, :shared] = test.X[:, :shared]
    left_out = "" if n_test < n_train else f"Features above {n_train} occur there only: left out. "
    return train, RankingData(X, test.y, test.qid), left_out


def _load(path, rankers):
    with reading(path):
        data = load_letor(path)
        check_missing(path, data.X, rankers, 1)
        return data


def _on_scale(measure, labels):
    """ERR on the scale of all labels, should the test lack the highest grade."""
    return measure.scaled_to(labels[-1:]) if labels[-1] >= 0 else measure


def _fit_and_measure(name, ranker, train, test, measures, empty):
    start = time.perf_counter()
    ranker.fit(*train)
    seconds = time.perf_counter() - start
    scores = ranker.predict(test.X)
    return measure_scores(name, scores, test, measures, empty=empty, ranker=ranker, seconds=seconds)


def _describe(data, path) -> str:
    return f"{path} ({len(np.unique(data.qid))} queries, {len(data.y)} documents)"


def _with_progress(names):
    """The names one by one, each announced while a person is watching."""
    for number, name in enumerate(names, 1):
        say(f"fitting {number}/{len(names)} {name}")
        yield name
    say("")
