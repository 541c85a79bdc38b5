"""Two tables on embedded data: ``demo``."""

import time
from argparse import Namespace
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from .. import (
    BoostedRanker,
    NDCGRanker,
    PairwiseLogisticRanker,
    PrecisionRanker,
    SpearmanRanker,
    TabularRanker,
    load_digits_queries,
)
from ..columns.types import Floats
from ..evaluation import Cell, Table, cross_compare
from ..measures import get_measure
from ..trees import LIBRARIES
from . import _options as options
from ._report import references, summary
from ._text import paragraphs, say, width

MEASURES = {
    "P@10": get_measure("precision@10"),
    "NDCG@10": get_measure("ndcg@10"),
    "Spearman": get_measure("spearman"),
}

#: Linear models that are trained for different aims: those of the measures first.
AIMS = {
    "PrecisionRanker": PrecisionRanker(k=10),
    "NDCGRanker": NDCGRanker(k=10),
    "SpearmanRanker": SpearmanRanker(),
    "Ridge on grades": make_pipeline(StandardScaler(), Ridge()),
    "RankNet on pairs": PairwiseLogisticRanker(),
}

#: Models that are trained for one measure.
MODELS = {
    "NDCGRanker": NDCGRanker(k=10),
    "BoostedRanker": BoostedRanker("ndcg@10", random_state=0, n_jobs=1),
    "TabularRanker": TabularRanker("ndcg@10", random_state=0, n_jobs=1),
}

_TASK = (
    "The data are images of handwritten digits, which scikit-learn embeds. A query is an image, "
    "and {documents} other images are ranked by how near their digit is to that of the query: "
    "grade 4 for the same digit, 2 if it differs by one, 1 if by two or three, else 0. Features "
    "compare the two images pixel by pixel. Each half of the {queries} queries is ranked by models "
    "that were fitted to the other half."
)
_MEASURES = (
    "P@10 (precision) is the share of the first ten with a grade of 1 or more. NDCG@10 (normalized "
    "discounted cumulative gain) rewards high grades near the top. Spearman is the rank "
    "correlation of the whole list with the grades. Higher is better."
)
_WHY = (
    "A linear model cannot tell all digits apart, so it must choose which mistakes to make. The "
    "measure decides which mistakes cost little, and the ranker of a measure is trained for it. "
    "Ridge regression and RankNet (logistic loss of pairs) are trained for none of the three."
)
_RIDGE = "Ridge on grades"
_DIFFERENCES = (
    "NDCGRanker is linear, in closed form. BoostedRanker boosts trees with LightGBM or XGBoost if "
    "one of them is installed, else with scikit-learn, which is slower. TabularRanker mixes "
    "linear models and trees, and takes data frames with text and missing values.{lambdarank} The "
    "gain is that over Ridge on the grades in table 1, ± its standard error; seconds are CPU time "
    "of one fit."
)
_LAMBDARANK = " LGBMRanker is LightGBM's, with its loss lambdarank."
_OWN_FILE = (
    "It cross-validates rankers on your own file: Parquet or CSV with columns qid and label, or "
    "LETOR lines. See skcalrank compare --help."
)


def add_options(parser: Any) -> None:
    parser.epilog = "example:\n  skcalrank demo --seed 1\n"
    options.add_count(parser, "--queries N", "number of queries", lowest=10, default=300)
    text = "number of documents of each query"
    options.add_count(parser, "--documents N", text, lowest=2, default=30)
    text = "seed that draws queries and documents"
    options.add_count(parser, "--seed N", text, lowest=0, default=0)


def run(args: Namespace) -> str:
    """Show what the measure does, and what the model does, on digits of scikit-learn."""
    data = load_digits_queries(args.queries, args.documents, graded=True, random_state=args.seed)
    # On data this small, threads mostly wait for each other.
    with threadpool_limits(1):
        aims = np.array([_values(name, ranker, data) for name, ranker in AIMS.items()])
        models = {name: _timed(name, ranker, data) for name, ranker in _models().items()}
    say("")
    return paragraphs(
        _TASK.format(queries=args.queries, documents=args.documents),
        "1. Does the measure matter? Five linear models, trained for different aims:",
        *_compared(aims, references(data, MEASURES)),
        _MEASURES,
        _WHY,
        "2. Which model? All are trained for NDCG@10:",
        _table_of_models(models, aims[list(AIMS).index(_RIDGE), list(MEASURES).index("NDCG@10")]),
        _DIFFERENCES.format(lambdarank=_LAMBDARANK * ("LGBMRanker" in models)),
        "Next: skcalrank compare yours.parquet",
        _OWN_FILE,
    )


def _models() -> dict[str, Any]:
    """Return the models, and lambdarank where LightGBM is installed."""
    lightgbm = LIBRARIES["lightgbm"]
    if not lightgbm.is_installed():
        return MODELS
    return MODELS | {"LGBMRanker": lightgbm.module.LGBMRanker(random_state=0, n_jobs=1, verbose=-1)}


def _values(name: str, ranker: Any, data: Any) -> Floats:
    """Return the values of each held-out query, by measure."""
    say(f"fitting {name}")
    X, y, qid = data
    return cross_compare({name: ranker}, X, y, qid, MEASURES, cv=2).values[0]


def _compared(aims: Floats, ends: dict[str, dict[str, Floats]]) -> tuple[str, str]:
    """Return a table of measures by models, and the gain of the best of each column over Ridge."""
    columns, gains, ridge = {}, [], list(AIMS).index(_RIDGE)
    for number, measure in enumerate(MEASURES):
        values = [*aims[:, number], ends["constant"][measure], ends["ideal"][measure]]
        means = [summary(of_queries)[0] for of_queries in values]
        best = int(np.argmax(means[: len(aims)]))
        columns[measure] = [
            Cell(f"{mean:.3f}", marks=" *" * (row == best)) for row, mean in enumerate(means)
        ]
        gains.append(_estimate(*summary(values[best] - values[ridge])))
    return Table.of_columns([*AIMS, "random order", "best possible"], columns).to_text(width()), (
        f"* is the best of its column. Gain over Ridge on the grades: {gains[0]}, {gains[1]} and "
        f"{gains[2]}, the mean difference over queries, ± its standard error."
    )


def _timed(name: str, ranker: Any, data: Any) -> tuple[Floats, float]:
    """Return the values of NDCG, and the CPU seconds of one fit."""
    start = time.process_time()
    values = _values(name, ranker, data)[list(MEASURES).index("NDCG@10")]
    return values, (time.process_time() - start) / 2


def _table_of_models(models: dict[str, tuple[Floats, float]], ridge: Floats) -> str:
    values, seconds = zip(*models.values())
    columns = {
        "NDCG@10": [f"{summary(of_queries)[0]:.3f}" for of_queries in values],
        "gain over Ridge": [_estimate(*summary(of_queries - ridge)) for of_queries in values],
        "seconds": [f"{second:.2f}" for second in seconds],
    }
    return Table.of_columns(models, columns).to_text(width())


def _estimate(mean: float, error: float) -> str:
    return f"{mean:.3f} ± {error:.3f}"
