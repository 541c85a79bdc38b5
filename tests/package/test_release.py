"""What a release needs: versions that agree, and what a report of a bug prints."""

import re
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

import pytest
from public import public_names
from sklearn.linear_model import Ridge

import skcalrank
from skcalrank import losses

ROOT = Path(__file__).parents[2]
# Extras for users, and what scikit-learn prints of them.
EXTRAS = ("files", "frames", "plot", "dask", "boosting", "export")
PRINTED = {"numpy", "pandas", "matplotlib"}


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


def upgrades():
    """Old and new calls of the first table of the upgrade notes."""
    for line in (ROOT / "CHANGELOG.md").read_text().splitlines():
        if found := re.fullmatch(r"\| `(\w+\(.*?\))` \| `(\w+\(.*?\))`(?:: .*)? \|", line):
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
