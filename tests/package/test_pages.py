"""The check of built pages sees what it is for."""

import check_pages
import pytest

PAGE = """<html lang="en"><head><title>t</title></head><body><h1 id="here">h</h1>{}</body></html>"""
GOOD = """<a href="#here">a</a><a href="other.html#here">b</a><a href="https://x.org/">c</a>
<table><tr><th>h</th></tr></table><img src="a/curve-1.png" alt="Regret falls">
<div class="sphx-glr-thumbcontainer"><img src="a/curve-1.png" alt=""></div>"""


def faults(root, body):
    for name, text in (("index.html", body), ("other.html", "")):
        (root / name).write_text(PAGE.format(text))
    (root / "a").mkdir(exist_ok=True)
    (root / "a" / "curve-1.png").touch()
    pages = {path: check_pages.Page(path) for path in root.glob("*.html")}
    found, elsewhere = check_pages.check_links(root, pages)
    assert set(elsewhere) <= {"https://x.org/"}
    return found + [fault for page in pages.values() for fault in page.faults + page.remote]


def test_good_pages(tmp_path):
    assert not faults(tmp_path, GOOD)


@pytest.mark.parametrize(
    "body",
    [
        '<a href="nowhere.html">a</a>',
        '<a href="other.html#nowhere">a</a>',
        '<a href="#nowhere">a</a>',
        '<img src="a/curve-1.png">',
        '<img src="a/curve-1.png" alt="">',
        '<img src="a/curve-1.png" alt="curve 1">',
        '<img src="a/curve-1.png" alt="a/curve-1.png">',
        '<img src="a/none.png" alt="Regret falls">',
        '<img src="https://x.org/a.png" alt="Regret falls">',
        '<script src="https://x.org/a.js"></script>',
        '<link rel="stylesheet" href="https://x.org/a.css">',
        "<h1>another</h1>",
        "<table><tr><td>1</td></tr></table>",
    ],
)
def test_bad_pages(tmp_path, body):
    assert len(faults(tmp_path, GOOD + body)) == 1


def test_styles_from_elsewhere(tmp_path):
    (tmp_path / "a.css").write_text(
        "@import url('https://x.org/a.css'); p { background: url(b.png) }"
    )
    assert len(check_pages.check_styles(tmp_path)) == 1


def test_contrast():
    assert check_pages.contrast("#000", "#ffffff") == pytest.approx(21)
    # The gray of WCAG's own explanation that just passes on white, and one that does not.
    assert check_pages.contrast("#767676", "#fff") >= check_pages.LEAST_CONTRAST
    assert check_pages.contrast("#777777", "#fff") < check_pages.LEAST_CONTRAST
    sheet = "html{--pst-color-a:#111}/* b */html[data-theme=dark]{--pst-color-b:var(--pst-color-a)}"
    assert check_pages.resolved("b", check_pages.variables([sheet], "dark")) == "#111"
    code = (
        'html[data-theme="light"] .highlight { background: #fefefe; color: #080808 }\n'
        'html[data-theme="light"] .highlight .k { color: #6730C5; font-weight: bold } /* Keyword */'
    )
    assert check_pages.highlighted(code, "light") == {"code .k": ("#6730C5", "#fefefe")}
