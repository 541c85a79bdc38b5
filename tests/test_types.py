"""Type annotations of the public API."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_what_is_public_is_annotated(name):
    assert not list(not_annotated(FUNCTIONS[name]))


def test_public_functions_are_seen():
    # What the test above rests on.
    assert {
        "skcalrank.data._targets.Target.queries",
        "skcalrank.data._preferences.PreferenceTarget.__init__",
        "skcalrank.data._preferences.PreferenceTarget.from_orders",
        "skcalrank.linear_model._gram_ridge.GramRidge.coef_",
        "skcalrank.metrics._functions.ndcg_score",
        "skcalrank.model_selection._QuerySplitter.split",
        "skcalrank.persistence.save_model",
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
