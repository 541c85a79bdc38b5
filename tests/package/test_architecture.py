"""The order of the modules and what they know of each other, read in their sources.

Each law has one case, which lists all that breaks it.
"""

import ast
import importlib
import inspect
import re
from collections import defaultdict
from pathlib import Path

import pytest
from sources import (
    FILES,
    LEVEL_OF,
    MODULES,
    OPTIONAL,
    ROOT,
    TESTS,
    at_import,
    calls,
    imported,
    modules_in_strings,
    nodes,
    owner,
    place,
    room_of,
)

from skcalrank.losses import LOSSES, PREFERENCE_LOSSES
from skcalrank.measures import MEASURES
from skcalrank.testing import all_rankers
from skcalrank.trees import ENGINES, LIBRARIES

TOP = Path(__file__).parents[2]  # installed, the package is not beside its tests


def parsed(code):
    return list(ast.walk(ast.parse(code)))


# -- the order of the rooms ------------------------------------------------------------------


def rooms_named(names):
    """Rooms of the package that dotted names belong to."""
    for name in names:
        parts = name.split(".")
        if parts[0] == "skcalrank":
            yield parts[1] if len(parts) > 1 and parts[1] in LEVEL_OF else "__init__"


def rooms_read(path):
    """Rooms that a file imports from, by statements and by strings."""
    return set(rooms_named([*imported(path), *modules_in_strings(nodes(path))]))


def test_every_room_has_a_level():
    assert {room_of(path) for path in FILES} <= set(LEVEL_OF)


# The door of data lists targets that have a room above it.
LISTED_ABOVE = {("data", "judgments")}


def test_no_import_from_above_nor_of_siblings_that_only_rankers_join():
    arrows = {(room_of(path), other) for path in FILES for other in rooms_read(path)}
    below = {(room, other) for room, other in arrows if LEVEL_OF[other] <= LEVEL_OF[room]}
    siblings = {
        (room, other)
        for room, other in arrows
        if LEVEL_OF[room] == LEVEL_OF[other] == LEVEL_OF["measures"] and room != other
    }
    assert (arrows - below) | siblings == LISTED_ABOVE
    judging = [
        path.name for path in (ROOT / "data").glob("*.py") if "judgments" in rooms_read(path)
    ]
    assert judging == ["__init__.py"]


def test_modules_that_the_lowest_room_reads_read_no_room():
    # They would read it half made where it is imported first.
    beside = [path for path in FILES if path.parent == ROOT and LEVEL_OF[room_of(path)] == 0]
    read = [
        (path.name, node.module.partition(".")[0])
        for path in beside
        for node in at_import(nodes(path)[0])
        if isinstance(node, ast.ImportFrom) and node.level and node.module
    ]
    assert ("_dask.py", "_lazy") in read
    assert [(name, module) for name, module in read if (ROOT / module).is_dir()] == []


def test_imports_are_seen():
    # What the tests above rest on.
    assert "data" in rooms_read(ROOT / "measures" / "_positional.py")
    assert "measures" in rooms_read(ROOT / "metrics" / "_evaluate.py")
    assert "measures" in rooms_read(ROOT / "rankers" / "_positional.py")


@pytest.mark.parametrize(
    ("code", "module"),
    [
        ("import_module('skcalrank.dask._cut')", ["skcalrank.dask._cut"]),
        ("import_module('.dask', 'skcalrank')", ["skcalrank.dask"]),
        ("import_module(__package__)", ["skcalrank"]),
        ("'See skcalrank.dask.partition_by_query.'", []),
    ],
)
def test_imports_by_a_string_are_seen(code, module):
    assert list(modules_in_strings(parsed(code))) == module


def test_optional_libraries_are_imported_where_they_are_used():
    offenders = [
        place(path, node)
        for path in FILES
        for node in at_import(nodes(path)[0])
        if (isinstance(node, ast.Import) and {a.name.split(".")[0] for a in node.names} & OPTIONAL)
        or (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OPTIONAL)
        if not getattr(node, "level", 0)
    ]
    assert offenders == []


# -- rooms know of each other what is public, and ask for capabilities, not for classes ----

# The private name under which dask keeps an empty block.
OF_LIBRARIES = {"_meta"}


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

