"""Docstrings of public estimators have the sections of scikit-learn's, and links that exist."""

import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from difflib import SequenceMatcher
from itertools import combinations

import pytest
from public import public_names
from sklearn.base import BaseEstimator

import skcalrank
from skcalrank.rankers import BaseRanker, LinearScorer, PairRanker, ScoreRanker
from skcalrank.structured import FMeasureClassifier, LowRankLossClassifier, StructuredPredictor
from skcalrank.testing import all_rankers

ROOMS = [room.name for room in pkgutil.iter_modules(skcalrank.__path__) if room.name[0] != "_"]
SECTIONS = ["Parameters", "Attributes", "See Also", "Notes", "Examples"]
ESTIMATORS = {
    **dict(all_rankers()),
    **{
        cls.__name__: cls
        for cls in (FMeasureClassifier, LowRankLossClassifier, StructuredPredictor)
    },
}
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
        name: (line + body).strip()
        for line, body in zip(parts[1::2], parts[2::2])
        for name in line.partition(" :")[0].split(", ")
    }


def exists(name):
    """Whether a name is public, or an absolute one."""
    if name in public_names():
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


#: Functions that compute or make something of a measure, and not a list of names.
METRICS = {
    name: getattr(skcalrank.metrics, name)
    for name in skcalrank.metrics.__all__
    if inspect.isfunction(getattr(skcalrank.metrics, name)) and name != "get_scorer_names"
}


def test_metrics_name_their_neighbors():
    assert len(METRICS) > 20
    assert [name for name, metric in METRICS.items() if "See Also" not in sections(metric)] == []


@pytest.mark.parametrize("name", [*ESTIMATORS, *BASES, *METRICS])
def test_what_is_seen_also_exists(name):
    cls = (ESTIMATORS | BASES | METRICS)[name]
    for line in re.findall(r"^\S.*", sections(cls).get("See Also", ""), flags=re.M):
        names, _, text = line.partition(" : ")
        assert text, f"{names} has no description"
        for other in names.split(", "):
            assert exists(other), other
            assert other != name


# -- parameters and attributes of one name ----------------------------------------------------

#: Names of different things whose descriptions happen to be alike.
DIFFERENT = {
    "feature_names": "names in a plugin, or in a document",
    "law": "a distribution of labels, or of orders",
    "max_iter": "iterations of different solvers",
    "qid": "what is read if it is None",
}


def described():
    """Every parameter and attribute: its name, who describes it, and the description."""
    rooms = [skcalrank, *(importlib.import_module(f"skcalrank.{room}") for room in ROOMS)]
    public = [getattr(room, name) for room in rooms for name in room.__all__]
    for value in {id(value): value for value in public}.values():
        # The descriptions of metrics are made of those of their measures.
        if hasattr(value, "measure") and inspect.isfunction(value):
            continue
        for owner in (value, *(vars(value).values() if inspect.isclass(value) else ())):
            if inspect.isclass(owner) or inspect.isfunction(owner):
                doc = inspect.cleandoc(owner.__doc__ or "")  # without what is inherited
                parts = re.split(r"^([A-Z][\w ]*)\n-+$", doc, flags=re.M)
                for title, text in zip(parts[1::2], parts[2::2]):
                    if title in ("Parameters", "Attributes"):
                        yield from ((owner, *entry) for entry in texts(text))


def texts(section):
    """Names in a section, and their descriptions without the types."""
    parts = re.split(r"^(\S.*)\n", section, flags=re.M)
    for line, body in zip(parts[1::2], parts[2::2]):
        for name in line.partition(" :")[0].split(", "):
            yield name, inspect.cleandoc(body)


@pytest.fixture(scope="module")
def wordings():
    """Descriptions of each name, and who has them."""
    found = defaultdict(lambda: defaultdict(set))
    for owner, name, text in described():
        if text and not re.search(r"\b[Aa]s in\b|\bsee :", text):
            found[name][text].add(owner.__qualname__)
    return found


def test_a_description_of_several_lines_stands_in_one_place(wordings):
    assert {"alpha", "loss", "query_weight", "tol", "surrogate"} <= set(wordings)
    copies = {
        name: owners
        for name, of_name in wordings.items()
        for text, owners in of_name.items()
        if len(owners) > 1 and "\n" in text
    }
    assert not copies, "say in one line what it is, and as in which class"


def test_what_is_nearly_the_same_is_described_in_the_same_words(wordings):
    alike = {
        name: (first, second)
        for name, of_name in wordings.items()
        for first, second in combinations([" ".join(text.split()) for text in of_name], 2)
        if first != second and similarity(first, second) > 0.9
    }
    assert {name: pair for name, pair in alike.items() if name not in DIFFERENT} == {}
    assert set(alike) == set(DIFFERENT), "what is no longer alike needs no reason"


def similarity(first, second):
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.ratio() if matcher.quick_ratio() > 0.9 else 0.0


@pytest.mark.parametrize("name", ["alpha", "estimator", "loss", "n_passes", "query_weight"])
def test_named_rankers_say_where_their_parameters_are_described(name):
    pages = [entries(sections(ESTIMATORS[ranker])["Parameters"]) for ranker in POSITIONAL]
    assert all("as in :class:`LeastSquaresRanker`" in page[name] for page in pages)
    assert "as in" not in entries(sections(skcalrank.LeastSquaresRanker)["Parameters"])[name]
