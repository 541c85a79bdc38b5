"""What an import loads: rooms and scikit-learn's larger parts wait until they are asked for."""

import ast
import inspect
import json
import os
import shutil
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path

import pytest

import skcalrank
from skcalrank import judgments, rankers
from skcalrank._lazy import lazily

#: Packages whose names are imported when they are asked for.
LAZY = [skcalrank, rankers, judgments]

# What a program that learns by scikit-learn has imported.
BEFORE = "import sklearn.linear_model, sklearn.metrics, sklearn.model_selection, sklearn.pipeline"


def added(statement, before="import sys"):
    """Modules that a statement imports in a new process, without second names of theirs."""
    code = f"import sys; {before}; old = set(sys.modules); {statement}"
    code += "; print(*(n for n, m in sys.modules.items() if n not in old and n == m.__name__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_alone_loads_next_to_nothing():
    assert added("import skcalrank") & {"numpy", "scipy", "sklearn", "skcalrank.data"} == set()


def test_after_scikit_learn_few_modules_are_loaded():
    modules = added("from skcalrank import NDCGRanker", BEFORE)
    # Lower versions of scikit-learn leave some of numpy's, of Python's and of its own to us.
    modules = {n for n in modules if n.partition(".")[0] not in sys.stdlib_module_names}
    assert sum(not name.startswith(("numpy.", "sklearn.compose")) for name in modules) <= 89


@pytest.mark.long
def test_what_a_name_needs_is_loaded():
    modules = added("from skcalrank import NDCGRanker; import skcalrank.dask", BEFORE)
    assert "skcalrank.dask._rankers" in modules
    assert not {m for m in modules if m.startswith(("sklearn.ensemble", "dask", "pandas"))}


def test_rooms_and_names_are_listed_before_they_are_loaded():
    code = "import skcalrank; print(*dir(skcalrank))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = done.stdout.split()
    assert {*skcalrank.__all__, "boosting", "evaluation", "testing"} <= set(names)
    assert names == sorted(names)


@pytest.mark.long
def test_rooms_are_attributes():
    assert "skcalrank.export" in added("import skcalrank; skcalrank.export")
    assert skcalrank.__getattr__("export") is import_module("skcalrank.export")


@pytest.mark.parametrize("package", LAZY)
def test_names_are_those_that_type_checkers_see(package):
    blocks = [n for n in ast.parse(inspect.getsource(package)).body if isinstance(n, ast.If)]
    imports = [n for block in blocks for n in (*block.body, *block.orelse)]
    public = set()
    for node in (n for n in imports if isinstance(n, ast.ImportFrom)):
        module = import_module(f".{node.module}", package.__name__)
        for alias in node.names:
            value = getattr(module, alias.name)
            assert getattr(package, alias.name) is package.__getattr__(alias.name) is value
            # Type checkers take a name that is imported as itself as public.
            public |= {alias.asname} - {None}
    assert package.__all__ == sorted(public)


def test_a_star_imports_every_public_name():
    names = {}
    exec("from skcalrank import *", names)
    assert set(skcalrank.__all__) <= set(names)


WITHOUT_SOURCES = """
import json, sys, warnings
import skcalrank
names = dir(skcalrank)
from skcalrank import *
from skcalrank import NDCGRanker, TabularRanker, data, judgments, rankers
from skcalrank.data import PreferenceTarget

X, y, qid = make_subset_ranking(n_queries=6, random_state=0)[:3]
judgments.ClickCounts, rankers.is_ranker, PreferenceTarget
NDCGRanker().fit(X, y, qid).score(X, y, qid)
TabularRanker(trees=None).fit(X, y, qid).predict(X, qid)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    NDCGRanker().fit(X, 0 * y, qid)
assert told and {each.filename for each in told} == {"<string>"}
public = {room.__name__: room.__all__ for room in (skcalrank, rankers, judgments)}
print(json.dumps([skcalrank.__file__, names, public]))
"""


@pytest.mark.long
def test_a_zip_of_byte_code_is_enough(tmp_path):
    # As in frozen programs: PyInstaller collects no source files.
    shutil.copytree(Path(skcalrank.__file__).parent, tmp_path / "copy" / "skcalrank")
    with zipfile.PyZipFile(str(tmp_path / "packages.zip"), "w") as packages:
        packages.writepy(tmp_path / "copy" / "skcalrank")
    assert not [name for name in packages.namelist() if name.endswith(".py")]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SOURCES],
        env=os.environ | {"PYTHONPATH": packages.filename},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    file, names, public = json.loads(done.stdout)
    assert file.startswith(packages.filename)
    assert public == {room.__name__: room.__all__ for room in LAZY}
    assert {*skcalrank.__all__, "boosting", "evaluation", "testing"} <= set(names)


def test_a_package_without_byte_code_says_what_to_do():
    with pytest.raises(ImportError, match=r"^skcalrank must be run from its byte code.*Nuitka"):
        lazily("skcalrank")


def test_what_does_not_exist_is_an_attribute_error():
    for package in (skcalrank, skcalrank.rankers):
        message = f"module '{package.__name__}' has no attribute 'NDCGRanger'"
        with pytest.raises(AttributeError, match=message):
            _ = package.NDCGRanger