# A stack keeps rows for the early stops of its boosted rankers, and adds up their trees by itself.
KNOWN_IN_ROOM = {"stacking": {"BoostedRanker"}}

OPTIONS = {"relevance_level", "max_grade", "k", "gain"}


def names_in(node, aliases):
    for inner in ast.walk(node):
        name = getattr(inner, "id", getattr(inner, "attr", None))
        if name is not None:
            yield aliases.get(name, name)


def type_checks(tree, room):
    """Classes of other rooms that objects are compared with."""
    aliases = {
        alias.asname: alias.name
        for node in tree
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    checks = [call.args[1] for call in calls(tree, "isinstance", "issubclass")]
    if any(calls(tree, "type")):
        compared = [node for node in tree if isinstance(node, (ast.Compare, ast.Subscript))]
        checks += [node for node in compared if any(calls(ast.walk(node), "type"))]
    names = {name for check in checks for name in names_in(check, aliases)}
    return {name for name in names if ROOM_OF_CLASS.get(name, room) != room}


def options_asked_for(tree):
    """Parameters of measures in calls of hasattr and getattr."""
    for call in calls(tree, "getattr", "hasattr"):
        asked, name = call.args[:2]
        if getattr(asked, "id", None) != "self" and getattr(name, "value", None) in OPTIONS:
            yield name.value


def test_capabilities_are_asked_for_not_classes():
    offenders = {
        path.name: names
        for path in FILES
        if (
            names := type_checks(nodes(path), room_of(path))
            - KNOWN_IN_ROOM.get(room_of(path), set())
        )
        or (names := room_of(path) != "measures" and list(options_asked_for(nodes(path))))
    }
    assert offenders == {}


@pytest.mark.parametrize(
    ("code", "expected"),
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
def test_type_checks_are_seen(code, expected):
    assert type_checks(parsed(code), "metrics") == expected


def test_type_checks_are_allowed_at_home():
    code = parsed("isinstance(m, Measure), isinstance(x, BaseRanker)")
    assert type_checks(code, "measures") == {"BaseRanker"}
    assert type_checks(code, "rankers") == {"Measure"}
    asked = parsed("getattr(m, 'k', None), hasattr(m, 'max_grade'), getattr(self, 'k')")
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


def test_no_import_of_what_is_private_in_another_room():
    offenders = {n for path in FILES for n in private_imports(imported(path), room_of(path))}
    assert offenders == set()


def test_private_imports_are_seen():
    names = [
        "skcalrank.metrics._scorer.f",
        "skcalrank.preds._g",
        "skcalrank._solvers.h",
        "numpy._x",
    ]
    assert list(private_imports(names, "rankers")) == names[:2]
    assert list(private_imports(names, "metrics")) == names[1:2]


def private_in_sklearn():
    """Files that import each private name of scikit-learn."""
    files = defaultdict(set)
    for path in FILES:
        for name in imported(path):
            if name.startswith("sklearn.") and any(map(is_private, name.split("."))):
                files[name.rpartition(".")[2]].add(path.relative_to(ROOT).as_posix())
    return files


def names_of(tree):
    """Names that a file defines: functions, classes, parameters, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.alias):
            yield from (node.asname or node.name).split(".")


def code_in(text):
    """Names and paths in the code of a text: `data/_rows.py`, `Plan.weighed`, `fit(X, y, qid)`."""
    for code in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        if re.fullmatch(r"\.?\w[\w./]*(/|\.(py|md|toml|txt|inc))", code):
            yield code if "/" in code else code.removesuffix(".py")
        elif re.match(r"[A-Za-z_][\w.]*(\(|$)", code):
            yield from re.findall(r"[A-Za-z_]\w*", code.partition("(")[0])


#: Names of other libraries, of markers, and such as stand for any name.
OF_OTHERS = {"FutureWarning", "_name", "every_case", "iloc", "x0", "x1"}


def test_contributing_and_the_paper_name_what_exists():
    folders = (ROOT, ROOT.parent, TOP)
    sources = [*FILES, *(TOP / "tests" / "helpers").glob("*.py")]
    names = {name for path in sources for name in names_of(ast.parse(path.read_text()))}
    names |= {part for path in FILES for part in path.relative_to(ROOT.parent).parts}
    names |= {path.name for path in sources}
    names |= {name.removesuffix(".py") for name in names}
    for file, least in (("CONTRIBUTING.md", 200), ("paper/paper.md", 10)):
        told = set(code_in((TOP / file).read_text()))
        assert len(told) >= least
        missing = told - names - OF_OTHERS
        assert {n for n in missing if not any((one / n).exists() for one in folders)} == set()


def test_private_names_of_sklearn_have_one_file_and_a_row_in_contributing():
    rows = (TOP / "CONTRIBUTING.md").read_text().partition("private in scikit-learn")[2]
    table = re.findall(r"^\| `(\w+)` \| `([\w/.]+)` \| \S", rows, flags=re.M)
    files = private_in_sklearn()
    assert {"_safe_indexing", "TreePredictor"} <= set(files)
    assert files == {name: {path} for name, path in table}


# What tests call though it has no door, and why.
TESTED_INSIDE = {
    "_cli": "a private room, whose door runs whole commands",
    "_solvers._bilinear.fit_bilinear": "no ranker tells its iterations",
    "aggregation._judgments.random_subsets": "their mean hides which subsets are drawn",
    "boosting._objectives.LONGEST_STEP": "a bound that no option sets",
    "calibration._cones.newton_steps": "a step that no public number shows by itself",
    "calibration._cones.projected_newton": "moves that no public number shows by themselves",
    "calibration._orders.pooled": "the regression within the gap, against scikit-learn's",
    "calibration._shape.frame_of": "units of a search, which its result does not show",
    "calibration._surrogates.conditional_risk": "what the gap is the least value of",
    "metrics._metric.metric_function": "what the metrics are made by",
    "preprocessing._words.Words": "one column of text, against scikit-learn's vectorizers",
    "preds._insertion.OrderSearch": "orders before they are proven, which the map does not show",
    "preds._layers.assignment_bound": "of given shares, which the map chooses",
    "preds._layers.bound_of_rest": "what a search may drop, which its result does not show",
    "preds._stacks.without_rounding": "values that maps read, and show the order of alone",
    "rankers._folds.Split": "folds that no splitter makes",
    "rankers._folds.make_splits": "which rows are held out, of which results are the mean",
    "rankers._folds.training_moments": "moments that are summed up before anything is learned",
    "rankers._gaussian.held_out_by": "the closed form of folds, against fits to the others",
    "rankers._edges.RelevancePairs": "losses of pairs one query at a time",
    "rankers._stacks.stacks": "how many matrices are held at once",
    "stacking._mixing.HeldOut": "weights of rankers that have scored some of the folds",
    "stacking._mixing.Plan": "which rows the folds are",
    "trees._histograms._FIELDS": "what scikit-learn does not publish, which a test takes away",
    "trees._histograms._NAMES": "the same",
}


def test_tests_go_through_the_doors():
    names = {n for path in TESTS for n in private_imports(imported(path), "tests")}
    inside = {n.removeprefix("skcalrank.") for n in names}
    assert {"_cli" if n.startswith("_cli.") else n for n in inside} == set(TESTED_INSIDE)


def known_names(tree):
    """What a room defines: functions, classes, variables, attributes of its own objects."""
    for node in tree:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(getattr(node, "ctx", None), ast.Store) and owner(node) in ("self", "cls"):
            yield getattr(node, "id", getattr(node, "attr", None))


def foreign_names(tree):
    """Private attributes that the room has not defined, of objects other than self."""
    known = set(known_names(tree))
    for node in (node for node in tree if isinstance(node, ast.Attribute)):
        if is_private(node.attr) and node.attr not in known and owner(node) not in ("self", "cls"):
            yield node.attr


def test_no_private_attribute_of_another_room():
    rooms = defaultdict(list)
    for path in FILES:
        rooms[room_of(path)] += nodes(path)
    # One module alone reads the frame of its caller: the names of a package are in its byte code.
    (lazy,) = (path for path in FILES if path.name == "_lazy.py")
    offenders = {(room, name) for room, tree in rooms.items() for name in foreign_names(tree)}
    others = {(room, name) for room, name in offenders if name not in OF_LIBRARIES}
    assert others == {(room_of(lazy), "_getframe")}
    assert [path for path in FILES if "_getframe" in path.read_text()] == [lazy]


def test_private_attributes_are_seen():
    code = "def _f(self): self._mine = other._mine + other._theirs + super()._f()"
    assert list(foreign_names(parsed(code))) == ["_theirs"]


# -- trees: one room that imports their libraries, one class of nodes ------------------------

BOOSTERS = {"lightgbm", "xgboost", "catboost"}


def boosters_imported(tree):
    """Libraries of trees that are imported, or looked up by their names as modules."""
    for node in tree:
        if isinstance(node, ast.Import):
            yield from {alias.name.partition(".")[0] for alias in node.names} & BOOSTERS
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from {node.module.partition(".")[0]} & BOOSTERS
        elif isinstance(node, (ast.Call, ast.Subscript)):
            given = node.args if isinstance(node, ast.Call) else [node.slice]
            asked = ast.unparse(node.func if isinstance(node, ast.Call) else node.value)
            if re.search(r"\b(find_spec|import_module|installed|__import__|modules)\b", asked):
                named = {str(getattr(each, "value", "")).partition(".")[0] for each in given}
                yield from named & BOOSTERS


def test_one_room_imports_the_libraries_of_trees():
    # Its classes ask for their own name.
    assert [path.name for path in FILES if any(boosters_imported(nodes(path)))] == []
    asking = [path for path in FILES if "check.installed(self.name" in path.read_text()]
    assert [room_of(path) for path in asking] == ["trees"]


@pytest.mark.parametrize(
    "code",
    [
        "import lightgbm",
        "def f():\n    from xgboost.core import Booster",
        "find_spec('catboost')",
        "importlib.import_module('lightgbm.basic')",
        "check.installed('xgboost', remedy)",
        "sys.modules['xgboost'].collective",
        "sys.modules.get('lightgbm')",
    ],
)
def test_imports_of_libraries_of_trees_are_seen(code):
    assert len(list(boosters_imported(parsed(code)))) == 1
    assert not list(boosters_imported(parsed("TREES = ('auto', 'lightgbm')\nparts['xgboost']")))


def trees_held(tree):
    """Classes that hold the features, thresholds or children, and values of nodes."""
    for node in tree:
        if isinstance(node, ast.ClassDef):
            fields = {str(name).strip("_").rstrip("s") for name in fields_of(node)}
            if {"feature", "threshold", "value"} <= fields:
                yield node.name


def test_one_class_holds_the_nodes_of_trees():
    assert [name for path in FILES for name in trees_held(nodes(path))] == ["Forest"]


def test_classes_of_nodes_are_seen():
    code = "class A:\n    def f(self):\n        self.feature = self._thresholds = self.value = 0"
    assert list(trees_held(parsed(code))) == ["A"]


def test_one_file_names_what_is_private_in_trees_of_scikit_learn():
    words = re.compile(r"\b_(predictors|baseline_prediction|preprocessor|feature_subsample_rng)\b")
    naming = [path.name for path in FILES if words.search(path.read_text())]
    assert naming == ["_histograms.py"]


def test_one_class_a_library_of_trees():
    names = [
        node.name
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.ClassDef)
        if node.name.lower() in {*BOOSTERS, "scikitlearn"}
    ]
    assert len(names) == len(set(names)) == len({*LIBRARIES, *ENGINES})


# -- no circles ----------------------------------------------------------------------------------


def module_named(name):
    """The module that a dotted name belongs to; empty if it is none of the package."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def circles(arrows):
    """Modules that lead back to themselves, given those that each imports."""
    left = dict(arrows)
    while ends := [module for module, others in left.items() if not others & left.keys()]:
        for module in ends:
            del left[module]
    # What is left leads to a circle; what nothing in it leads to is no part of one.
    while starts := left.keys() - set().union(*left.values(), set()):
        for module in starts:
            del left[module]
    return set(left)


def imports_in_rooms():
    """Modules by module that imports them from its own room, be it for types alone."""
    arrows = defaultdict(set)
    for path in FILES:
        file = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts)
        for name in map(module_named, imported(path)):
            if name.split(".")[1:2] == [room_of(path)] and name != file:
                arrows[file].add(name)
    return dict(arrows)


def test_no_circles_inside_rooms():
    assert circles(imports_in_rooms()) == set()


def test_no_module_imports_the_door_of_its_room():
    doors = {f"skcalrank.{room}" for room in LEVEL_OF}
    found = {module for module, others in imports_in_rooms().items() if others & doors}
    # The registry of all that the door lists.
    assert found == {"skcalrank.rankers._all"}


def test_circles_are_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == set()
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}}) == {"b", "c"}


