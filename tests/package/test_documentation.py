"""Requirements on the documentation, checked in its sources, without Sphinx."""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
from public import public_names

import skcalrank

ROOT = Path(__file__).parents[2]
DOC = ROOT / "doc"
API = sorted(set((DOC / "api").glob("*.rst")) - {DOC / "api" / "index.rst"})
MADE = ("_build", "_templates", "gallery", "generated")
PAGES = sorted(
    page
    for suffix in ("rst", "md")
    for page in DOC.rglob(f"*.{suffix}")
    if not set(MADE) & set(page.relative_to(DOC).parts)
)
EXAMPLES = sorted((ROOT / "examples").rglob("plot_*.py"))
NAMES = [path.relative_to(ROOT / "examples") for path in EXAMPLES]
MODULES = ["skcalrank"] + [
    f"skcalrank.{module.name}"
    for module in pkgutil.iter_modules(skcalrank.__path__)
    if not module.name.startswith("_")
]


@pytest.mark.parametrize("page", sorted(DOC.glob("*.rst")), ids=lambda page: page.stem)
def test_a_page_is_read_at_one_sitting(page):
    most = 2500 if page.stem == "benchmarks" else 1500
    assert len(page.read_text(encoding="utf-8").split()) <= most


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 130


def documented(page):
    """Full names that a page of the reference lists."""
    names, module = set(), None
    for line in page.read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"(?:   |\.\. py:data:: )([A-Za-z_]\w*)$", line):
            names.add(f"{module}.{found[1]}")
    return names


def entries(page):
    """Documents in the toctrees of a page, as paths below `doc`."""
    text = page.read_text()
    for block in re.findall(r"^\.\. toctree::\n((?:[ ]+.*\n|\n)*)", text, flags=re.M):
        for line in block.splitlines():
            if line.strip() and not line.strip().startswith(":"):
                yield (page.parent / line.strip()).relative_to(DOC).as_posix()


def callables(module):
    """Public classes and functions of a module, and methods that the classes introduce.

    An override has the parameters of the method that it overrides, and need not repeat them.
    """
    for public in importlib.import_module(module).__all__:
        value = getattr(importlib.import_module(module), public)
        if inspect.isclass(value) or inspect.isroutine(value):
            yield public, value
        for name in vars(value) if inspect.isclass(value) else ():
            method = getattr(value, name)
            ours = str(getattr(method, "__module__", "")).startswith("skcalrank")
            begins = not any(hasattr(base, name) for base in value.__mro__[1:])
            if callable(method) and ours and begins and not name.startswith("_"):
                yield f"{public}.{name}", method


def parameters(value):
    """Names in a signature, without `*` and `**`, which are documented where they are passed."""
    if inspect.isclass(value) and issubclass(value, Exception):
        return  # a message, and no signature
    for name, parameter in inspect.signature(value).parameters.items():
        handed_on = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if name != "self" and not handed_on:
            yield name


def described(value):
    """Names in the sections of a docstring; fields of tuples and results are attributes."""
    section = r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^[A-Z][\w ]*\n-+$|\Z)"
    for block in re.findall(section, inspect.getdoc(value), flags=re.M | re.S):
        for entry in re.findall(r"^\S.*", block, flags=re.M):
            yield from (name.strip("* ") for name in entry.partition(" : ")[0].split(","))


@pytest.mark.parametrize("module", MODULES)
def test_public_names_are_in_the_reference(module):
    listed = set().union(*map(documented, API))
    # A name that skcalrank itself exports may be listed there or in the room that it is from.
    rooms = MODULES if module == "skcalrank" else [module, "skcalrank"]
    for name in importlib.import_module(module).__all__:
        assert any(f"{room}.{name}" in listed for room in rooms), f"{name} is in no doc/api page"


def test_the_reference_lists_nothing_else():
    for page in API:
        for name in documented(page):
            module, _, public = name.rpartition(".")
            assert public in importlib.import_module(module).__all__, f"{page.name}: {name}"


@pytest.mark.parametrize("module", MODULES)
def test_docstrings_describe_every_parameter(module):
    for name, value in callables(module):
        missing = set(parameters(value)) - set(described(value))
        assert not missing, f"{name} does not describe {', '.join(sorted(missing))}"


