"""A warning for pages that would load a script, a style sheet or a picture from the network."""

import re
from pathlib import Path

_LOADS = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?((?:https?:)?//[^"'\s>]+)"""
    r"""|<link\b(?=[^>]*\brel=["']?(?:stylesheet|preload|icon))[^>]*\bhref=["']?((?:https?:)?//[^"'\s>]+)""",
)


def remote_loads(html):
    """Return the addresses that a browser would fetch to show a page."""
    return sorted({script or style for script, style in _LOADS.findall(html)})


def check_pages(app, exception):
    from sphinx.util import logging  # the tests of `remote_loads` run without Sphinx

    logger = logging.getLogger(__name__)
    if exception is None and app.builder.format == "html":
        for page in Path(app.outdir).rglob("*.html"):
            for address in remote_loads(page.read_text(encoding="utf-8")):
                logger.warning("%s is loaded from the network", address, location=str(page))


def setup(app):
    app.connect("build-finished", check_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
