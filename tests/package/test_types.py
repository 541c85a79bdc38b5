"""Type annotations of the public API."""

import ast
import importlib
import inspect
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

import numpy as np
import pytest
import user_program

import skcalrank

MODULES = ["skcalrank"] + [
    f"skcalrank.{module.name}"
    for module in pkgutil.iter_modules([str(Path(skcalrank.__file__).parent)])
    if not module.name.startswith("_")
]
CONSTRUCTORS = ("__init__", "__new__")


def functions_of(cls):
    """Public methods, properties and the constructor, also those of private bases."""
    own = (base for base in cls.__mro__ if base.__module__.startswith("skcalrank."))
    for name, value in (item for base in own for item in vars(base).items()):
        # Properties, also cached ones, methods of the class, and those of `available_if`.
        for attribute in ("fget", "func", "__func__", "fn"):
            value = getattr(value, attribute, value)
        if inspect.isfunction(value) and (not name.startswith("_") or name in CONSTRUCTORS):
            yield value


def public_functions():
    for module in map(importlib.import_module, MODULES):
        for value in (getattr(module, name) for name in module.__all__):
            for function in functions_of(value) if inspect.isclass(value) else [value]:
                # The constructors of named tuples are made by the standard library.
                if inspect.isroutine(function) and "skcalrank." in function.__module__:
                    yield f"{function.__module__}.{function.__qualname__}", function


FUNCTIONS = dict(public_functions())


def not_annotated(function):
    """Parameters without an annotation, and "return"."""
    signature = inspect.signature(function)
    for name, parameter in signature.parameters.items():
        if parameter.annotation is parameter.empty and name not in ("self", "cls"):
            yield name
    constructs = function.__name__ in CONSTRUCTORS
    if signature.return_annotation is signature.empty and not constructs:
        yield "return"


def test_what_is_public_is_annotated():
    offenders = {name: list(not_annotated(function)) for name, function in FUNCTIONS.items()}
    assert {name: missing for name, missing in offenders.items() if missing} == {}


#: Parameters that `skcalrank.columns.types` or `skcalrank.measures` has a type for.
WITH_A_TYPE = {"ax", "cv", "discount", "eval_set", "feature_names", "gain", "input_features"}

# What checks an estimator of any kind, also one that does not predict.
OF_ANY_KIND = "skcalrank.testing.expected_failed_checks"


def test_what_has_a_type_is_not_annotated_as_any():
    offenders = [
        f"{name}: {parameter}"
        for name, function in FUNCTIONS.items()
        for parameter, kind in inspect.unwrap(function).__annotations__.items()
        if parameter in WITH_A_TYPE | {"estimator"} and kind in (Any, "Any")
    ]
    assert offenders == [f"{OF_ANY_KIND}: estimator"]


def test_public_functions_are_seen():
    # What the test above rests on.
    assert {
        "skcalrank.data._targets.Target.queries",
        "skcalrank.judgments._preferences.PreferenceTarget.__init__",
        "skcalrank.judgments._preferences.PreferenceTarget.from_orders",
        "skcalrank.linear_model._gram_ridge.GramRidge.coef_",
        "skcalrank.metrics._functions.ndcg_score",
        "skcalrank.model_selection._QuerySplitter.split",
        "skcalrank.persistence._model_files.save_model",
        "skcalrank.rankers._score.ScoreRanker.merge",
    } <= set(FUNCTIONS)


def test_missing_annotations_are_seen():
    class Example:
        def __init__(self, a: int, b):
            pass

        def method(self, c, *args: int, **options) -> None:
            pass

        @property
        def value(self):
            pass

    assert list(not_annotated(lambda x: x)) == ["x", "return"]
    assert list(not_annotated(Example.__init__)) == ["b"]
    assert list(not_annotated(Example.method)) == ["c", "options"]
    assert list(not_annotated(Example.value.fget)) == ["return"]


# -- a program of a user -------------------------------------------------------------------

PROGRAM = Path(user_program.__file__)
TREE = ast.parse(PROGRAM.read_text())
PARTS = {
    name: part
    for name, part in inspect.getmembers(user_program, inspect.isfunction)
    if part.__module__ == "user_program" and name != "assert_type"
}
NEEDS = {"comparisons": "pandas", "data_sets": "pandas", "runs": "pandas", "files": "skops"}


ARRAYS = {np.ndarray, get_origin(user_program.Ints)}


def fits(value, kind):
    """Whether a value is of a type, as far as it can be seen in the value."""
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, each) for each in inner)
    if origin in ARRAYS:
        # Newer versions of numpy keep the name NDArray in what it stands for.
        of_dtype = get_args(inner[-1])[0] if origin is np.ndarray else inner[0]
        dtype = get_origin(of_dtype) or of_dtype
        return isinstance(value, np.ndarray) and (dtype is Any or np.issubdtype(value.dtype, dtype))
    if not isinstance(value, origin or kind):
        return False
    if origin is list:
        return all(fits(each, inner[0]) for each in value)
    if origin is dict:
        return fits(list(value), list[inner[0]]) and fits(list(value.values()), list[inner[1]])
    return True


@pytest.mark.parametrize("name", PARTS)
def test_values_have_the_types_that_are_announced(name, tmp_path, monkeypatch):
    pytest.importorskip(NEEDS.get(name, "numpy"))
    if "displays." in inspect.getsource(PARTS[name]):
        pytest.importorskip("matplotlib")

    def check(value, kind):
        assert fits(value, kind), f"{value!r} is not of type {kind}"

    monkeypatch.setattr(user_program, "assert_type", check)
    PARTS[name](*([tmp_path] if "folder" in inspect.signature(PARTS[name]).parameters else []))


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, str),
        (np.zeros(2), user_program.Ints),
        (None, int | str),
        ([1, "a"], list[int]),
        ({"a": 1}, dict[str, str]),
    ],
)
def test_values_of_another_type_are_seen(value, kind):
    assert not fits(value, kind)


def test_the_program_uses_every_public_name():
    used = {getattr(node, "attr", getattr(node, "id", None)) for node in ast.walk(TREE)}
    for module in MODULES:
        missing = set(importlib.import_module(module).__all__) - used
        assert not missing, f"{module}: {missing}"


@pytest.mark.slow
def test_mypy_sees_no_untyped_call_in_the_program(tmp_path):
    pytest.importorskip("mypy")
    # A package that is not installed among others is found by its path, and only the program is
    # to be read strictly.
    package = Path(skcalrank.__file__).parents[1]
    installed = package.name in ("site-packages", "dist-packages")
    command = ["mypy", "--strict", "--config-file=", "--follow-imports=silent", str(PROGRAM)]
    done = subprocess.run(
        [sys.executable, "-m", *command],
        env=os.environ | ({} if installed else {"MYPYPATH": str(package)}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
