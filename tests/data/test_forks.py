"""Forked processes use the trees of their parent, and processes of other kinds do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from boosting_cases import ENGINES

from skcalrank.data import apart, is_forked

PROGRAM = Path(__file__).parents[1] / "helpers" / "fork_cases.py"

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")


def ran(*arguments):
    """Lines that a program prints, which runs with as many threads as libraries take."""
    variables = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.long
@needs_fork
def test_forks_use_trees(tmp_path):
    pytest.importorskip("skops")
    *wrong, last = ran(PROGRAM, ",".join(ENGINES), tmp_path, "boosted of two threads")
    assert wrong == []
    assert last == f"{9 * len(ENGINES)} uses"


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_forks_use_all_rankers_of_an_engine(engine, tmp_path):
    pytest.importorskip("skops")
    *wrong, last = ran(PROGRAM, engine, tmp_path)
    assert wrong == []
    assert last == "62 uses"


USED = """
import sys
import numpy as np
from multiprocessing import get_context
from skcalrank import TabularRanker, BoostedRanker

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(3000, 5)), np.arange(3000) // 10
    trees = BoostedRanker(engine=sys.argv[2], n_estimators=5)
    ranker = TabularRanker(trees=trees).fit(X, rng.integers(0, 3, len(X)), qid)
    scores = ranker.predict(X, qid)
    with get_context(sys.argv[1]).Pool(1) as pool:
        twin = pool.apply_async(ranker.predict, (X, qid)).get(100)
    print(np.allclose(twin, scores, rtol=1e-6, atol=1e-9))
"""


@needs_fork
@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("engine", ENGINES)
def test_processes_of_every_kind_use_trees(method, engine, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(USED)
    assert ran("-W", "ignore", program, method, engine) == ["True"]


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_calls_in_a_fork_keep_settings_and_errors():
    import numpy as np
    from sklearn import config_context, get_config

    def settings():
        assert is_forked()
        return get_config()["assume_finite"], np.geterr()["divide"]

    def fails():
        raise KeyError("of the call")

    assert apart(is_forked) is is_forked() is False
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with config_context(assume_finite=True), np.errstate(divide="raise"):
                assert apart(settings) == (True, "raise")
            with pytest.raises(KeyError, match="of the call"):
                apart(fails)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert not is_forked()