# -- one noun for rows, and rankers that have what they read ---------------------------------


def fields_of(cls):
    """Fields of a class: annotated names, and attributes that its methods set."""
    for node in ast.walk(cls):
        if isinstance(node, ast.AnnAssign) and node in cls.body:
            yield node.target.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr if owner(node) == "self" else None


def carriers(tree):
    """Classes that hold features, labels and queries."""
    for node in tree:
        if isinstance(node, ast.ClassDef) and {"X", "y", "queries"} <= set(fields_of(node)):
            yield node


def test_one_class_holds_features_labels_and_queries():
    assert [node.name for path in FILES for node in carriers(nodes(path))] == ["Rows"]


# -- exports -----------------------------------------------------------------------------------

#: Texts of a language, and the files that hold them: one printer each. The document of a score,
#: which is JSON, is written by one file, and the others read it.
PRINTERS = {
    r"\b(SELECT|CASE|COALESCE|OVER)\b": {"_sql_printer.py"},
    r"^(TreeEnsembleRegressor_1|MatMul|Gather|Clip|Log|ReduceMean)$": {"_onnx_graph.py"},
    r"^(split_condition|nodeid|leaf)$": {"_search.py"},
    r"^(coefficients|means|spreads)$": {"_score_document.py", "_sql_printer.py", "_onnx_graph.py"},
}


