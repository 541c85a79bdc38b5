"""The order of the modules, kept by their imports."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

import skcalrank
from skcalrank._cli._parser import _make_parser
from skcalrank._cli._rankers import RANKERS, make_measure, make_ranker
from skcalrank._cli._shared import COMPARE_RANKERS, RUN_MEASURES
from skcalrank.boosting import lightgbm_metric, lightgbm_objective
from skcalrank.calibration import SURROGATES, LabelDistribution
from skcalrank.losses import LOSSES, PREFERENCE_LOSSES
from skcalrank.measures import MEASURES
from skcalrank.rankers import ScoreRanker
from skcalrank.testing import all_rankers

ROOT = Path(skcalrank.__file__).parent
LEVELS = {
    0: ("_version", "_dask", "data"),
    1: ("measures", "losses", "preds", "aggregation", "_solvers"),
    2: ("metrics", "linear_model", "model_selection", "preprocessing", "pipeline"),
    3: ("rankers",),
    4: (
        *("calibration", "datasets", "boosting", "testing"),
        *("inspection", "persistence", "dask"),
    ),
    5: ("stacking",),
    6: ("__init__", "__main__", "_cli", "_show_versions", "displays", "evaluation", "export"),
}
LEVEL_OF = {room: level for level, rooms in LEVELS.items() for room in rooms}
OPTIONAL = {
    *("pandas", "polars", "pyarrow", "matplotlib", "skops"),
    *("lightgbm", "xgboost", "catboost", "dask", "distributed", "shap"),
    *("skl2onnx", "onnx", "onnxruntime", "duckdb"),
}

FILES = sorted(ROOT.rglob("*.py"))
MODULES = sorted(
    m.name for m in pkgutil.walk_packages([str(ROOT)], "skcalrank.") if "__main__" not in m.name
)


def room_of(path):
    """The room of a file: the first name below the package."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def modules_in_strings(tree):
    """Modules of the package that may be imported by a string."""
    for node in ast.walk(tree):
        if getattr(node, "id", None) == "__package__":
            yield "skcalrank"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = f"skcalrank{node.value}" if node.value.startswith(".") else node.value
            if name in MODULES:
                yield name


def imported(path):
    """Absolute dotted names of all imports, also inside functions."""
    inside = path.is_relative_to(ROOT)
    package = ["skcalrank", *path.relative_to(ROOT).parts[:-1]] if inside else []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *([node.module] if node.module else [])]
            yield from (".".join([*module, alias.name]) for alias in node.names)


def imported_rooms(path):
    """Rooms of the package that a file imports from."""
    for name in chain(imported(path), modules_in_strings(ast.parse(path.read_text()))):
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


@pytest.mark.parametrize(
    ("code", "module"),
    [
        ("import_module('skcalrank.dask._gather')", ["skcalrank.dask._gather"]),
        ("import_module('.dask', 'skcalrank')", ["skcalrank.dask"]),
        ("import_module(__package__)", ["skcalrank"]),
        ("'See skcalrank.dask.partition_by_query.'", []),
    ],
)
def test_imports_by_a_string_are_seen(code, module):
    assert list(modules_in_strings(ast.parse(code))) == module


# -- rooms know of each other what is public, and ask for capabilities, not for classes ----

# Private names of libraries that are read: dask keeps an empty block there, scikit-learn the trees
# of a histogram regressor.
OF_LIBRARIES = {"_meta", "_predictors"}


def bases(cls):
    return [base for base in cls.__mro__ if base.__module__.startswith("skcalrank.")]


#: Rooms of the measures, losses and rankers, and of the classes that they are made of.
ROOM_OF_CLASS = {
    base.__name__: base.__module__.split(".")[1]
    for cls in (
        *(*MEASURES.values(), *LOSSES.values(), *PREFERENCE_LOSSES.values()),
        *dict(all_rankers()).values(),
    )
    for base in bases(cls)
}

OPTIONS = {"relevance_level", "max_grade", "k", "gain"}


