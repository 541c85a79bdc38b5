"""What is registered can be reached from everywhere; what is public exists and is documented."""

import importlib
import inspect
import re
import subprocess
import sys

import pytest
from sklearn.base import BaseEstimator
from sources import MODULES, NAMESPACES, OPTIONAL

import skcalrank
from skcalrank._cli._parser import parse
from skcalrank._cli._rankers import (
    COMPARE_RANKERS,
    RANKERS,
    RUN_MEASURES,
    make_measure,
    make_ranker,
)
from skcalrank.boosting import lightgbm_metric, lightgbm_objective
from skcalrank.calibration import SURROGATES, LabelDistribution
from skcalrank.losses import LOSSES, PREFERENCE_LOSSES
from skcalrank.measures import MEASURES
from skcalrank.rankers import ScoreRanker
from skcalrank.testing import all_rankers

# -- what is registered ----------------------------------------------------------------------


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_reachable(name):
    args = parse(["evaluate", "--run", "r", "--qrels", "q", "--measures", name])
    assert args.measures == [name]
    assert make_measure(name) == MEASURES[name]()
    assert (name in RUN_MEASURES) == MEASURES[name].top_only
    assert lightgbm_metric(name).measure == MEASURES[name]()
    law = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25])
    assert law.order_values(name).shape == (6,)
    if MEASURES[name].has_score_targets():
        assert MEASURES[name].calibration is not None
        assert lightgbm_objective(name).measure.name == name
        assert law.expected_targets(name).shape == (3,)


@pytest.mark.parametrize("name", LOSSES)
def test_every_loss_is_reachable(name):
    assert lightgbm_objective("precision", name).loss.name == name
    law = LabelDistribution([[0, 1, 1], [1, 0, 0]], [0.75, 0.25])
    assert law.surrogate_minimizer(name, "precision").shape == (3,)


@pytest.mark.parametrize("name", PREFERENCE_LOSSES)
def test_every_loss_of_preferences_is_reachable(name):
    assert {f"preference_{name}", f"margin_{name}"} <= set(SURROGATES)


@pytest.mark.parametrize("cls", dict(all_rankers()).values(), ids=dict(all_rankers()))
def test_every_ranker_of_one_measure_is_reachable(cls):
    # Those that name no measure of their own, or ask for more than features, have no short name.
    general = not issubclass(cls, ScoreRanker) or "measure" in inspect.signature(cls).parameters
    assert bool(cls.short_names) != general
    for short in cls.short_names:
        assert type(make_ranker(short)) is cls
        assert parse(["fit", "f", "--model", "m", "--ranker", short]).ranker == short
        assert short in RANKERS
        assert short in COMPARE_RANKERS or cls.short_names[short]


@pytest.mark.parametrize(("command", "names"), [("evaluate", MEASURES), ("fit", RANKERS)])
def test_help_names_what_is_registered(capsys, command, names):
    with pytest.raises(SystemExit):
        parse([command, "--help"])
    assert set(names) <= set(re.findall(r"\w+", capsys.readouterr().out))


# -- what is public --------------------------------------------------------------------------


@pytest.mark.long
def test_import_leaves_optional_libraries_alone():
    # scikit-learn may import pandas for itself.
    code = (
        f"import sys, sklearn; before = set(sys.modules); import {', '.join(MODULES)}; "
        f"print(sorted({OPTIONAL} & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_names_exist():
    for name in MODULES:
        module = importlib.import_module(name)
        names = getattr(module, "__all__", [])
        assert len(names) == len(set(names)), name
        assert [public for public in names if not hasattr(module, public)] == [], name
        # A public module says what is public.
        private = name in NAMESPACES or any(p.startswith("_") for p in name.split("."))
        assert names or private, name


def public_objects():
    for name in MODULES:
        module = importlib.import_module(name)
        for public in getattr(module, "__all__", []):
            value = getattr(module, public)
            if inspect.isroutine(value) or inspect.isclass(value):
                yield f"{value.__module__}.{value.__qualname__}", value


def methods_of(cls):
    for name, value in vars(cls).items():
        if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, property)):
            yield name, getattr(cls, name)


def test_what_is_public_is_documented():
    offenders = set()
    for name, value in dict(public_objects()).items():
        members = methods_of(value) if inspect.isclass(value) else ()
        for member, documented in [("", value), *members]:
            if not inspect.getdoc(documented):
                offenders.add((name, member))
    assert offenders == set()


#: Public estimators that are no rankers to be made without arguments.
NO_RANKERS = {
    **dict.fromkeys(["BaseRanker", "ScoreRanker", "PairRanker", "LinearScorer"], "base class"),
    "FMeasureClassifier": "classifier of sets of labels",
    "CalibratedRankerCV": "scores of another ranker with a unit: it has a file of laws of its own",
    "GuaranteedCutoff": "cuts the lists of another ranker: it has a file of laws of its own",
    "GramRidge": "regressor, inside a ranker",
    "FixedQueries": "ranker of queries that are given, for tools that pass no qid",
    "LowRankLossClassifier": "classifier, whose classes may be orders",
    "StructuredPredictor": "predictor of labels of any kind",
    "HostedRanker": "made of a ranker of the user's",
    "QueryPipeline": "made of steps of the user's, of which the last may be no ranker",
    **dict.fromkeys(
        ["LinearColumns", "QuantileHinges", "QueryContext", "QueryScaler", "TableEncoder"],
        "transformer",
    ),
}


def test_all_rankers_are_those_that_are_public():
    classes = {
        value.__name__
        for _, value in public_objects()
        if inspect.isclass(value) and issubclass(value, BaseEstimator)
    }
    assert {name for name, _ in all_rankers()} == classes - set(NO_RANKERS)
    assert set(NO_RANKERS) <= classes, "what is no longer public needs no reason"


#: Rankers of papers, which are in ``skcalrank.rankers``.
IN_THEIR_ROOM = {
    *("DifferenceGraphRanker", "LeastSquaresPairRanker", "PairwiseHingeRanker"),
    *("StochasticAggregatedRanker", "ValueRegularizedRanker"),
}


def test_top_level_holds_what_most_programs_need():
    names = {name for name, _ in all_rankers()} - IN_THEIR_ROOM
    assert names <= set(skcalrank.__all__)
    assert not IN_THEIR_ROOM & set(skcalrank.__all__)
    assert list(skcalrank.__all__) == sorted(skcalrank.__all__)
    assert len(skcalrank.__all__) <= 45