def texts(tree):
    """Texts of a program that are no documentation."""
    told = {
        id(node.body[0].value)
        for node in tree
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        if node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in tree:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


@pytest.mark.parametrize("written", PRINTERS)
def test_one_printer_a_language(written):
    printing = {
        path.name
        for path in FILES
        if room_of(path) == "export"
        and any(re.search(written, text) for text in texts(nodes(path)))
    }
    assert printing == PRINTERS[written]


# -- files -------------------------------------------------------------------------------------


def texts_in_the_encoding_of_the_locale(tree):
    """Calls that open a file as text, or read or write one, and name no encoding."""
    whole = {"read_text": 0, "write_text": 1}
    for node in tree:
        if not isinstance(node, ast.Call) or {"encoding", None} & {k.arg for k in node.keywords}:
            continue
        function = getattr(node.func, "id", getattr(node.func, "attr", None))
        if function in whole:
            yield from [node] * (len(node.args) <= whole[function])
        elif getattr(node.func, "id", None) in ("open", "complete_file"):
            modes = node.args[1:2] + [k.value for k in node.keywords if k.arg == "mode"]
            if not any("b" in getattr(mode, "value", "") for mode in modes):
                yield node


def test_text_files_have_an_encoding_that_is_not_of_the_locale():
    assert [
        place(path, node)
        for path in FILES
        for node in texts_in_the_encoding_of_the_locale(nodes(path))
    ] == []


@pytest.mark.parametrize(
    ("code", "n"),
    [
        ("open(path)", 1),
        ("open(path, 'w')", 1),
        ("complete_file(path, mode='w', newline='')", 1),
        ("path.write_text(text), path.read_text()", 2),
        ("open(path, 'rb'), open(path, mode='wb'), open(path, 'w', encoding='utf-8')", 0),
        ("path.read_text('utf-8'), path.write_text(text, 'utf-8'), open(path, mode, **options)", 0),
    ],
)
def test_encodings_of_the_locale_are_seen(code, n):
    assert len(list(texts_in_the_encoding_of_the_locale(parsed(code)))) == n


# -- processes ---------------------------------------------------------------------------------


def test_lines_are_printed_by_one_function():
    # Whole lines, which other processes do not break.
    printing = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        if any(calls(nodes(path), "print")) and room_of(path) != "_cli"
    }
    assert printing == {"_version.py", "data/_progress.py"}


