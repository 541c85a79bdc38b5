"""What a release needs: versions that agree, and what a report of a bug prints."""

import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import api_changes
import pytest
from public import public_names
from sklearn.linear_model import Ridge

import skcalrank
from skcalrank import losses

ROOT = Path(__file__).parents[2]
# Extras for users, and what scikit-learn prints of them.
EXTRAS = ("files", "frames", "plot", "dask", "boosting", "export")
PRINTED = {"numpy", "pandas", "matplotlib"}
PUBLIC = api_changes.public()


def test_versions_agree():
    changes = (ROOT / "CHANGELOG.md").read_text()
    (cited,) = re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), flags=re.M)
    assert cited == skcalrank.__version__
    # What is not released yet stands above.
    assert re.search(r"^## (\d\S*)", changes, flags=re.M)[1] == skcalrank.__version__


def test_links_of_the_package_index_are_absolute(tmp_path):
    bash = shutil.which("bash") or pytest.skip("no bash")
    (tmp_path / ".ci").mkdir()
    for name in (".ci/address", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / name)
    address = "https://host.example/owner/skcalrank"
    subprocess.run([bash, tmp_path / ".ci/address", address], check=True)
    before, after = (
        re.findall(r"(!?)\[[^]]*\]\(([^#)][^)]*)\)", (folder / "README.md").read_text())
        for folder in (ROOT, tmp_path)
    )
    assert len(before) > 20
    for (picture, link), (_, absolute) in zip(before, after, strict=True):
        assert (ROOT / link).exists()
        assert absolute == f"{address}/{'raw' if picture else 'blob'}/main/{link}"


def tables_of(version):
    """Cells of the rows of the tables that the changelog has below the heading of a version."""
    text = (ROOT / "CHANGELOG.md").read_text()
    section = re.search(rf"^## {re.escape(version)} .*?(?=^## |\Z)", text, flags=re.M | re.S)[0]
    for table in re.findall(r"^\|[-|]+\n((?:\|.*\n)+)", section, flags=re.M):
        yield [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.splitlines()]


def names_in(cell):
    """Imports, names, and names with a parameter, as `Safety.lower` and `bradley_terry(alpha=)`."""
    for code in re.findall("`(.*?)`", cell):
        if imported := re.fullmatch(r"from (\S+) import (.*)", code):
            yield from (f"{imported[1]}.{name}" for name in imported[2].split(", "))
        elif called := re.fullmatch(r"([A-Za-z_.]+)\(((?:\w+=(?:, )?)+)\)", code):
            yield from (f"{called[1]}({name})" for name in re.findall(r"\w+=", called[2]))
        elif re.fullmatch(r"[A-Za-z_.]+", code):
            yield code


def exists(name):
    """Whether a name, and its parameter if there is one, is public."""
    path, _, parameter = name.rstrip("=)").partition("(")
    known = (keys for each, keys in PUBLIC.items() if f".{each}".endswith(f".{path}"))
    return any(not parameter or parameter in keys for keys in known)


def test_names_that_went_have_a_name_that_exists():
    renamed = next(tables_of("0.4.0"))  # the last version in which names went
    went = {name for old, _ in renamed for name in names_in(old)}
    now = {name for _, new in renamed for name in names_in(new)}
    assert len(went) > 50
    assert len(now) > 40
    assert {name for name in went if exists(name)} == set()
    assert {name for name in now if not exists(name)} == set()


def test_changes_of_public_names_are_found():
    before = {"a.F": {"x": "1", "y": ""}, "a.C": {}, "a.C.m": {}, "a.D": {}, "a.D.m": {}}
    now = {"a.F": {"x": "2", "z": "3"}, "a.C": {}}
    lines = ["a.F(x=1), now 2", "a.F(y=)", "a.C.m", "a.D"]
    assert list(api_changes.changes(before, now)) == lines


def upgrades():
    """Old and new calls of the first table of the upgrade notes of the first version."""
    for old, new, *_ in next(tables_of("0.3.0")):
        if found := re.fullmatch(r"`(\w+\(.*?\))` \| `(\w+\(.*?\))`(?:: .*)?", f"{old} | {new}"):
            yield found.groups()


@pytest.mark.parametrize(("old", "new"), upgrades())
def test_upgrade_notes(old, new):
    X, y, qid = skcalrank.make_subset_ranking(5, 4, 2, n_grades=2, random_state=0)
    names = {**vars(losses), **public_names(), "Ridge": Ridge, "function": "net_preference"}
    assert eval(new, names)
    with pytest.raises((TypeError, ValueError)):
        eval(old, names).fit(X, y, qid)


def test_upgrade_notes_are_read():
    assert len(list(upgrades())) >= 14


def requirements():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extra in EXTRAS:
        for each in project["optional-dependencies"][extra]:
            name, _, parts = re.match(r"([\w-]+)(\[(.*?)\])?", each).groups(default="")
            yield from {name, *(part for part in parts.split(",") if part == "distributed")}


def version_of(name):
    """The version that is installed, as it is printed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "None"


def test_show_versions(capsys):
    skcalrank.show_versions()
    printed = dict(re.findall(r"^ *([\w-]+): +(.*)$", capsys.readouterr().out, flags=re.M))
    assert printed["skcalrank"] == skcalrank.__version__
    assert {"python", "machine", "sklearn", "scipy", "joblib", "user_api"} <= set(printed)
    names = set(requirements()) | PRINTED
    assert names <= set(printed)
    assert all(printed[name] == version_of(name) for name in names)
