"""What an import loads: rooms and scikit-learn's larger parts wait until they are asked for."""

import ast
import inspect
import subprocess
import sys
from importlib import import_module

import pytest

import skcalrank
from skcalrank._lazy import lazily

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


def test_rooms_are_attributes():
    assert "skcalrank.export" in added("import skcalrank; skcalrank.export")
    assert skcalrank.__getattr__("export") is import_module("skcalrank.export")


@pytest.mark.parametrize("package", [skcalrank, skcalrank.rankers])
def test_names_are_those_that_type_checkers_see(package):
    block = next(n for n in ast.parse(inspect.getsource(package)).body if isinstance(n, ast.If))
    for node in block.body:
        module = import_module(f".{node.module}", package.__name__)
        for alias in node.names:
            value = getattr(module, alias.name)
            assert getattr(package, alias.name) is package.__getattr__(alias.name) is value


def test_a_star_imports_every_public_name():
    names = {}
    exec("from skcalrank import *", names)
    assert set(skcalrank.__all__) <= set(names)


def test_a_package_without_sources_says_what_to_do(monkeypatch):
    monkeypatch.setattr(type(skcalrank.__spec__.loader), "get_source", lambda *_: None)
    with pytest.raises(ImportError, match=r"source files.*PyInstaller"):
        lazily("skcalrank")


def test_what_does_not_exist_is_an_attribute_error():
    for package in (skcalrank, skcalrank.rankers):
        message = f"module '{package.__name__}' has no attribute 'NDCGRanger'"
        with pytest.raises(AttributeError, match=message):
            _ = package.NDCGRanger
