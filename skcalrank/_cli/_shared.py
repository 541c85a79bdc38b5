"""Default measures and rankers, and checks that several commands share."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np

from .. import measures
from ..datasets import group_file
from ..evaluation import JUDGED_MEASURES
from ._rankers import RANKERS

# Measures with the cutoff of most papers. DCG would repeat NDCG on another scale, and the others
# would repeat precision.
_AT_10 = ("ndcg", "precision", "recall", "err")
_LEFT_OUT = ("dcg", "f1", "hit", "r_precision", "rbp")

#: Measures by default.
MEASURES = [
    f"{name}@10" if name in _AT_10 else name for name in measures.MEASURES if name not in _LEFT_OUT
]

#: Measures of runs, which are truncated, and the default among them.
RUN_MEASURES = [name for name, measure in measures.MEASURES.items() if measure.top_only]
RUN_MEASURES += JUDGED_MEASURES
TREC_MEASURES = ("ndcg@10", "precision@10", "recall@100", "map", "mrr")


def _in_order(names, *first):
    """Sort names, some of them first; names that are registered later come last."""
    return [name for name in first if name in names] + [n for n in names if n not in first]


# Rankers of graded labels first.
COMPARE_RANKERS = _in_order(
    [name for name, make in RANKERS.items() if not make.keywords],
    *("ndcg", "dcg", "eru", "spearman", "err", "pd", "precision", "rbp", "recall", "map", "auc"),
)


def without_binary(choice, labels, relevance_level, named):
    """Return the names of the measures, in a dict, that take the labels.

    Measures without a relevance level do not take grades. Raise if the user `named` one of them.
    """
    grades = np.unique(labels[np.isfinite(labels) & ~np.isin(labels, (0, 1))])
    if relevance_level is not None or not len(grades):
        return list(choice)
    binary = [name for name, m in choice.items() if m is not None and m.needs_binary_labels]
    if named and binary:
        raise ValueError(
            f"{binary[0]} takes labels 0 and 1, got {grades[0]:g}: give --relevance-level L, then "
            "documents with a label of at least L are relevant"
        )
    return [name for name in choice if name not in binary]


def check_folds(n_folds, qid, instead):
    """Raise if there are fewer queries than folds, and name another way for a single query."""
    n_queries = len(np.unique(qid))
    if n_queries == 1:
        raise ValueError(f"one query cannot be divided into folds: {instead}")
    if n_queries < n_folds:
        raise ValueError(
            f"--folds must be at most the number of queries, {n_queries}, got {n_folds}"
        )


def refuse_overwriting(output, *inputs):
    """Raise if a file to write, or the standard output for ``-``, is one of the files to read."""
    for path in (Path(path) for path in inputs if path is not None):
        for read in (path, group_file(path)):
            if read is not None and read.is_file() and _is_file(output, read):
                name = "the standard output" if output == "-" else output
                raise ValueError(
                    f"{name} is {read}, which is read and cannot be written: give another file"
                )


def _is_file(output, read) -> bool:
    """Return whether an output is a file, by whatever name."""
    # The standard output may have no number, and the file may not exist yet.
    with suppress(OSError, ValueError, AttributeError):
        found = os.fstat(sys.stdout.fileno()) if output == "-" else os.stat(output)
        return os.path.samestat(found, os.stat(read))
    return False
