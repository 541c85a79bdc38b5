"""Links from the keys of papers and the names of noise conditions to where they are explained.

Authors of pages and docstrings write ``RAT13`` and ``P_DAG``. Every key becomes a link to its entry
in the bibliography. A name of a condition becomes a link where a page mentions it first.
"""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.util.nodes import make_refnode

CONDITIONS = ("P_reinforce", "P_DAG", "P_f")
LABEL = "noise-conditions"
_NOT_TEXT = (
    nodes.literal,
    nodes.FixedTextElement,
    nodes.reference,
    nodes.title,
    nodes.term,
    nodes.citation,
    nodes.math,
    nodes.comment,
    nodes.raw,
    addnodes.toctree,
    addnodes.desc_signature,
)


def _targets(env):
    """Return page, id and tooltip of what each name is linked to."""
    papers = {
        cited.key: (
            cited.bibliography_key.docname,
            cited.citation_id,
            cited.entry.fields["title"].translate({ord("{"): None, ord("}"): None}),
        )
        for cited in env.get_domain("cite").citations
    }
    page, anchor, title = env.get_domain("std").labels[LABEL]
    return papers | dict.fromkeys(CONDITIONS, (page, anchor, title))


def _inside(node):
    while node := node.parent:
        yield node


def _texts(doctree):
    for text in list(doctree.findall(nodes.Text)):
        if not any(isinstance(above, _NOT_TEXT) for above in _inside(text)):
            yield text


def link_names(app, doctree, docname):
    targets = _targets(app.env)
    name = re.compile(r"\b(" + "|".join(map(re.escape, targets)) + r")\b")
    met = set()
    for text in _texts(doctree):
        parts = name.split(text.astext())
        if len(parts) == 1:
            continue
        made = [nodes.Text(part) for part in parts]
        for place in range(1, len(parts), 2):
            if parts[place] not in met:
                page, anchor, title = targets[parts[place]]
                made[place] = make_refnode(app.builder, docname, page, anchor, made[place], title)
            met |= {parts[place]} & set(CONDITIONS)
        text.parent.replace(text, made)


def setup(app):
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
