"""Count the package by room, and compare it with the budget of each room.

    python tests/tools/count_lines.py [FOLDER ...]
    python tests/tools/count_lines.py --budget
    python tests/tools/count_lines.py --write

Code is every line that is neither blank, a comment nor part of a docstring. Statements and
parameters of functions are counted beside, so that joined lines earn nothing. The budget, in
``budget.txt``, is what each room has reached: ``--budget`` names the rooms that exceed it and
fails, ``--write`` writes the counts of now. A commit that raises a row says for what.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "skcalrank"
BUDGET = Path(__file__).with_name("budget.txt")

#: Counts that a room has a budget for.
KEPT = ("code", "statements", "parameters", "vague")
COLUMNS = ("files", "lines", "imports", *KEPT)

# Local names that stand for things which have a name: queries, scores, folds, columns.
VAGUE = {"found", "each", "given", "part", "own", "held", "those"}

DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


def docstrings(tree):
    """Return the statements that are docstrings."""
    return [
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, DEFINED) and ast.get_docstring(node, clean=False) is not None
    ]


def lines_of(nodes):
    """Return the numbers of the lines on which some nodes stand."""
    return {line for node in nodes for line in range(node.lineno, node.end_lineno + 1)}


def counted(path):
    """Return the counts of one file."""
    source = path.read_text()
    tree = ast.parse(source)
    nodes, texts = list(ast.walk(tree)), docstrings(tree)
    lines = source.splitlines()
    code = {
        number
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.strip().startswith("#")
    } - lines_of(texts)
    imports = lines_of(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    return Counter(
        files=1,
        lines=len(lines),
        imports=len(imports & code),
        code=len(code),
        statements=sum(isinstance(node, ast.stmt) for node in nodes) - len(texts),
        parameters=sum(isinstance(node, ast.arg) for node in nodes),
        vague=sum(
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE
            for node in nodes
        ),
    )


def by_room(package=PACKAGE):
    """Return the counts of every room, of the files beside them (``top``), and of all."""
    rooms = {}
    for path in sorted(package.rglob("*.py")):
        names = path.relative_to(package).parts
        room = names[0] if len(names) > 1 else "top"
        rooms.setdefault(room, Counter()).update(counted(path))
    return {**rooms, "all": sum(rooms.values(), Counter())}


def table(rooms, columns):
    """Return the counts of rooms as lines of text."""
    yield f"{'room':16}" + "".join(f"{name:>12}" for name in columns)
    for room, counts in rooms.items():
        yield f"{room:16}" + "".join(f"{counts[name]:12}" for name in columns)


def read_budget(text):
    """Return the counts that each room may have."""
    header, *rows = [line.split() for line in text.splitlines()]
    return {row[0]: Counter(dict(zip(header[1:], map(int, row[1:])))) for row in rows}


def beyond(rooms, budget):
    """Return a sentence for each count of a room that exceeds its budget."""
    return [
        f"{room}: {counts[name]} {name}, budget {budget.get(room, Counter())[name]}"
        for room, counts in rooms.items()
        for name in KEPT
        if counts[name] > budget.get(room, Counter())[name]
    ]


def main(arguments):
    """Print tables, or compare the package with its budget."""
    if "--write" in arguments:
        BUDGET.write_text("\n".join(table(by_room(), KEPT)) + "\n")
    elif "--budget" in arguments:
        sentences = beyond(by_room(), read_budget(BUDGET.read_text()))
        print("\n".join(sentences) or "Each room is within its budget.")
        return bool(sentences)
    else:
        for folder in arguments or [PACKAGE]:
            print(folder, *table(by_room(Path(folder)), COLUMNS), sep="\n")
    return False


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
