"""Docstrings of public estimators have the sections of scikit-learn's, and links that exist."""

import importlib
import inspect
import pkgutil
import re

import pytest
from sklearn.base import BaseEstimator

import skcalrank
from skcalrank import LowRankLossClassifier
from skcalrank.rankers import BaseRanker, LinearScorer, PairRanker, ScoreRanker
from skcalrank.testing import all_rankers

ROOMS = [room.name for room in pkgutil.iter_modules(skcalrank.__path__) if room.name[0] != "_"]
SECTIONS = ["Parameters", "Attributes", "See Also", "Notes", "Examples"]
ESTIMATORS = {**dict(all_rankers()), "LowRankLossClassifier": LowRankLossClassifier}
BASES = {cls.__name__: cls for cls in (BaseRanker, LinearScorer, PairRanker, ScoreRanker)}

#: Rankers with one target per document whose regression has the same parameters.
POSITIONAL = [
    *("NDCGRanker", "DCGRanker", "PrecisionRanker", "RecallRanker", "RBPRanker"),
    *("AUCRanker", "ExpectedRankUtilityRanker", "SpearmanRanker", "ERRRanker"),
]


def sections(cls):
    """Text of each section of the docstring of a class."""
    parts = re.split(r"^([A-Z][\w ]*)\n-+$", inspect.getdoc(cls), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def entries(text):
    """Descriptions in a section, by the line that names what they describe."""
    parts = re.split(r"^(\S.*)\n", text, flags=re.M)
    return {
        line.partition(" :")[0]: (line + body).strip()
        for line, body in zip(parts[1::2], parts[2::2])
    }


def exists(name):
    """Whether a name is one of skcalrank, or an absolute one."""
    if name in skcalrank.__all__ or hasattr(skcalrank.rankers, name):
        return True
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), attribute)
    except ImportError:
        return hasattr(getattr(skcalrank, module.rpartition(".")[2]), attribute)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_have_every_section(name):
    found = [title for title in sections(ESTIMATORS[name]) if title != "References"]
    assert found == SECTIONS


def test_all_public_estimators_have_neighbors_notes_and_examples():
    rooms = [importlib.import_module(f"skcalrank.{room}") for room in ROOMS]
    found = [getattr(room, name) for room in (skcalrank, *rooms) for name in room.__all__]
    classes = {cls for cls in found if inspect.isclass(cls) and issubclass(cls, BaseEstimator)}
    assert len(classes) > len(ESTIMATORS)
    for cls in classes - set(BASES.values()):
        assert {"See Also", "Notes", "Examples"} <= set(sections(cls)), cls.__name__


@pytest.mark.parametrize("name", [*ESTIMATORS, *BASES])
def test_what_is_seen_also_exists(name):
    cls = (ESTIMATORS | BASES)[name]
    for line in re.findall(r"^\S.*", sections(cls).get("See Also", ""), flags=re.M):
        names, _, text = line.partition(" : ")
        assert text, f"{names} has no description"
        for other in names.split(", "):
            assert exists(other), other
            assert other != name


@pytest.mark.parametrize("parameter", ["alpha", "loss", "n_passes", "query_weight"])
def test_copies_of_a_description_are_alike(parameter):
    pages = [entries(sections(ESTIMATORS[name])["Parameters"]) for name in POSITIONAL]
    assert len({page[parameter] for page in pages}) == 1
