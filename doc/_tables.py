"""Tables that can be read on a phone.

A table of words becomes a list of cards on a narrow screen: each cell carries the header of its
column, which the style sheet shows there only. A table of numbers stays a table and scrolls, with
its first column in place.
"""

import re

from docutils import nodes

_NUMBER = re.compile(r"\W*\d|\W*$")


def _rows(part):
    return [list(row.findall(nodes.entry)) for row in part.findall(nodes.row)]


def _is_numeric(rows):
    """Return whether most cells behind the first column begin with a number."""
    cells = [cell.astext() for row in rows for cell in row[1:]]
    return 2 * sum(bool(_NUMBER.match(cell)) for cell in cells) > len(cells)


def _spans(row):
    return any("morecols" in cell or "morerows" in cell for cell in row)


def _label(cell, header):
    if header.astext().strip() and cell.astext().strip():
        words = header.next_node(nodes.TextElement).deepcopy().children
        label = nodes.inline("", "", *words, nodes.Text(": "), classes=["sk-label"])
        cell.next_node(nodes.TextElement).insert(0, label)


def mark_tables(app, doctree, _docname):
    if app.builder.format != "html":
        return
    for table in doctree.findall(nodes.table):
        rows = [row for body in table.findall(nodes.tbody) for row in _rows(body)]
        header = next((_rows(head)[-1] for head in table.findall(nodes.thead)), [])
        if "autosummary" in table["classes"] or not rows or any(map(_spans, rows)):
            continue
        numeric = len(rows[0]) > 2 and _is_numeric(rows)
        table["classes"].append("sk-numbers" if numeric else "sk-words")
        for row in rows if header and not numeric else ():
            for cell, name in list(zip(row, header, strict=False))[1:]:
                _label(cell, name)


def setup(app):
    app.connect("doctree-resolved", mark_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
