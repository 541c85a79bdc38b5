"""Law: a public call validates each of its arguments once, below the door nothing is checked."""

import sys
from collections import Counter

import numpy as np
import pytest
import sklearn.utils.validation as of_sklearn
from cases import every_ranker, labels_for

from skcalrank import BoostedRanker, StackingRanker, load_digits_queries
from skcalrank.columns import arrays
from skcalrank.data import check, check_qid

# Functions that validate their first argument; a call of one by another is no second check.
DOORS = {
    of_sklearn.check_array.__code__: "check_array",
    arrays.checked.__code__: "checked_array",
    check_qid.__code__: "check_qid",
}

# Tells whether a small request is read as it is, without the others.
SMALL = check._as_expected.__code__

# Why an argument is validated again: trees of scikit-learn and rankers of any library read X by
# themselves, and a qid is compared with the one that y carries.
VALIDATED_AGAIN = {
    ("BoostedRanker", "sklearn"): "X",
    ("StackingRanker", None): "X",
    ("MultiLabelRanker", None): "qid",
}

# Boosted members are rankers, which validate the weights that they are given: the same array where
# queries come sorted and nothing is copied.
VALIDATED_BY_MEMBERS = {"TabularRanker": "sample_weight"}

# Targets are validated when they are made.
VALIDATED_BEFORE = {"MultiLabelRanker": ("y", "targets")}

RANKERS = [*every_ranker(), BoostedRanker(engine="sklearn", n_estimators=2), StackingRanker()]


def checks_of(call, **arguments):
    """Return how often each argument was validated in a call, by name."""
    names = {id(value): name for name, value in arguments.items()}
    counts, open_frames = Counter(), []

    def trace(frame, event, value):
        if event == "return" and frame.f_code is SMALL and value is not None:
            counts[names.get(id(frame.f_locals["X"]))] += not open_frames
        if event == "call" and frame.f_code in DOORS:
            first = frame.f_locals[frame.f_code.co_varnames[0]]
            if not open_frames:
                counts[names.get(id(first))] += 1
            open_frames.append(frame)
        elif event == "return" and open_frames and frame is open_frames[-1]:
            open_frames.pop()

    sys.setprofile(trace)
    try:
        call(**arguments)
    finally:
        sys.setprofile(None)
    return {name: counts[name] for name in arguments}


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_each_argument_is_validated_once(ranker):
    X, y, qid = load_digits_queries(n_queries=12, n_documents=8)
    X, y = X + 0.5, (y > 0) * 1.0
    y, weight = labels_for(ranker, y, qid), np.linspace(1.0, 2.0, len(X))
    fitted = ranker.fit(X, y, qid, weight)
    calls = {
        "fit": (fitted.fit, {"X": X, "y": y, "qid": qid, "sample_weight": weight}),
        "predict": (fitted.predict, {"X": X, "qid": qid}),
        "rank": (fitted.rank, {"X": X, "qid": qid}),
        "top_k": (fitted.top_k, {"X": X, "qid": qid}),
        "score": (fitted.score, {"X": X, "y": y, "qid": qid, "sample_weight": weight}),
    }
    if hasattr(fitted, "fit_targets"):
        targets = {"X": X, "targets": y, "qid": qid, "sample_weight": weight}
        calls["fit_targets"] = (fitted.fit_targets, targets)
    name = type(ranker).__name__
    again = VALIDATED_AGAIN.get((name, getattr(ranker, "engine", None)))
    n_members = np.count_nonzero(fitted.weights_) if name == "StackingRanker" else 1
    before = VALIDATED_BEFORE.get(name, ())
    for method, (call, arguments) in calls.items():
        counts = checks_of(call, **arguments)
        if method.startswith("fit") and name in VALIDATED_BY_MEMBERS:
            counts[VALIDATED_BY_MEMBERS[name]] -= 2  # two boosted members
        if not method.startswith("fit"):
            counts.update({again: 1} if counts.get(again) == 1 + n_members else {})
        assert counts == {name: int(name not in before) for name in arguments}, method