def calls(tree, *functions):
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in functions:
            yield node


def names_in(node, aliases):
    for part in ast.walk(node):
        name = getattr(part, "id", getattr(part, "attr", None))
        if name is not None:
            yield aliases.get(name, name)


def type_checks(tree, room):
    """Classes of other rooms that objects are compared with."""
    aliases = {
        alias.asname: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    checks = [call.args[1] for call in calls(tree, "isinstance", "issubclass")]
    for node in ast.walk(tree):
        if isinstance(node, (ast.Compare, ast.Subscript)) and any(calls(node, "type")):
            checks.append(node)
    found = {name for check in checks for name in names_in(check, aliases)}
    return {name for name in found if ROOM_OF_CLASS.get(name, room) != room}


def options_asked_for(tree):
    """Parameters of measures in calls of hasattr and getattr."""
    for call in calls(tree, "getattr", "hasattr"):
        owner, name = call.args[:2]
        if getattr(owner, "id", None) != "self" and getattr(name, "value", None) in OPTIONS:
            yield name.value


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_capabilities_are_asked_for_not_classes(path):
    room, tree = room_of(path), ast.parse(path.read_text())
    assert not type_checks(tree, room)
    assert room == "measures" or not list(options_asked_for(tree))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("isinstance(m, NDCG)", {"NDCG"}),
        ("isinstance(m, (str, Measure))", {"Measure"}),
        ("issubclass(c, rankers.PairRanker)", {"PairRanker"}),
        ("from ..losses import Squared as S\nisinstance(x, S)", {"Squared"}),
        ("type(m) is Kendall", {"Kendall"}),
        ("type(m) in (ERR, int)", {"ERR"}),
        ("{AUC: 1}[type(m)]", {"AUC"}),
        ("isinstance(y, ClickSessions)", set()),
        ("NDCG()", set()),
    ],
)
def test_type_checks_are_seen(code, found):
    assert type_checks(ast.parse(code), "metrics") == found


def test_type_checks_are_allowed_at_home():
    code = ast.parse("isinstance(m, Measure), isinstance(x, BaseRanker)")
    assert type_checks(code, "measures") == {"BaseRanker"}
    assert type_checks(code, "rankers") == {"Measure"}
    asked = ast.parse("getattr(m, 'k', None), hasattr(m, 'max_grade'), getattr(self, 'k')")
    assert list(options_asked_for(asked)) == ["k", "max_grade"]


def is_private(name):
    # A named tuple has a public method _replace.
    return name.startswith("_") and not name.startswith("__") and name != "_replace"


def private_imports(names, room):
    """Imports of what is private in another room."""
    for name in names:
        parts = name.split(".")
        if parts[0] == "skcalrank" and parts[1:2] != [room] and any(map(is_private, parts[2:])):
            yield name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_import_of_what_is_private_in_another_room(path):
    assert not list(private_imports(imported(path), room_of(path)))


def test_private_imports_are_seen():
    names = [
        "skcalrank.metrics._scorer.f",
        "skcalrank.preds._g",
        "skcalrank._solvers.h",
        "numpy._x",
    ]
    assert list(private_imports(names, "rankers")) == names[:2]
    assert list(private_imports(names, "metrics")) == names[1:2]


# What tests call though it has no door, and why.
TESTED_INSIDE = {
    "_cli": "a private room, whose door runs whole commands",
    "_solvers._bilinear.fit_bilinear": "no ranker tells its iterations",
    "aggregation._judgments.random_subsets": "their mean hides which subsets are drawn",
    "boosting._objectives.LONGEST_STEP": "a bound that no option sets",
    "calibration._cones.newton_steps": "a step that no public number shows by itself",
    "calibration._orders.pooled": "the regression within the gap, against scikit-learn's",
    "calibration._surrogates.conditional_risk": "what the gap is the least value of",
    "data._threads": "how many threads there are, which the machine says otherwise",
    "metrics._metric.metric_function": "what the metrics are made by",
    "rankers._folds.Split": "folds that no splitter makes",
    "rankers._folds.make_splits": "which rows are held out, of which results are the mean",
    "rankers._folds.training_moments": "moments that are summed up before anything is learned",
    "rankers._relevance_pairs.RelevancePairs": "losses of pairs one query at a time",
    "rankers._stacks.stacks": "how many matrices are held at once",
}
TESTS = sorted(Path(__file__).parents[1].rglob("*.py"))


