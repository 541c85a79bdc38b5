"""Names of others stay text in every report: no formula, no markup, no mathematics."""

import csv
import io
import re
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pytest

pytest.importorskip("hypothesis")
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import examples

from skcalrank.evaluation import compare_values

SPECIAL = "=+-@\t\r\n\x0b\x1b\u2028\u202e\ud800＝|\\`*_~[]$<>&\"';,#%{}^/!?()0123aβ \x00"
HOSTILE = [
    *("=HYPERLINK(1)", "+cmd", "-2+3+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", "a;=1"),
    *("<script>alert(1)</script>", "<img src=x onerror=y>", "&lt;b&gt;", "[x](javascript:y)"),
    *("a\nb", "a\n\nb", "a\r\nb", "a | b", r"a \| b", "**a**", "`a`", r"\`a`"),
    *(r"$\foo$.txt", "a_$x_1_2$", "$100 vs $200", r"a\$b$c", "$", r"\\$", r"\end{tabular}"),
    *("[a]", "*", "--", "\x1b[2J", "\u202eabc", "\ud800", "_hidden", "-5", "1e5"),
]


def hostile_names(size):
    texts = st.text(SPECIAL, min_size=1, max_size=12) | st.sampled_from(HOSTILE)
    return st.lists(texts, min_size=size, max_size=size, unique=True)


def compared(systems, measure="m"):
    rng = np.random.default_rng(0)
    return compare_values({name: {measure: rng.random(8)} for name in systems})


def one_line(name):
    """What is left of a name: the characters that are seen, on one line."""
    text = re.sub("[\ud800-\udfff]", "\ufffd", " ".join(name.split()))
    return " ".join("".join(filter(str.isprintable, text)).split())


@given(hostile_names(3))
@example(HOSTILE[:3])
@example(HOSTILE[3:6])
@example(["-5", "a;=1", '"'])
def test_csv_has_no_formulas(names):
    assume(sys.version_info >= (3, 11) or not any("\0" in name for name in names))  # csv reads none
    text = compared(names).to_csv()
    text.encode()
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert len(rows) == len(names)
    for row, name in zip(rows, names):
        assert len(row) == len(head)
        cell = row[0].removeprefix("'") if not name.startswith("'") else row[0]
        assert cell == re.sub("[\ud800-\udfff]", "\ufffd", name)
        if re.match("[=+\\-@\t\r\n＝＋－＠]", row[0]):
            float(row[0])
    # Nor where other characters separate cells.
    for separator in ";\t":
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
            assert not any(cell.lstrip("'").startswith("=") for cell in row[1:])


@given(hostile_names(3))
@example(HOSTILE[7:10])
@example(HOSTILE[11:14])
@example([r"a \| b", "`a`", r"\`a`"])
def test_markdown_is_a_table_of_text(names):
    lines = compared(names, names[0]).to_markdown().split("\n")
    assert len(lines) == len(names) + 4
    for line in lines:
        # Outside of what a backslash escapes there is no markup but that of the best mean.
        bare = re.sub(r"\\.", " ", line)
        assert not re.search(r"<[A-Za-z/!?]|[`\[\]_~$]", re.sub(r"\[[-0-9., ]+\]", "", bare))
        assert line.isprintable()
        if line and line is not lines[-1]:
            assert bare.count("|") == 3
    for line, name in zip(lines[2:], names):
        cell = re.split(r"(?<!\\)(?:\\\\)*\|", line)[1].strip()
        text = re.sub(r"\\(.)", r"\1", cell.replace("&lt;", "<") if "&lt;" not in name else cell)
        assert text == one_line(name) or "&lt;" in name


@given(hostile_names(3))
@example(HOSTILE[22:25])
@example(["[a]", "*", "--"])
def test_latex_is_a_tabular_of_text(names):
    lines = compared(names, names[0]).to_latex().split("\n")
    assert len(lines) == len(names) + 10
    for line in lines:
        assert line.isprintable()
        bare = re.sub(r"\\[&%$#_{}\\]", "", line)
        assert not re.search(r"[%#]", bare)
        assert bare.count("$") % 2 == 0
        assert bare.count("{") == bare.count("}")
        assert "--" not in bare
        if line.endswith(r" \\"):
            assert bare.count("&") == 1
            assert line[0] not in "[*"
        commands = r"(begin|end|centering|caption|toprule|midrule|bottomrule|textbf|text\w+)\b"
        assert not re.search(rf"\\(?!{commands})[A-Za-z]", line.replace(r"\\", ""))


class Tags(HTMLParser):
    """Tags of a page, and the texts of heads of rows."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.heads, self._inside = set(), [], False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add((tag, *attrs))
        self._inside = tag == "th"
        self.heads += [""] * self._inside

    def handle_endtag(self, tag):
        self._inside = self._inside and tag != "th"

    def handle_data(self, data):
        if self._inside:
            self.heads[-1] += data


@given(hostile_names(3))
@example(HOSTILE[7:10])
def test_html_has_no_markup_but_ours(names):
    page = compared(names, names[0]).to_html()
    found = Tags(page)
    ours = ("table", "caption", "thead", "tbody", "tr", "th", "td", "small", "sup", "b")
    assert found.tags <= {(tag,) for tag in ours}
    assert found.heads == ["system", *map(one_line, [names[0], *names])]
    page.encode()


@pytest.mark.filterwarnings("ignore:Glyph")
@examples(0.2)
@given(hostile_names(3))
@example(HOSTILE[22:25])
@example(HOSTILE[25:28])
@example(["_hidden", "<b>", "&amp;"])
def test_plots_draw_names_as_they_are(names):
    pytest.importorskip("matplotlib")
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    comparison, text = compared(names, names[0]), io.StringIO()
    with rc_context({"svg.fonttype": "none"}):
        figure = Figure()
        comparison.plot(kind="means", ax=figure.add_subplot(2, 1, 1))
        comparison.plot(kind="queries", ax=figure.add_subplot(2, 1, 2))
        FigureCanvasSVG(figure).print_svg(text)
    svg = text.getvalue()
    drawn = {
        " ".join("".join(element.itertext()).split())
        for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    }
    assert set(map(one_line, names)) - {""} <= drawn