def described_in_order(value):
    """First names of the entries of the section of parameters, as far as the signature has them."""
    block = re.search(
        r"^Parameters\n-+\n(.*?)(?=^[A-Z][\w ]*\n-+$|\Z)",
        inspect.getdoc(value) or "",
        flags=re.M | re.S,
    )
    firsts = re.findall(r"^\**(\w+)", block[1] if block else "", flags=re.M)
    return [name for name in firsts if name in inspect.signature(value).parameters]


def with_methods(module):
    """Public classes and functions of a module, and all public methods of the classes."""
    for name, value in callables(module):
        yield name, value
        if inspect.isclass(value):
            for method, function in inspect.getmembers(value, inspect.isroutine):
                ours = str(getattr(function, "__module__", "")).startswith("skcalrank")
                if ours and not method.startswith("_"):
                    yield f"{name}.{method}", function


@pytest.mark.parametrize("module", MODULES)
def test_docstrings_have_parameters_in_the_order_of_the_signature(module):
    for name, value in with_methods(module):
        firsts = described_in_order(value)
        order = list(inspect.signature(value).parameters) if firsts else []
        assert firsts == sorted(firsts, key=order.index), name


def stated_defaults(value):
    """Documented defaults of parameters, if they are literals."""
    for line in inspect.getdoc(value).splitlines():
        found = re.match(r"(\w[\w, ]*) : .*\bdefault=([\w.+-]+|\".*\")$", line)
        if found and found[2] != "float64":
            yield from ((name, ast.literal_eval(found[2])) for name in found[1].split(", "))


@pytest.mark.parametrize("module", MODULES)
def test_docstrings_state_the_defaults(module):
    for name, value in callables(module):
        if (stated := dict(stated_defaults(value))) and not inspect.isabstract(value):
            known = inspect.signature(value).parameters
            assert {key: known[key].default for key in stated} == stated, name


def overrides(module):
    """Methods of public classes, with the methods of base classes that they override."""
    for _, cls in inspect.getmembers(importlib.import_module(module), inspect.isclass):
        for name, method in inspect.getmembers(cls, inspect.isfunction):
            above = [getattr(base, name, None) for base in cls.__mro__[1:]]
            if not name.startswith("__"):
                yield from ((method, each) for each in above if inspect.isfunction(each))


@pytest.mark.parametrize("module", MODULES)
def test_overrides_have_the_defaults_of_what_they_override(module):
    for mine, above in overrides(module):
        known, theirs = inspect.signature(mine).parameters, inspect.signature(above).parameters
        for key in set(known) & set(theirs) if "skcalrank" in above.__module__ else ():
            assert known[key].default == theirs[key].default, f"{mine.__qualname__}: {key}"


def called_provisional(page):
    """Full names in the sections that are provisional by their text, or by the head of the page."""
    text = page.read_text()
    head, *sections = re.split(r"\n(?=.+\n-+\n)", text)
    for section in (head, *sections):
        module = re.search(r"currentmodule:: (\S+)", section + text)
        if "rovisional <stability>" in head + section:
            names = re.findall(r"^(?:   |\.\. py:data:: )([A-Za-z_]\w*)$", section, flags=re.M)
            yield from (f"{module[1]}.{name}" for name in names)


def test_the_reference_calls_provisional_what_the_list_does():
    rows = (DOC / "stability.inc").read_text().split("\n   * - ")[1:]
    stable, modules = (re.findall(r"``(skcalrank\.\w+)``", row) for row in rows[:2])
    exports = {name: importlib.import_module(name).__all__ for name in MODULES[1:]}
    assert sorted(stable + modules) == [name for name in exports if exports[name]]
    names = set(re.findall(r"`~(skcalrank\.[\w.]+)`", "".join(rows[2:4])))
    called = {name for page in API for name in called_provisional(page)}
    assert called == names | {f"{each}.{name}" for each in modules for name in exports[each]}
    about = re.compile("click|propensit|leaderboard|rank_sets", flags=re.I)
    assert {name for page in API for name in documented(page) if about.search(name)} <= names
    for page in ("project.rst", "api/index.rst"):
        assert "stability.inc" in (DOC / page).read_text()


def test_every_page_is_in_a_toctree():
    reachable = {"index"} | {entry for page in PAGES for entry in entries(page)}
    pages = {page.relative_to(DOC).with_suffix("").as_posix() for page in PAGES}
    assert pages <= reachable, sorted(pages - reachable)
    assert reachable - pages == {"gallery/index"}


def test_pages_have_a_title():
    for page in PAGES:
        first = page.read_text().splitlines()[:4]
        included = first[0].startswith(".. include::")
        assert included or any(re.fullmatch("=+|# .+", line) for line in first), page


