"""The directive ``.. benchmark:: NAME``: what a script of `benchmarks/` printed, from its file.

A script that is run with ``--save`` writes ``doc/benchmark_results/NAME.json``. The directive shows
its lines and tables, then the command, the date and the versions. ``:tables: 1 -1`` takes some of
the tables, here the first and the last one, with the lines above each, and leaves out the others.
"""

import json
import re
from itertools import pairwise
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

RESULTS = Path(__file__).parent / "benchmark_results"


class Benchmark(SphinxDirective):
    """Tables of one file of results."""

    required_arguments = 1
    option_spec = {"tables": lambda text: [int(number) for number in text.split()]}

    def run(self):
        """Return what the script printed, and below it how to print it again."""
        name = self.arguments[0]
        path = RESULTS / f"{name}.json"
        self.env.note_dependency(str(path))
        if not path.exists():
            raise self.error(f"{path.name} is missing: run {_command(name)}")
        found = json.loads(path.read_text(encoding="utf-8"))
        out = nodes.container(classes=["benchmark"])
        out.extend(_shown(found["shown"], self.options.get("tables")))
        out += _source(found)
        return [out]


def _command(name):
    """Say how to write a missing file; its name begins with that of the script."""
    scripts = (path.stem for path in Path(__file__).parents[1].glob("benchmarks/*.py"))
    script = max((one for one in scripts if name.startswith(one)), key=len, default=name)
    return f"python benchmarks/{script}.py --save {name}"


def _shown(items, numbers):
    """Yield lines and tables; lines belong to the table below them, the last ones to the last."""
    ends = [number for number, item in enumerate(items, 1) if isinstance(item, dict)]
    bounds = [0, *ends[:-1], len(items)]
    blocks = [items[a:b] for a, b in pairwise(bounds)]
    for number in numbers or range(1, len(blocks) + 1):
        yield from _nodes(blocks[number - (number > 0)])


def _nodes(block):
    """Yield a table, with the lines above and below it."""
    at = next(number for number, item in enumerate(block) if isinstance(item, dict))
    yield from _lines(block[:at])
    yield _table(block[at])
    yield from _lines(block[at + 1 :])


def _lines(texts):
    lines = [nodes.line(text, text) for text in texts if text]
    if lines:
        yield nodes.line_block("", *lines)


def _table(item):
    """Make a table; the first column is flush left, the others are flush right."""
    group = nodes.tgroup(cols=len(item["columns"]))
    group += [nodes.colspec(colwidth=1) for _ in item["columns"]]
    group += nodes.thead("", _row(item["columns"]))
    group += nodes.tbody("", *map(_row, item["rows"]))
    return nodes.table("", group, classes=["colwidths-auto"])


def _row(cells):
    row = nodes.row()
    for number, cell in enumerate(cells):
        # Minus signs of numbers, which a line does not break behind.
        text = re.sub(r"(?<![\w.-])-(?=[\d.])", "\N{MINUS SIGN}", cell)
        classes = ["text-end", "text-nowrap"] if number and len(cell) < 22 else []
        row += nodes.entry("", nodes.paragraph(text, text), classes=classes)
    return row


def _source(found):
    """Make a line of the command, the date and the versions."""
    command = nodes.literal(found["command"], found["command"])
    rest = f" ({found['date']}; {found['environment']})"
    return nodes.paragraph("", "", command, nodes.Text(rest), classes=["benchmark-source"])


def setup(app):
    """Register the directive."""
    app.add_directive("benchmark", Benchmark)
    return {"parallel_read_safe": True}
