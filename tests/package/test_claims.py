"""Claims of the pages beside their tables: errors, and losses in bold, are those of a table."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "doc" / "benchmark_results"
PAGES = {
    path.stem: path
    for path in (
        *sorted((ROOT / "doc").glob("benchmarks*.rst")),
        *(ROOT / "doc" / f"{name}.rst" for name in ("which_ranker", "index")),
        ROOT / "README.md",
    )
}
NUMBER = r"(?<![\w.@])[+\-−]?\d*\.\d+"
COMMON = {"and", "the", "with", "for", "minu", "other"}
MARK = re.compile(r"(?:\.\.|<!--) figures: ([\w ]+?)(?: -->)?(?:\n|$)")


def items(text):
    """Yield what stands between blank lines: titles, names of results, and prose by bullet."""
    for part in re.split(r"\n\s*\n", text):
        if re.search(r"^(#+ .+|(=|-|~)\2{3,})$", part, flags=re.M):
            yield "title", part
            continue
        if found := MARK.match(part):
            yield "mark", found[1].split()
            part = part[found.end() :]
        if found := re.match(r" *\.\. benchmark:: (\w+)", part):
            yield "results", found[1]
        elif part.strip():
            yield from (("prose", each) for each in re.split(r"\n(?= *\* |\| )", part))


def blocks(text):
    """Yield paragraphs and bullets, with the names of the results that they are about.

    These are the results shown below, up to the next paragraph that is not indented; where none
    are, those of the comment ``figures: NAME NAME`` above, or those shown above in the section.
    """
    waiting, shown, above = [], [], []
    for kind, value in [*items(text), ("title", "")]:
        is_outer = kind == "prose" and not value.startswith(" ")
        if kind in ("title", "mark") or (shown and is_outer):
            names = shown or above
            yield from ((" ".join(block.split()), names) for block in waiting)
            waiting, shown, above = [], [], [] if kind == "title" else names
        if kind == "mark":
            above = value
        elif kind == "results":
            shown = [*shown, value]
        elif kind == "prose":
            waiting.append(value)


def claims(block):
    """Yield figures as texts: a value and its error, and numbers in bold or with a sign."""
    pair = rf"({NUMBER}) ± ({NUMBER})"
    yield from re.findall(pair, block)
    rest = re.sub(pair, "", block)
    for bold in re.findall(r"\*\*(.+?)\*\*", rest):
        yield from ((each,) for each in re.findall(rf"{NUMBER}(?: %)?", bold))
    plain = re.sub(r"\*\*.+?\*\*", "", rest)
    yield from ((each,) for each in re.findall(NUMBER, plain) if each[0] in "+-−")


def is_in(claim, line):
    """Whether a row of a table has the figures of a claim, one after the other, after rounding."""
    known = [float(each.replace("−", "-")) for each in re.findall(NUMBER, line)]
    return any(
        all(rounds_to(value, text) for value, text in zip(known[at:], claim))
        for at in range(len(known) - len(claim) + 1)
    )


def rounds_to(value, text):
    """Whether a value is the number of a text, which may have a sign, or be a percentage."""
    shown = text.removesuffix(" %").replace("−", "-")
    value = value if shown[0] in "+-" else abs(value)
    value *= 100 if text.endswith(" %") else 1
    return abs(value - float(shown)) <= 0.5 * 10.0 ** -len(shown.partition(".")[2]) + 1e-9


def lines(names):
    """Return lines, and rows of tables, of results."""
    shown = [
        item
        for name in names
        for item in json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["shown"]
    ]
    rows = [" | ".join(row) for item in shown if isinstance(item, dict) for row in item["rows"]]
    return rows + [item for item in shown if isinstance(item, str)]


def words(text):
    return {word.lower().rstrip("s") for word in re.findall(r"[A-Za-z]{3,}", text)} - COMMON


def is_about(line, block):
    """Whether a line, by its label, and a paragraph have a word in common."""
    label = words(line.partition(" | ")[0])
    return not label or bool(label & words(block))


def is_founded(claim, block, known):
    """Whether a line has the figures of a claim; for one figure, a line of the same words."""
    is_pair = len(claim) > 1
    return any(is_in(claim, line) and (is_pair or is_about(line, block)) for line in known)


def unfounded(text):
    """Return claims of a page that are in none of the results they are about."""
    return {
        " ± ".join(claim)
        for block, names in blocks(text)
        for claim in claims(block)
        if not is_founded(claim, block, lines(names))
    }


# Differences of two figures of one table.
DIFFERENCES = {
    "benchmarks_defaults": {".019": ("quality_defaults_lists", "0.7298", "0.7112")},
    "benchmarks_labels": {
        ".035": ("f_measure", "0.8921", "0.8571"),
        ".054": ("f_measure", "0.9107", "0.8571"),
        ".066": ("clicks", "0.719", "0.653"),
        ".112": ("clicks", "0.454", "0.342"),
    },
    "benchmarks_theory": {".015": ("reliability", "0.1753", "0.1600")},
}
# Figures that no table on the pages has, each with the reason.
ELSEWHERE = {
    "benchmarks": {
        "+.0023 ± .0012": "variants on the selecting half, which --compare prints",
        ".0122 ± .0042": "variants on the selecting half, which --compare prints",
        ".5100": "published by others",
        ".8304": "published by others",
        ".8030": "published by others",
    },
    "benchmarks_defaults": {"1.25": "the bound of a rule"},
    "benchmarks_speed": {
        ".0071 ± .0035": "draws of bins in memory, which are not stored",
        "2.3": "a version of pandas",
    },
}


@pytest.mark.parametrize("page", PAGES)
def test_claims_are_in_the_tables_beside_them(page):
    known = {*DIFFERENCES.get(page, {}), *ELSEWHERE.get(page, {})}
    assert unfounded(PAGES[page].read_text(encoding="utf-8")) == known


@pytest.mark.parametrize("page", DIFFERENCES)
def test_claims_of_differences_are_those_of_two_figures(page):
    for claim, (name, one, other) in DIFFERENCES[page].items():
        assert all(any(is_in((each,), line) for line in lines([name])) for each in (one, other))
        assert rounds_to(float(one) - float(other), claim), claim


def test_most_claims_are_found():
    found = [c for path in PAGES.values() for b, _ in blocks(path.read_text()) for c in claims(b)]
    assert len(found) > 100


TABLE = """Title
=====

