"""The sources of the package and of its tests, each file parsed once."""

import ast
from functools import cache
from pathlib import Path

import skcalrank

ROOT = Path(skcalrank.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MODULES = sorted(
    ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
    for path in FILES
    if path.name != "__main__.py"
)
TESTS = sorted(Path(__file__).parents[1].rglob("*.py"))


#: Rooms of the package: each imports from its own level and those below.
LEVELS = {
    0: ("_lazy", "_version", "_dask", "_threads", "columns"),
    1: ("data",),
    2: ("judgments",),
    3: ("measures", "losses", "preds", "_solvers"),
    4: ("metrics", "linear_model", "model_selection", "preprocessing", "pipeline", "aggregation"),
    5: ("rankers", "structured", "trees"),
    6: (
        *("calibration", "datasets", "boosting"),
        *("inspection", "persistence", "dask"),
    ),
    7: ("stacking", "reliability"),
    8: ("__init__", "__main__", "_cli", "displays", "evaluation", "export", "testing"),
}
LEVEL_OF = {room: level for level, rooms in LEVELS.items() for room in rooms}

#: Modules for the rooms of the package, none of which is a public name.
NAMESPACES = {
    *(f"skcalrank.columns.{name}" for name in ("arrays", "tables", "texts", "types")),
    *(f"skcalrank.data.{name}" for name in ("check", "limits")),
    *(f"skcalrank.{name}" for name in ("columns", "judgments", "trees")),
}

#: Libraries that the package does without.
OPTIONAL = {
    *("pandas", "polars", "pyarrow", "matplotlib", "skops"),
    *("lightgbm", "xgboost", "catboost", "dask", "distributed"),
    *("skl2onnx", "onnx", "onnxruntime", "duckdb", "highspy"),
}


@cache
def nodes(path):
    """All nodes of a file, the module first."""
    return tuple(ast.walk(ast.parse(path.read_text())))


def room_of(path):
    """The room of a file: the first name below the package."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def place(path, node):
    """Where a node is, for a list of offenders."""
    return f"{path.relative_to(ROOT.parent)}:{node.lineno}"


def imported(path):
    """Absolute dotted names of all imports, also inside functions."""
    inside = path.is_relative_to(ROOT)
    package = ["skcalrank", *path.relative_to(ROOT).parts[:-1]] if inside else []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *([node.module] if node.module else [])]
            yield from (".".join([*module, alias.name]) for alias in node.names)


def modules_in_strings(tree):
    """Modules of the package that may be imported by a string."""
    for node in tree:
        if getattr(node, "id", None) == "__package__":
            yield "skcalrank"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = f"skcalrank{node.value}" if node.value.startswith(".") else node.value
            if name != "skcalrank" and name in MODULES:
                yield name


def owner(node):
    """The name before the dot of an attribute; "self" if there is none."""
    return getattr(node.value, "id", None) if isinstance(node, ast.Attribute) else "self"


def calls(tree, *functions):
    """Calls of functions by their names."""
    for node in tree:
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in functions:
            yield node


def at_import(tree):
    """Nodes that run when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING":
            node = ast.Module(node.orelse, [])  # the body is for type checkers
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield node
            yield from at_import(node)
