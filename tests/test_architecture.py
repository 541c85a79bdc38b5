"""The order of the modules, kept by their imports."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import skcalrank
from skcalrank.testing import all_rankers

ROOT = Path(skcalrank.__file__).parent
LEVELS = {
    0: ("data",),
    1: ("measures", "losses", "preds", "aggregation", "_solvers"),
    2: ("metrics", "linear_model", "model_selection"),
    3: ("rankers",),
    4: (
        *("calibration", "datasets", "boosting", "testing"),
        *("inspection", "persistence", "dask"),
    ),
    5: ("__init__", "__main__", "_cli", "displays"),
}
LEVEL_OF = {room: level for level, rooms in LEVELS.items() for room in rooms}
OPTIONAL = {
    *("pandas", "polars", "pyarrow", "matplotlib", "skops"),
    *("lightgbm", "xgboost", "catboost", "dask", "distributed"),
}

FILES = sorted(ROOT.rglob("*.py"))
MODULES = sorted(
    m.name for m in pkgutil.walk_packages([str(ROOT)], "skcalrank.") if "__main__" not in m.name
)


def room_of(path):
    """The first name below the package."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """Absolute dotted names of all imports, at whatever depth."""
    package = ["skcalrank", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *([node.module] if node.module else [])]
            yield from (".".join([*module, alias.name]) for alias in node.names)


def imported_rooms(path):
    """Rooms of the package that a file imports from."""
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "skcalrank":
            yield parts[1] if len(parts) > 1 and parts[1] in LEVEL_OF else "__init__"


def test_every_room_has_a_level():
    assert {room_of(path) for path in FILES} <= set(LEVEL_OF)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_import_from_above(path):
    room = room_of(path)
    for other in imported_rooms(path):
        assert LEVEL_OF[other] <= LEVEL_OF[room], f"{room} imports from {other}"
        if LEVEL_OF[room] == 1 and other != room:
            assert LEVEL_OF[other] == 0, f"{room} knows its sibling {other}"


def test_imports_are_seen():
    # What the tests above rest on.
    assert "data" in set(imported_rooms(ROOT / "measures" / "_positional.py"))
    assert "measures" in set(imported_rooms(ROOT / "metrics" / "_evaluate.py"))
    assert "measures" in set(imported_rooms(ROOT / "rankers" / "_positional.py"))


def at_import(tree):
    """Nodes that run when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node
            yield from at_import(node)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_optional_libraries_are_imported_where_used(path):
    for node in at_import(ast.parse(path.read_text())):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        assert not {name.split(".")[0] for name in names} & OPTIONAL


def test_import_leaves_optional_libraries_alone():
    # scikit-learn may import pandas for itself.
    code = (
        "import sys, sklearn; before = set(sys.modules); import skcalrank, skcalrank.displays; "
        f"print(sorted({OPTIONAL} & (set(sys.modules) - before)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["skcalrank", *MODULES])
def test_all_names_exist(name):
    module = importlib.import_module(name)
    names = getattr(module, "__all__", [])
    assert len(names) == len(set(names))
    for public in names:
        assert hasattr(module, public), public
    if not any(part.startswith("_") for part in name.split(".")):
        assert names, "a public module says what is public"


def public_objects():
    for name in ["skcalrank", *MODULES]:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", []):
            value = getattr(module, public)
            if inspect.isroutine(value) or inspect.isclass(value):
                yield f"{value.__module__}.{value.__qualname__}", value


def own_methods(cls):
    for name, value in vars(cls).items():
        if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
            yield name, getattr(cls, name)


@pytest.mark.parametrize("name", sorted(dict(public_objects())))
def test_what_is_public_is_documented(name):
    value = dict(public_objects())[name]
    assert inspect.getdoc(value)
    if inspect.isclass(value):
        for method, function in own_methods(value):
            assert inspect.getdoc(function), method


def test_top_level_holds_every_ranker():
    assert {name for name, _ in all_rankers()} <= set(skcalrank.__all__)
    assert list(skcalrank.__all__) == sorted(skcalrank.__all__)
