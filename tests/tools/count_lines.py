"""Count the lines of the package by room: all, code, imports, and names that say little.

    python tests/tools/count_lines.py [FOLDER ...]

Code is every line that is neither blank, a comment nor part of a docstring.
"""

import ast
import sys
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "skcalrank"

# Local names that stand for things which have a name: queries, scores, folds, columns.
VAGUE = {"found", "each", "given", "part", "own", "held", "those"}


def counted(path):
    """Return the counts of one file."""
    source = path.read_text()
    tree = ast.parse(source)
    text = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and ast.get_docstring(node, clean=False) is not None
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    lines = source.splitlines()
    code = {
        number
        for number, line in enumerate(lines, 1)
        if number not in text and line.strip() and not line.strip().startswith("#")
    }
    imports = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for line in range(node.lineno, node.end_lineno + 1)
    }
    vague = sum(
        isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in VAGUE
        for node in ast.walk(tree)
    )
    return Counter(
        lines=len(lines), code=len(code), imports=len(imports & code), vague=vague, files=1
    )


def by_room(package=PACKAGE):
    """Return the counts of every room, the files beside the rooms under ``(top)``."""
    rooms = {}
    for path in sorted(package.rglob("*.py")):
        names = path.relative_to(package).parts
        room = names[0] if len(names) > 1 else "(top)"
        rooms.setdefault(room, Counter()).update(counted(path))
    return rooms


def main():
    """Print a table of the rooms of each folder that is named, by default of this package."""
    columns = ("files", "lines", "code", "imports", "vague")
    for folder in sys.argv[1:] or [PACKAGE]:
        rooms = by_room(Path(folder))
        rooms["all"] = sum(rooms.values(), Counter())
        print(f"{folder}\n{'room':16}" + "".join(f"{name:>9}" for name in columns))
        for room, counts in rooms.items():
            print(f"{room:16}" + "".join(f"{counts[name]:9,}" for name in columns))


if __name__ == "__main__":
    main()
