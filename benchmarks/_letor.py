"""LETOR files as benchmarks split them: training, validation and test part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from _common import data_file

from skcalrank import load_letor, train_test_query_split

__all__ = ["SETS", "Part", "Split", "has_relevant", "joined", "sizes_line"]


class Part(NamedTuple):
    """Rows sorted by query."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray

    @property
    def sizes(self):
        return np.unique(self.qid, return_counts=True)[1]


class Split(NamedTuple):
    """What one fit sees: it learns from `train`, is picked on `valid`, judged on `test`."""

    train: Part
    valid: Part
    test: Part


def joined(*parts):
    X, y, qid = (np.concatenate(arrays) for arrays in zip(*parts))
    order = np.argsort(qid, kind="stable")
    return Part(X[order], y[order], qid[order])


def _read(folder, name, n_features):
    return load_letor(data_file(folder, name), n_features=n_features)


MQ2008_FILES = [f"MQ2008/S{number}.txt" for number in range(1, 6)]
MSLR_FILES = [
    "MSLR-sample/mslr_fold1_train_sample.reconstructed.txt",
    "MSLR-sample/mslr_fold1_valid_sample.txt",
    "MSLR-sample/mslr_fold1_test_sample.txt",
]
LIGHTGBM_FILES = [
    f"lightgbm-lambdarank/rank.{part}{kind}"
    for part in ("train", "test")
    for kind in ("", ".query")
]


def mq2008(folder):
    """Fold k trains on parts k, k+1, k+2 of five, validates on k+3, tests on k+4."""
    parts = [_read(folder, name, 46) for name in MQ2008_FILES]
    turns = (parts[k:] + parts[:k] for k in range(5))
    return [Split(joined(*turn[:3]), joined(turn[3]), joined(turn[4])) for turn in turns]


def mslr_sample(folder):
    """The files of the sample of fold 1."""
    return [Split(*(joined(_read(folder, name, 136)) for name in MSLR_FILES))]


def lightgbm_lambdarank(folder):
    """The example of LightGBM; a quarter of the training queries validates."""
    X, y, qid = _read(folder, LIGHTGBM_FILES[0], 300)
    halves = train_test_query_split(X, y, qid=qid, test_size=0.25, random_state=0)
    test = joined(_read(folder, LIGHTGBM_FILES[2], 300))
    return [Split(joined(halves[0::2]), joined(halves[1::2]), test)]


SETS = {
    "MQ2008": (MQ2008_FILES, mq2008),
    "MSLR-sample": (MSLR_FILES, mslr_sample),
    "lightgbm-lambdarank": (LIGHTGBM_FILES, lightgbm_lambdarank),
}


def sizes_line(name, splits):
    tests = [split.test for split in splits]
    relevant = np.concatenate([has_relevant(test) for test in tests])
    counts = ", ".join(
        f"{part} {len(rows.y)} rows of {len(rows.sizes)} queries"
        for part, rows in zip(Split._fields, splits[0])
    )
    return (
        f"{name}: {tests[0].X.shape[1]} features; {counts}{' (first fold)' * (len(splits) > 1)}; "
        f"{len(relevant)} test queries in all, {relevant.sum()} with a relevant document"
    )


def has_relevant(part):
    """Whether each query has a relevant document."""
    return np.bincount(np.unique(part.qid, return_inverse=True)[1], part.y) > 0
