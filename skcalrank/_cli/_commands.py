"""Rankers beside each other on embedded data: ``demo``, and what ``compare`` shares with it."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from ..datasets import load_digits_queries
from ..metrics import predict_with_queries
from ..model_selection import QueryKFold
from ._rankers import ALWAYS, CONDITIONALLY, make_measure, make_ranker
from ._report import count_line, results_table
from ._results import group_equal, measure_scores, references
from ._shared import DEMO_RANKERS, MEASURES
from ._terminal import paragraphs, say, width

CALIBRATED = (
    f"{ALWAYS} the ranker is calibrated for the measure of the row: Fisher-consistent, i.e. "
    "minimizing its surrogate over functions of the whole query leads to the best possible value "
    "of the measure, whatever the law of the labels (with rows: where they determine the law of "
    "their label and the measure is separable, or carry the context of the query). "
    f"{CONDITIONALLY} the same, under a condition on that law which the "
    "documentation of the ranker states. Neither means that scores are probabilities."
)
REFERENCES = (
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
        for name in with_progress(rankers)
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
        CALIBRATED,
        _shared_columns(groups),
        REFERENCES,
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
            scores[test] = predict_with_queries(ranker, data.X[test], data.qid[test])
    return scores


def with_progress(names):
    """The names one by one, each announced while a person is watching."""
    for number, name in enumerate(names, 1):
        say(f"fitting {number}/{len(names)} {name}")
        yield name
    say("")
