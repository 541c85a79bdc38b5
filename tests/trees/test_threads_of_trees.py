"""Trees take as many threads as pay at the size of the table."""

import os
import subprocess
import sys
from pathlib import Path

import joblib
import pytest
from boosting_cases import ENGINES

from skcalrank.data import openmp, openmp_threads
from skcalrank.trees import threads

# Prints how many threads the process has before and after each fit and its predictions.
COUNTING = """
import os
import numpy as np
from skcalrank import BoostedRanker
X = np.random.default_rng(0).normal(size=(600, 5))
y, qid = (X[:, 0] > 0).astype(int), np.arange(600) // 20
counts = []
for engine in {engines}:
    counts.append(len(os.listdir("/proc/self/task")))
    ranker = BoostedRanker(engine=engine, n_estimators=6, n_jobs={n_jobs}).fit(X, y, qid)
    list(ranker.staged_predict(X)), ranker.predict(X), ranker.predict(X[:5])
    counts.append(len(os.listdir("/proc/self/task")))
print(*counts)
"""


def counted(n_jobs, engines):
    env = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    code = COUNTING.format(engines=list(engines), n_jobs=n_jobs)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    return list(map(int, done.stdout.split()))


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads as Linux does")
def test_small_tables_start_no_threads():
    none, two = counted(None, ENGINES), counted(2, ENGINES[:1])
    assert len(set(none)) == 1
    assert two[1] > two[0]  # they are counted, and an explicit number is obeyed


def test_an_explicit_number_is_obeyed_at_any_size():
    assert [threads(n_jobs, 1) for n_jobs in (1, 2, 7)] == [1, 2, 7]
    assert threads(-1, 1) == joblib.effective_n_jobs(-1)


@pytest.mark.parametrize("most", [1, 2, 3])
def test_threads_grow_with_the_table_up_to_the_default_of_openmp(most):
    with openmp().limit(limits=most):
        assert openmp_threads() == min(most, joblib.cpu_count())
        assert threads(None, 0) == threads(None, 9_999_999) == 1
        assert threads(None, 10_000_000) == min(2, openmp_threads())
        assert threads(None, 10**12) == openmp_threads()


def test_workers_of_joblib_leave_the_cores_to_each_other():
    # loky gives each of its workers a share of the cores.
    limits = joblib.Parallel(2)(joblib.delayed(openmp_threads)() for _ in range(2))
    assert max(limits) <= max(1, joblib.cpu_count() // 2)
