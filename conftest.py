"""For all tests, doctests among them: how they get along with matplotlib, or without."""

import os
import sys
from importlib.util import find_spec

import pytest

os.environ.setdefault("MPLBACKEND", "Agg")

# Their examples plot; what they import without matplotlib is tested in tests/test_displays.py.
collect_ignore_glob = [] if find_spec("matplotlib") else ["skcalrank/displays/*"]
collect_ignore_glob += [] if find_spec("dask") else ["skcalrank/dask/*"]
collect_ignore_glob += [] if find_spec("skops") else ["skcalrank/persistence.py"]
if not (find_spec("lightgbm") or find_spec("xgboost")):
    collect_ignore_glob += ["skcalrank/boosting/_ranker.py", "skcalrank/export/_search.py"]

# Fixtures are no doctests, and one name stands for the files of two folders.
collect_ignore_glob += ["tests/conftest.py", "tests/cli/conftest.py"]

# What Sphinx reads and makes in doc/ is not for doctest, nor are pages without their libraries.
collect_ignore_glob += ["doc/conf.py", "doc/_*.py", "doc/_build/*", "doc/gallery/*"]
collect_ignore_glob += ["doc/api/generated/*"]
if not find_spec("pandas"):
    collect_ignore_glob += ["doc/inside_scikit_learn.rst", "doc/comparing.rst", "doc/your_data.rst"]
    collect_ignore_glob += ["skcalrank/evaluation/*", "skcalrank/datasets/_load_table.py"]
if not (find_spec("lightgbm") and find_spec("xgboost")):
    collect_ignore_glob += ["doc/coming_from.rst", "doc/own_measure.rst"]
if not (find_spec("skl2onnx") and find_spec("onnxruntime")):
    collect_ignore_glob += ["doc/exporting.rst"]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
