"""Changes of the package, one at a time: other constants, operators, conditions, arguments."""

import ast
import copy
import random
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "skcalrank"

OPERATORS = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq},
    **{ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn},
    **{ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr},
    **{ast.BitOr: ast.BitAnd, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div},
    **{ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult},
}
#: Functions whose arguments cannot change places, or may without effect.
IN_ORDER = {"isinstance", "issubclass", "getattr", "hasattr", "setattr", "cast"}
SYMMETRIC = {"max", "min", "maximum", "minimum", "multiply", "array_equal"}


def changed(node, **fields):
    new = copy.copy(node)
    vars(new).update(fields)
    return new


def with_operator(node):
    texts = [getattr(each, "value", None) for each in ast.iter_child_nodes(node)]
    if type(node.op) in OPERATORS and not any(isinstance(text, str) for text in texts):
        yield changed(node, op=OPERATORS[type(node.op)]())


def other_constants(value):
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return {0: [value + 1], 1: [value - 1, value + 1]}.get(value, [value + 1, value * 2])
    return []


def name_of(function):
    return getattr(function, "id", getattr(function, "attr", ""))


def replacements(node, parent):
    """Replacements of a node."""
    match node:
        case ast.Constant():
            yield from (ast.Constant(value) for value in other_constants(node.value))
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield changed(node, ops=[*ops[:i], OPERATORS[type(op)](), *ops[i + 1 :]])
        case ast.BinOp() | ast.BoolOp():
            yield from with_operator(node)
        case ast.UnaryOp():
            yield node.operand
        case ast.Call(args=args) if name_of(node.func) not in IN_ORDER | SYMMETRIC:
            if not any(isinstance(each, ast.Starred) for each in args):
                for i in range(len(args) - 1):
                    yield changed(node, args=[*args[:i], args[i + 1], args[i], *args[i + 2 :]])
        case ast.Return(value=ast.expr()) if ast.unparse(node) != "return None":
            yield ast.Return(ast.Constant(None))
        case ast.AugAssign():
            yield from [ast.Pass(), *with_operator(node)]
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Raise() if "NotImplementedError" not in ast.dump(node):
            yield ast.Pass()
    conditions = [getattr(parent, "test", None), *getattr(parent, "ifs", ())]
    if node in conditions and not isinstance(node, ast.UnaryOp):
        yield ast.UnaryOp(ast.Not(), node)


def stays(node, parent):
    """Whether a node is skipped: annotations, messages, names of the module."""
    return (
        node in (getattr(parent, "annotation", None), getattr(parent, "returns", None))
        or isinstance(node, ast.JoinedStr)
        or isinstance(parent, ast.Raise)
        or "warn" in name_of(getattr(parent, "func", None))
        or "__all__" in [getattr(each, "id", None) for each in getattr(node, "targets", ())]
        or getattr(getattr(node, "test", None), "id", None) == "TYPE_CHECKING"
    )


def places(node, parent=None, lines=range(0), scopes=()):
    """A node with its replacements, the lines of its statement and its scopes."""
    if isinstance(node, ast.stmt):
        first = min(each.lineno for each in [node, *getattr(node, "decorator_list", ())])
        body = getattr(node, "body", None)
        last = max(body[0].lineno - 1, node.lineno) if body else node.end_lineno
        lines = range(first, last + 1)
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        scopes = (range(node.lineno, node.end_lineno + 1), *scopes)
    if new := list(replacements(node, parent)):
        yield node, new, lines, scopes
    for child in ast.iter_child_nodes(node):
        if not stays(child, node):
            yield from places(child, node, lines, scopes)


class Mutant(NamedTuple):
    file: str
    row: int
    before: str  # the lines that change
    after: str
    change: str
    source: bytes  # of the whole file
    around: tuple  # ranges of lines: the statement, and the scopes around it

    @classmethod
    def of(cls, path, node, new, lines, scopes):
        rows = path.read_bytes().splitlines(keepends=True)
        start = sum(map(len, rows[: node.lineno - 1])) + node.col_offset
        stop = sum(map(len, rows[: node.end_lineno - 1])) + node.end_col_offset
        text, source = ast.unparse(new), b"".join(rows)
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            text = f"({text})"
        first, last = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", stop)
        after = source[first:start] + text.encode() + source[stop:last]
        return cls(
            *(path.relative_to(ROOT).as_posix(), node.lineno),
            *(source[first:last].decode().strip(), after.decode().strip()),
            f"{ast.unparse(node)} -> {ast.unparse(new)}".replace("\n", " "),
            source[:first] + after + source[last:],
            (lines, *scopes, range(len(rows))),
        )

    @property
    def key(self):
        return f"{self.file}: {self.before.splitlines()[0]}", self.change


def rooms():
    """Files of each room: a folder, or a module beside them; the small ones are one room."""
    folders = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
    modules = sorted(path for path in PACKAGE.glob("*.py") if path.stem[0] != "_")
    files = {folder.name: sorted(folder.rglob("*.py")) for folder in folders}
    files |= {path.stem: [path] for path in modules}
    return files | {"(top)": sorted(PACKAGE.glob("_*.py"))}


def places_of(room):
    return [
        (path, *each) for path in rooms()[room] for each in places(ast.parse(path.read_bytes()))
    ]


def draw(room, n, seed):
    """One mutant of each of at most `n` places of a room."""
    rng, all_ = random.Random(f"{seed} {room}"), places_of(room)
    chosen = rng.sample(all_, min(n, len(all_)))
    return [Mutant.of(path, node, rng.choice(new), *at) for path, node, new, *at in chosen]


def every(room, text):
    """All mutants with a text in their file and row, or in their line and change."""
    for path, node, new, *at in places_of(room):
        mutants = [Mutant.of(path, node, each, *at) for each in new]
        yield from (m for m in mutants if text in f"{m.file}:{m.row} {m.key}")


def equivalents():
    """Keys of the mutants that are equivalent to the package."""
    text = (Path(__file__).parent / "equivalent.txt").read_text()
    return {tuple(map(str.strip, part.splitlines()[:2])) for part in text.split("\n\n")}
