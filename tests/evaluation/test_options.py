"""Options as one value, and as keywords, their shorthand."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from skcalrank import DCGRanker, NDCGRanker
from skcalrank.evaluation import (
    Methods,
    Policies,
    compare,
    compare_values,
    cross_compare,
    evaluate_run,
)

METHODS = {
    "test": "permutation",
    "interval": "bootstrap-t",
    "confidence_level": 0.8,
    "correction": "bh",
    "pairs": "all",
    "n_resamples": 50,
    "random_state": 1,
}
OF_FOLDS = {"confidence_level": 0.8, "correction": None, "pairs": "all"}
POLICIES = {"ties": "stable", "empty": "zero", "relevance_level": 1}
RUN = {"q": {"a": 2, "b": 2}, "r": {"a": 1}}
QRELS = {"q": {"a": 1, "b": 2}, "r": {"a": 0}}


def problem():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 3)), rng.integers(0, 2, 80), np.repeat(np.arange(20), 4)


def call_compare(**options):
    X, y, qid = problem()
    systems = {"a": X[:, 0], "b": X[:, 1].round(), "c": X[:, 2]}
    return compare(y, systems, ["map"], qid=qid, **options)


def call_values(**options):
    X, *_ = problem()
    return compare_values({"a": {"m": X[:, 0]}, "b": {"m": X[:, 1]}}, **options)


def call_cross(**options):
    X, y, qid = problem()
    rankers = {"a": NDCGRanker(), "b": NDCGRanker(alpha=1e6), "c": DCGRanker(gain="linear")}
    return replace(cross_compare(rankers, X, y, qid, ["ndcg@2"], **options), fit_times=None)


def call_run(**options):
    return evaluate_run(qrels=QRELS, run=RUN, measures=["map"], average=False, **options)


def call_run_with_judge(**options):
    return evaluate_run(qrels=QRELS, run=RUN, measures=["map"], judge=QRELS, **options)


def seen(result):
    """Return what a result holds, all numbers in full, as text."""
    return f"{vars(result)} {result}"


@pytest.mark.parametrize(
    ("call", "methods", "policies"),
    [
        (call_compare, METHODS, POLICIES),
        (call_compare, {"tail": 0.97, "margin": 0.5}, {"empty": "one"}),
        (call_values, METHODS, {}),
        (call_cross, OF_FOLDS, {"empty": "one"}),
        (call_run, {}, POLICIES | {"relevance_level": 2}),
        (call_run, {}, {"empty": "skip"}),
    ],
)
def test_keywords_are_shorthand(call, methods, policies):
    values = {"methods": Methods(**methods)} if methods else {}
    values |= {"policies": Policies(**policies)} if policies else {}
    expected = seen(call(**methods, **policies))
    assert seen(call(**values)) == expected
    assert seen(call(**values, **methods, **policies)) == expected
    assert seen(call()) != expected


@pytest.mark.parametrize(
    ("call", "options", "words"),
    [
        (
            call_values,
            {"methods": Methods(), "test": "wilcoxon"},
            "methods must agree with .* test, got",
        ),
        (
            call_cross,
            {"policies": Policies(empty="one"), "empty": "zero"},
            "policies must agree with .* empty",
        ),
        (
            call_run,
            {"policies": Policies(empty="one"), "ties": "trec"},
            "policies must agree with .* ties",
        ),
        (call_compare, {"methods": "t"}, r"methods must be Methods\(...\) or None, got 't'"),
        (call_run, {"policies": Methods()}, r"policies must be Policies\(...\) or None, got Meth"),
        (call_values, {"ties": "average"}, "Unexpected keyword argument 'ties'"),
        (call_run, {"test": "t"}, "Unexpected keyword argument 'test'"),
        (call_compare, {"ties": "trec"}, "ties must be one of 'average', 'stable', .* got 'trec'"),
        (call_run, {"ties": "worst"}, "ties must be one of 'trec', .* got 'worst'"),
        (call_cross, {"test": "wilcoxon"}, "must be left out of cross_compare"),
        (
            call_cross,
            {"methods": Methods(interval="bootstrap-t")},
            "test, interval and tail must be",
        ),
        (call_cross, {"tail": 0.1}, "test, interval and tail must be"),
        (call_compare, {"empty": "nan"}, "empty must be one of 'skip', 'zero', .* got 'nan'"),
        (call_cross, {"empty": "nan"}, "empty must be one of 'skip', 'zero', .* got 'nan'"),
        (
            call_run_with_judge,
            {"empty": "nan"},
            "empty must be one of 'skip', 'zero', .* got 'nan'",
        ),
    ],
)
def test_what_contradicts_is_refused(call, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call(**options)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Methods, {"confidence_level": 1}),
        (Methods, {"tail": 0}),
        (Methods, {"margin": -1}),
        (Methods, {"correction": "max-t"}),
        (Methods, {"random_state": -1}),
        (Methods, {"random_state": "0"}),
        (Policies, {"ties": "no"}),
        (Policies, {"empty": "no"}),
        (Policies, {"relevance_level": "1"}),
        (Policies, {"relevance_level": np.inf}),
    ],
)
def test_a_value_checks_its_fields(kind, options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must "):
        kind(**options)


@pytest.mark.parametrize(
    ("kind", "change"), [(Methods, {"test": "t"}), (Policies, {"empty": "one"})]
)
def test_values_do_not_change(kind, change):
    ((name, value),) = change.items()
    with pytest.raises(FrozenInstanceError):
        setattr(kind(), name, value)
    assert kind(**change) == kind(**change)