def test_processes_talk_through_libraries():
    hidden = {"socket", "pickle", "cloudpickle", "multiprocessing.connection", "_socket", "_pickle"}
    users = {(path.relative_to(ROOT).as_posix(), name) for path in FILES for name in imported(path)}
    found = {(path, name) for path, name in users if name.split(".")[0] in hidden or name in hidden}
    # The one port that LightGBM asks for.
    assert found == {("trees/_lightgbm.py", "socket")}


# -- workers -----------------------------------------------------------------------------------


def workers_handed_on(tree):
    """Parameters, fields and attributes that hold the workers of a fit."""
    for node in tree:
        names = {ast.arg: "arg", ast.Attribute: "attr"}
        named = getattr(node, names.get(type(node), ""), None)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            named = node.target.id
        if named in ("workers", "_workers"):
            yield named


def test_the_workers_of_a_fit_are_those_of_its_context():
    engines = {"trees/_engine.py", "trees/_lightgbm.py", "trees/_xgboost.py"}
    found = {
        path.relative_to(ROOT).as_posix() for path in FILES if any(workers_handed_on(nodes(path)))
    }
    assert found == engines | {"data/_workers.py"}


@pytest.mark.parametrize(
    "code",
    [
        "def f(rows, workers=ALONE): pass",
        "lambda workers: 0",
        "class Rows:\n    workers: Workers = ALONE",
        "rows.workers.total(part, add)",
        "self._workers = workers",
    ],
)
def test_workers_that_are_handed_on_are_seen(code):
    assert len(list(workers_handed_on(parsed(code)))) == 1