def test_tests_go_through_the_doors():
    names = {n for path in TESTS for n in private_imports(imported(path), "tests")}
    inside = {n.removeprefix("skcalrank.") for n in names}
    assert {"_cli" if n.startswith("_cli.") else n for n in inside} == set(TESTED_INSIDE)


def owner(node):
    """The name before the dot of an attribute; "self" if there is none."""
    return getattr(node.value, "id", None) if isinstance(node, ast.Attribute) else "self"


def known_names(trees):
    """What a room defines: functions, classes, variables, attributes of its own objects."""
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(getattr(node, "ctx", None), ast.Store) and owner(node) in ("self", "cls"):
            yield getattr(node, "id", getattr(node, "attr", None))


def foreign_names(trees):
    """Private attributes that the room has not defined, of objects other than self."""
    known = set(known_names(trees))
    attributes = (n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Attribute))
    for node in attributes:
        if is_private(node.attr) and node.attr not in known and owner(node) not in ("self", "cls"):
            yield node.attr


@pytest.mark.parametrize("room", sorted(LEVEL_OF))
def test_no_private_attribute_of_another_room(room):
    trees = [ast.parse(path.read_text()) for path in FILES if room_of(path) == room]
    assert set(foreign_names(trees)) <= OF_LIBRARIES


def test_private_attributes_are_seen():
    code = "def _f(self): self._mine = other._mine + other._theirs + super()._f()"
    assert list(foreign_names([ast.parse(code)])) == ["_theirs"]


# -- what is registered can be reached ------------------------------------------------------


def parsed(*argv):
    return _make_parser().parse_args(list(argv))


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_reachable(name):
    args = parsed("evaluate", "--run", "r", "--qrels", "q", "--measures", name)
    assert args.measures == [[name]]
    assert make_measure(name) == MEASURES[name]()
    assert (name in RUN_MEASURES) == MEASURES[name].top_only
    assert lightgbm_metric(name).measure == MEASURES[name]()
    law = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25])
    assert law.order_values(name).shape == (6,)
    if MEASURES[name].has_score_targets():
        assert MEASURES[name].calibration is not None
        assert lightgbm_objective(name).measure.name == name
        assert law.expected_targets(name).shape == (3,)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_reachable(name):
    assert lightgbm_objective("precision", name).loss.name == name
    law = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25])
    assert law.surrogate_minimizer(name, "precision").shape == (3,)


@pytest.mark.parametrize("name", PREFERENCE_LOSSES)
def test_every_loss_of_preferences_is_reachable(name):
    assert {f"preference_{name}", f"margin_{name}"} <= set(SURROGATES)


@pytest.mark.parametrize("cls", dict(all_rankers()).values(), ids=dict(all_rankers()))
def test_every_ranker_of_one_measure_is_reachable(cls):
    # Those that name no measure of their own, or ask for more than features, have no short name.
    general = not issubclass(cls, ScoreRanker) or "measure" in inspect.signature(cls).parameters
    assert bool(cls.short_names) != general
    for short in cls.short_names:
        assert type(make_ranker(short)) is cls
        assert parsed("fit", "f", "--model", "m", "--ranker", short).ranker == short
        assert short in RANKERS
        assert short in COMPARE_RANKERS or cls.short_names[short]


@pytest.mark.parametrize(("command", "names"), [("evaluate", MEASURES), ("fit", RANKERS)])
def test_help_names_what_is_registered(capsys, command, names):
    with pytest.raises(SystemExit):
        parsed(command, "--help")
    assert set(names) <= set(re.findall(r"\w+", capsys.readouterr().out))


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