def test_examples_have_a_title_and_say_what_they_show():
    for path in EXAMPLES:
        title, rule, *text = ast.get_docstring(ast.parse(path.read_text())).splitlines()
        assert len(rule) >= len(title), path
        assert set(rule) == {"="}, path
        assert len(" ".join(text).split()) >= 15, path


def test_the_gallery_has_an_order():
    source = (DOC / "_gallery_order.py").read_text()
    listed = re.findall(r'"(\w+/plot_\w+\.py)"', source)
    assert sorted(listed) == [name.as_posix() for name in NAMES]
    assert all((path.parent / "GALLERY_HEADER.rst").exists() for path in EXAMPLES)


def targets_of(page):
    """Pages and examples that a page links to, as paths below `doc`."""
    for link in re.findall(r":doc:`(?:[^`<]*<)?(/?[\w/]+)>?`", page.read_text()):
        place = DOC if link.startswith("/") else page.parent
        yield (place / link.lstrip("/")).relative_to(DOC).as_posix()
    image = r"gallery/(\w+)/images/sphx_glr_(\w+)_\d{3}\.png"
    for section, example in re.findall(image, page.read_text()):
        yield f"gallery/{section}/{example}"


def test_links_to_examples_and_pages_exist():
    known = {f"gallery/{name.with_suffix('').as_posix()}" for name in NAMES} | {"gallery/index"}
    known |= {page.relative_to(DOC).with_suffix("").as_posix() for page in PAGES}
    links = {(page.name, target) for page in PAGES for target in targets_of(page)}
    assert len(links) > 50
    assert {(page, target) for page, target in links if target not in known} == set()


def calls_in_tables():
    """Return calls such as ``NDCGRanker(k=10)`` that the pages with tables of rankers name."""
    for page in ("which_ranker", "what_is_calibrated"):
        text = (DOC / f"{page}.rst").read_text()
        yield from re.findall(r"``((?:\w+Ranker|LowRank\w+)\([^`]*\))``", text)


def test_calls_in_tables_work():
    for call in {call for call in calls_in_tables() if "..." not in call}:
        assert eval(call, public_names()).get_params(), call


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<script async src="https://x.org/a.js">', ["https://x.org/a.js"]),
        ('<img alt="" src="//x.org/a.png"><img src="a.png">', ["//x.org/a.png"]),
        ('<link rel="stylesheet" href="http://x.org/a.css">', ["http://x.org/a.css"]),
        ('<link rel="next" href="https://x.org/"><a href="https://x.org">', []),
    ],
)
def test_pages_that_load_from_the_network_are_noticed(html, found, monkeypatch):
    monkeypatch.syspath_prepend(DOC)
    assert importlib.import_module("_offline").remote_loads(html) == found


def test_keys_of_papers_are_in_the_bibliography():
    keys = set(re.findall(r"@\w+\{(\w+),", (DOC / "references.bib").read_text()))
    cited = {
        key
        for path in [*PAGES, *EXAMPLES, *(ROOT / "skcalrank").rglob("*.py")]
        for key in re.findall(r"\b(?:RAT|CUG|DMJ|FHT|LUGP|QYZ)\d\d\b", path.read_text())
    }
    assert cited
    assert cited <= keys


def title_of(page):
    return re.search(r"^(.+)\n(=+)$", (DOC / f"{page}.rst").read_text(), flags=re.M)[1]


def content_words(text):
    return {word.lower() for word in re.findall(r"[A-Za-z]\w{3,}", text)}


def test_the_user_guide_says_what_titles_do_not():
    text = (DOC / "user_guide.rst").read_text()
    lines = re.findall(r"^:doc:`(\w+)`\n    (.+)$", text, flags=re.M)
    pages = [page for page, _ in lines]
    assert sorted(pages) == sorted(set(pages))
    assert set(pages) | {"glossary", "references"} == {
        Path(e).name for e in entries(DOC / "user_guide.rst")
    }
    for page, line in lines:
        said = content_words(line)
        assert len(said & content_words(title_of(page))) <= len(said) / 3, (page, line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_rendered_title_repeats_a_word(page):
    for name, after in re.findall(r":doc:`(\w+)`,?[ \n]((?:\w+\s+){1,4})", page.read_text()):
        if (DOC / f"{name}.rst").exists():
            assert not content_words(title_of(name)) & content_words(after), (name, after)