def defaults_asked_for(tree):
    """Calls of getattr that say what is meant where self has no such attribute."""
    for call in calls(tree, "getattr"):
        if getattr(call.args[0], "id", None) == "self" and len(call.args) == 3:
            yield call


def test_rankers_have_what_they_read():
    rankers = [path for path in FILES if room_of(path) == "rankers"]
    offenders = [place(path, call) for path in rankers for call in defaults_asked_for(nodes(path))]
    assert offenders == []


def overridden(cls):
    """Private methods that a class replaces; an abstract one is not replaced, but defined."""
    bases = [vars(base) for base in cls.__mro__[1:] if base.__module__.startswith("skcalrank.")]
    for name, value in vars(cls).items():
        is_method = inspect.isroutine(value) or hasattr(type(value), "__get__")
        before = [base[name] for base in bases if name in base]
        concrete = any(not getattr(each, "__isabstractmethod__", False) for each in before)
        if is_private(name) and is_method and concrete:
            yield name


def test_no_private_method_of_rankers_has_more_than_three_bodies():
    rooms = re.compile(r"skcalrank\.(rankers|boosting|stacking|reliability)\.")
    modules = [importlib.import_module(name) for name in MODULES if rooms.match(name)]
    classes = {
        cls
        for module in modules
        for cls in vars(module).values()
        if inspect.isclass(cls) and cls.__module__ in MODULES
    }
    replaced = defaultdict(list)
    for cls in classes:
        for name in overridden(cls):
            replaced[name].append(cls.__name__)
    assert {name: names for name, names in replaced.items() if len(names) > 2} == {}


def parameters_dropped(tree):
    """Parameters that a function deletes, such as a mode that it does not read."""
    for node in tree:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            taken = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            names = {argument.arg for argument in taken}
            for inner in ast.walk(node):
                if isinstance(inner, ast.Delete):
                    yield from (t.id for t in inner.targets if getattr(t, "id", None) in names)


def test_no_function_takes_what_it_drops():
    rooms = {"rankers", "boosting", "stacking", "reliability"}
    found = {
        (path.name, name)
        for path in FILES
        if room_of(path) in rooms
        for name in parameters_dropped(nodes(path))
    }
    assert found == set()
    code = "def f(self, X, method='fit'):\n    del method, self.y\n    del X[0]"
    assert list(parameters_dropped(parsed(code))) == ["method"]


def test_what_breaks_the_laws_is_seen():
    code = "class A:\n    X: int\n    y: int\n\n    def f(self):\n        self.queries = 1"
    assert [node.name for node in carriers(parsed(code))] == ["A"]
    code = "getattr(self, 'k', 1), getattr(self, name), getattr(other, 'k', 1)"
    assert len(list(defaults_asked_for(parsed(code)))) == 1

    class Base:
        __module__ = "skcalrank.x"

        def _f(self): ...
        def g(self): ...

    class Replaced(Base):
        def _f(self): ...
        def _h(self): ...
        def g(self): ...

    assert list(overridden(Replaced)) == ["_f"]
