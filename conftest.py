"""For all tests and doctests: seeded data, profiles of random problems, missing libraries."""

import gc
import os
import secrets
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import covering
import numpy as np
import pytest
from cases import make_data

TESTS = Path(__file__).parent / "tests"
os.environ.setdefault("MPLBACKEND", "Agg")

# Their examples plot; what they import without matplotlib is tested in tests/displays.
collect_ignore_glob = [] if find_spec("matplotlib") else ["skcalrank/displays/*", "doc/tuning.rst"]
collect_ignore_glob += [] if find_spec("dask") else ["skcalrank/dask/*"]
collect_ignore_glob += [] if find_spec("skops") else ["skcalrank/persistence/_model_files.py"]
if not (find_spec("lightgbm") or find_spec("xgboost")):
    collect_ignore_glob += ["skcalrank/boosting/_ranker.py", "skcalrank/export/_search.py"]
    collect_ignore_glob += ["doc/tuning.rst"]

# What Sphinx reads and makes in doc/ is not for doctest, nor are pages without their libraries.
collect_ignore_glob += ["doc/conf.py", "doc/_*.py", "doc/_build/*", "doc/gallery/*"]
collect_ignore_glob += ["doc/api/generated/*"]
if not find_spec("pandas"):
    collect_ignore_glob += ["doc/inside_scikit_learn.rst", "doc/comparing.rst", "doc/your_data.rst"]
    collect_ignore_glob += ["doc/judgments.rst", "doc/recommendations.rst", "doc/trec_runs.rst"]
    collect_ignore_glob += ["skcalrank/data/_preferences.py"]
    collect_ignore_glob += ["skcalrank/evaluation/*", "skcalrank/datasets/_load_table.py"]
    collect_ignore_glob += ["skcalrank/datasets/_made_offers.py", "skcalrank/stacking/_tabular.py"]
    collect_ignore_glob += ["skcalrank/boosting/_ranker.py"]
if not (find_spec("lightgbm") and find_spec("xgboost")):
    collect_ignore_glob += ["doc/coming_from.rst", "doc/own_measure.rst"]
if not (find_spec("pandas") and find_spec("pyarrow")):
    collect_ignore_glob += ["doc/index.rst"]
if not (find_spec("skl2onnx") and find_spec("onnxruntime")):
    collect_ignore_glob += ["doc/exporting.rst"]


try:
    from hypothesis import Phase, settings
except ImportError:  # Some tests run where only pytest is installed.
    settings = None
else:
    # Not the phase that explains, which traces every line.
    phases = (Phase.explicit, Phase.generate, Phase.shrink)
    every = {"deadline": None, "database": None, "print_blob": True, "phases": phases}
    settings.register_profile("default", max_examples=10, derandomize=True, **every)
    # A profile inherits what it does not name from the one that is loaded.
    settings.register_profile("slow", max_examples=200, derandomize=False, **every)
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser):
    text = "of each parametrized test, run the first cases only; pytest-randomly draws them"
    parser.addoption("--cases", type=int, metavar="N", help=text)
    text = "run this share of the tests only, drawn by their names"
    parser.addoption("--share", type=float, metavar="P", default=1.0, help=text)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    """Give the slow profile a seed, which the summary prints."""
    if settings is not None and not settings().derandomize and not config.option.hypothesis_seed:
        config.option.hypothesis_seed = str(secrets.randbelow(2**32))


def pytest_terminal_summary(terminalreporter, config):
    if settings is not None and not settings().derandomize:
        terminalreporter.write_line(
            "The property-based tests can be repeated with HYPOTHESIS_PROFILE=slow "
            f"pytest --hypothesis-seed={config.option.hypothesis_seed}"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc):
    """Run few rows of a product of parameters."""
    for mark in metafunc.definition.own_markers:
        if mark.name in ("product", "pairs"):
            slow_too = "not slow" not in metafunc.config.option.markexpr
            return covering.parametrize(metafunc, mark, slow_too)


@pytest.hookimpl(hookwrapper=True)
def pytest_collection_modifyitems(config, items):
    """Mark cases of sweeps, and run few cases of each test in the order that plugins have made."""
    covering.mark_rest(items)
    yield
    kept, beyond, n_kept = [], [], Counter()
    most = config.option.cases or len(items)
    for item in items:
        test = item.nodeid.split("[")[0]
        n_kept[test] += 1
        runs = n_kept[test] <= most and covering.draw(test) < config.option.share
        (kept if runs else beyond).append(item)
    if beyond:
        config.hook.pytest_deselected(items=beyond)
        items[:] = kept


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def sizes():
    """Documents of each query; a test file may have its own."""
    return (6, 1, 9, 4, 7, 5)


@pytest.fixture
def data(rng, sizes):
    """Features, grades and queries in mixed order."""
    return make_data(rng, sizes)


@pytest.fixture
def label_data(rng):
    """Features, and grades of the same four items for every row."""
    X = rng.normal(size=(40, 3))
    return X, np.clip(np.round(X @ rng.normal(size=(3, 4)) + 0.7), 0, 3)


@pytest.fixture
def dask_in_this_thread():
    """Compute dask collections in this process, unless a test has a cluster."""
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """Do not look for garbage among thousands of cases, neither now nor while they run."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


@pytest.hookimpl(hookwrapper=True)
def pytest_collect_file(file_path):
    """Look for doctests in the package and its pages, not in tests."""
    outcome = yield
    if TESTS in file_path.parents:
        modules = [node for node in outcome.get_result() if type(node) is pytest.Module]
        outcome.force_result(modules)