It is ahead. **It loses by .02 ± .01,** or 8.1 %.

* First bullet, +.05

  .. benchmark:: one

Next paragraph, **.3 to 1.5 %**.

.. benchmark:: two

.. dropdown:: After

   text -.07

Other
-----

.. figures: three four

**.9**
"""


def test_claims_are_told_from_other_figures():
    assert [
        (list(claims(block)), names) for block, names in blocks(TABLE) if any(claims(block))
    ] == [
        ([(".02", ".01")], ["one"]),
        ([("+.05",)], ["one"]),
        ([(".3",), ("1.5 %",)], ["two"]),
        ([("-.07",)], ["two"]),
        ([(".9",)], ["three", "four"]),
    ]


def test_a_figure_is_looked_for_in_lines_of_the_same_words():
    known = ["lambdarank, picked | 0.14", "YetiRank | 0.25 ± 0.03"]
    assert is_founded((".14",), "picked of three", known)
    assert not is_founded((".14",), "as it comes", known)
    assert is_founded((".25", ".03"), "as it comes", known)


@pytest.mark.parametrize(
    ("claim", "line", "is_found"),
    [
        ((".02", ".01"), "a | -0.0176 ± 0.0149", True),
        (("+.02", ".01"), "a | -0.0176 ± 0.0149", False),
        ((".02", ".02"), "a | -0.0176 ± 0.0149", False),
        ((".018", ".015"), "a | 0.7112 | -0.0176 | 0.0149", True),
        (("8.1 %",), "leagues | 0.081", True),
        (("8.1",), "leagues | 0.081", False),
        (("−.07",), "a | -0.0705", True),
        (("10",), "ndcg@10", False),
    ],
)
def test_figures_are_found_after_rounding(claim, line, is_found):
    assert is_in(claim, line) is is_found
