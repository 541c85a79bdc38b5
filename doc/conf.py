"""How Sphinx builds the documentation: ``python -m sphinx -W -b html doc doc/_build/html``."""

import os
import pkgutil
import re
import sys
from importlib.metadata import metadata
from pathlib import Path

import matplotlib
from docutils import nodes
from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as PlainStyle
from pybtex.style.labels import BaseLabelStyle
from sphinx.util.nodes import make_refnode

import skcalrank

matplotlib.use("Agg")
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "skcalrank"
author = "The skcalrank developers"
copyright = author
version = release = skcalrank.__version__

extensions = [
    "_benchmark_tables",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    "sphinx-mathjax-offline",
    "_links",
    "_offline",
    "_tables",
]
default_role = "literal"
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/GALLERY_HEADER.rst", "sg_execution_times.rst"]

# Links into other projects need their inventories, and so the network: only where asked for.
if os.environ.get("SKCALRANK_DOC_INTERSPHINX"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "sklearn": ("https://scikit-learn.org/stable", None),
    }

# The address of the sources: of the environment, or of [project.urls] in pyproject.toml.
_URLS = (url.split(", ") for url in metadata("skcalrank").get_all("Project-URL") or ())
SOURCE = os.environ.get("SKCALRANK_SOURCE_URL") or dict(_URLS).get("Source")

# -- API reference -------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_citation_re = r"[A-Z][A-Za-z]*[0-9]{2}[a-z]?|[0-9]+"

# What every estimator of scikit-learn has; the docstrings link to labels of its own guide.
_OF_SKLEARN = re.compile(
    r"set_(\w+_request|params|output|callbacks)|get_metadata_routing|get_params"
)


def _skip(app, what, name, obj, skip, options):
    return True if _OF_SKLEARN.fullmatch(name) else None


# -- Figures and examples ------------------------------------------------------------------

plot_formats = [("png", 110)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "subsection_order": "_gallery_order.section_order",
    "within_subsection_order": "_gallery_order.Order",
    "nested_sections": False,
    "thumbnail_size": (480, 336),
    "backreferences_dir": "api/generated/backreferences",
    "doc_module": ("skcalrank",),
    "inspect_global_variables": False,
    "reference_url": {"skcalrank": None},
    "min_reported_time": 1e9,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "matplotlib_animations": False,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
}

# -- References ----------------------------------------------------------------------------


class _Keys(BaseLabelStyle):
    """Entries are called what docstrings call them."""

    def format_labels(self, sorted_entries):
        return [entry.key for entry in sorted_entries]


class _KeyStyle(PlainStyle):
    default_label_style = _Keys


register_plugin("pybtex.style.formatting", "keys", _KeyStyle)
bibtex_bibfiles = ["references.bib"]
bibtex_default_style = "keys"
bibtex_cite_id = "{key}"

# -- Pages ---------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"skcalrank {release}"
html_static_path = ["_static"]
html_favicon = "_static/logo.svg"
html_css_files = ["skcalrank.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {
        "text": f"skcalrank {release}",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
        "alt_text": "Four bars, the longest first",
    },
    "icon_links": [{"name": "Source", "url": SOURCE, "icon": "fa-solid fa-code"}] * bool(SOURCE),
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher", "navbar-icon-links"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "installation": [], "tutorial": [], "changelog": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


_ROOMS = [module.name for module in pkgutil.iter_modules(skcalrank.__path__)]


def _is_no_mail(app, doctree):
    """NDCG@10 is a measure, and docutils takes it for an address."""
    for node in list(doctree.findall(nodes.reference)):
        if node.get("refuri", "").startswith("mailto:"):
            node.replace_self(node.children)


def _where_it_is_from(app, env, node, contnode):
    """Resolve public names, alone or below skcalrank, wherever they are documented."""
    above, _, name = node.get("reftarget", "").rpartition(".")
    if node.get("refdomain") != "py" or above.partition(".")[0] not in ("", "skcalrank"):
        return None
    domain = env.get_domain("py")
    for room in ("", *_ROOMS):
        known = domain.objects.get(".".join(filter(None, ("skcalrank", room, name))))
        if known is not None:
            target = known.docname, known.node_id
            return make_refnode(app.builder, node["refdoc"], *target, contnode, name)
    return None


def setup(app):
    app.connect("missing-reference", _where_it_is_from)
    app.connect("doctree-read", _is_no_mail)
    app.connect("autodoc-skip-member", _skip)
