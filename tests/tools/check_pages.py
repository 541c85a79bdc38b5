"""Check the pages that Sphinx has built, without a network and with the standard library alone.

    python tests/tools/check_pages.py [--online] [doc/_build/html]

Links and their anchors resolve; nothing is loaded from elsewhere; images have a text that is not
the name of their file; a page has one h1, a language and a title; tables have header cells; and
text, links, code and tables have the contrast of WCAG AA on their backgrounds in both themes,
computed from the style sheets. Links to other sites are counted, and fetched with --online.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Text of usual size, on its background.
LEAST_CONTRAST = 4.5

# Where the theme puts which text.
COLORS = {
    "background": (
        "text-base",
        "text-muted",
        "heading",
        "link",
        "link-hover",
        "inline-code",
        "accent",
    ),
    "surface": ("text-base", "text-muted", "link", "inline-code"),
    "table-heading-bg": ("text-base", "link"),
    "table-row-zebra-low-bg": ("table", "link", "inline-code"),
    "table-row-zebra-high-bg": ("table", "link", "inline-code"),
    "table-row-hover-bg": ("table",),
    "target": ("text-base",),
}

LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href"}
# Links that fetch nothing to show the page.
NOT_LOADED = {"canonical", "next", "prev", "search", "index", "author", "copyright"}


class Page(HTMLParser):
    """What a page links to, loads and consists of."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.remote: list[str] = []
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()
        self.open: list[tuple[str, str]] = []
        self.tables: list[bool] = []
        self.feed(path.read_text(encoding="utf-8"))
        if self.counts["h1"] != 1:
            self.faults.append(f"{self.counts['h1']} elements h1, and not one")
        self.faults += [f"no {name}" for name in ("lang", "title") if not self.counts[name]]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.counts[tag] += 1
        self.counts["lang"] += tag == "html" and bool(given.get("lang"))
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self._see_loaded(tag, given)
        if tag == "img":
            self._see_image(given)
        if tag == "table":
            # Indexes are laid out as tables, and a summary of names has no heading to repeat.
            layout = {"indextable", "autosummary"} & set(given.get("class", "").split())
            self.tables.append(bool(layout) or given.get("role") == "presentation")
        if tag == "th" and self.tables:
            self.tables[-1] = True
        if tag not in ("img", "link", "meta", "br", "hr", "input", "source", "col", "wbr", "path"):
            self.open.append((tag, given.get("class", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and self.tables and not self.tables.pop():
            self.faults.append(f"a table without header cells in line {self.getpos()[0]}")
        while self.open and self.open.pop()[0] != tag:
            pass

    def _see_loaded(self, tag: str, given: dict[str, str]) -> None:
        value = given.get(LOADED.get(tag, ""), "")
        rels = set(given.get("rel", "").split())
        if not value or rels & NOT_LOADED:
            return
        if urlsplit(value).netloc:
            self.remote.append(value)
        else:
            self.links.append(value)

    def _see_image(self, given: dict[str, str]) -> None:
        text, source = given.get("alt"), Path(unquote(urlsplit(given.get("src", "")).path))
        # A thumbnail stands beside its title, which screen readers would read twice; a toggle of
        # the index is a sign.
        beside_title = any("thumbcontainer" in classes for _, classes in self.open)
        if (beside_title and text == "") or "toggler" in given.get("class", ""):
            return
        words = re.sub(r"\W|_", "", (text or "").lower())
        of_file = re.sub(r"\W|_", "", source.stem.lower())
        if not words or source.name.lower() in (text or "").lower() or words in of_file:
            self.faults.append(f"image {source.name} has the text {text!r}")


def check_links(root: Path, pages: dict[Path, Page]) -> tuple[list[str], Counter[str]]:
    """Return faults of links within the pages, and how often others are linked to."""
    faults, elsewhere = [], Counter[str]()
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme in ("mailto", "data", "javascript"):
                continue
            if parts.netloc:
                elsewhere[link] += 1
                continue
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            if target.is_dir():
                target /= "index.html"
            if not target.is_file() or not target.is_relative_to(root):
                faults.append(f"{path.relative_to(root)}: {link} leads nowhere")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{path.relative_to(root)}: {link} has no such anchor")
    return faults, elsewhere


def check_styles(root: Path) -> list[str]:
    """Return style sheets that load something from elsewhere."""
    return [
        f"{path.relative_to(root)}: loads {found}"
        for path in sorted(root.rglob("*.css"))
        for found in re.findall(
            r"(?:@import|url\()\s*['\"]?((?:https?:)?//[^'\")]+)", path.read_text()
        )
    ]


# -- contrast ------------------------------------------------------------------------------


def luminance(color: str) -> float:
    """Return the relative luminance of #rgb or #rrggbb, as WCAG 2 defines it."""
    digits = color.lstrip("#")
    digits = "".join(2 * each for each in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colors, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def variables(sheets: list[str], theme: str) -> dict[str, str]:
    """Return the variables of colors in a theme; what is declared later holds."""
    found: dict[str, str] = {}
    sheet = re.sub(r"/\*.*?\*/", "", "\n".join(sheets), flags=re.S)
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", sheet):
        names = {each.strip().replace('"', "") for each in selectors.split(",")}
        if names & {"html", ":root", f"html[data-theme={theme}]"}:
            found |= dict(re.findall(r"--pst-color-([\w-]+):\s*([^;}]+)", body))
    return found


def resolved(name: str, known: dict[str, str]) -> str:
    """Return the color of a variable, also where it is that of another one."""
    value = known.get(name, "").strip()
    other = re.fullmatch(r"var\(--pst-color-([\w-]+)\)", value)
    return resolved(other[1], known) if other else value


def check_contrast(root: Path) -> list[str]:
    """Return texts of the theme and of highlighted code that are hard to read."""
    styles = root / "_static"
    sheets = [
        path.read_text()
        for path in (styles / "styles" / "pydata-sphinx-theme.css", styles / "skcalrank.css")
    ]
    code = (styles / "pygments.css").read_text()
    faults = []
    for theme in ("light", "dark"):
        known = variables(sheets, theme)
        pairs = [(text, back) for back, texts in COLORS.items() for text in texts]
        named = {f"{t} on {b}": (resolved(t, known), resolved(b, known)) for t, b in pairs}
        named |= highlighted(code, theme)
        for name, (text, back) in named.items():
            if not all(re.fullmatch(r"#(?:[0-9a-fA-F]{3}){1,2}", color) for color in (text, back)):
                faults.append(f"{theme}: {name} has unknown colors {text!r} and {back!r}")
            elif (found := contrast(text, back)) < LEAST_CONTRAST:
                faults.append(f"{theme}: {name} has contrast {found:.2f}, below {LEAST_CONTRAST}")
    return faults


def highlighted(sheet: str, theme: str) -> dict[str, tuple[str, str]]:
    """Return the colors of code by the class of the token, each with the background."""
    prefix = rf'html\[data-theme="{theme}"\] \.highlight'
    (back,) = re.findall(prefix + r" \{ background: (#\w+)", sheet)
    tokens = re.findall(prefix + r" \.(\w+) \{[^}]*?(?<!-)color: (#\w+)([^}]*)\}", sheet)
    return {
        f"code .{name}": (color, back) for name, color, rest in tokens if "background" not in rest
    }


# -- other sites ---------------------------------------------------------------------------


def check_online(links: Counter[str]) -> list[str]:
    """Return links to other sites that answer with an error."""
    from urllib.request import Request, urlopen

    faults = []
    for link in sorted({link.partition("#")[0] for link in links}):
        try:
            urlopen(Request(link, headers={"User-Agent": "Mozilla/5.0"}), timeout=20).close()
        except OSError as error:
            faults.append(f"{link}: {error}")
    return faults


def main() -> int:
    """Print what is wrong; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("root", nargs="?", default="doc/_build/html", type=Path)
    parser.add_argument("--online", action="store_true", help="fetch links to other sites")
    args = parser.parse_args()
    root = args.root.resolve()
    pages = {
        path: Page(path) for path in sorted(root.rglob("*.html")) if "_static" not in path.parts
    }
    if not pages:
        print(f"There are no pages in {root}.", file=sys.stderr)
        return 1
    faults, elsewhere = check_links(root, pages)
    for path, page in pages.items():
        of_page = page.faults + [f"loads {link} from elsewhere" for link in page.remote]
        faults += [f"{path.relative_to(root)}: {fault}" for fault in of_page]
    faults += check_styles(root) + check_contrast(root)
    if args.online:
        faults += check_online(elsewhere)
    print(*faults, sep="\n")
    print(f"{len(pages)} pages, {len(elsewhere)} links to other sites, {len(faults)} faults")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
