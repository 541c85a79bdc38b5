"""What is private in scikit-learn's trees is read where it is, or its public methods take over."""

import numpy as np
import pytest
from boosting_cases import pickled
from tables import FORMS, labels, made_columns

from skcalrank import BoostedRanker
from skcalrank.trees._histograms import _FIELDS, _NAMES

# Without these the trees are not known; the others are read for small files and small requests.
NEEDED = {"rounds", "reader", "nodes", "raw"}

COLUMNS = made_columns(600)
TABLE, (Y, QID) = FORMS["records"](COLUMNS), labels(COLUMNS)


def results():
    """What a ranker returns that needs no knowledge of the trees, for many rows and for few."""
    ranker = BoostedRanker(engine="sklearn", n_estimators=12, n_iter_no_change=4, n_jobs=1)
    ranker.fit(TABLE, Y, QID)
    assert ranker.best_iteration_ < 12  # later rounds do not count
    out = [ranker.best_iteration_, ranker.validation_scores_]
    for read in (ranker, pickled(ranker)):
        stages = list(read.staged_predict(TABLE, QID))
        assert len(stages) == ranker.best_iteration_
        out += [read.predict(TABLE, QID), read.predict(TABLE[:23], QID[:23]), stages]
    return ranker, out


@pytest.fixture(scope="module")
def expected():
    ranker, out = results()
    return out, ranker.contributions(TABLE), ranker.feature_importances_


@pytest.mark.parametrize("what", _NAMES)
def test_scores_are_equal_without_what_is_private(what, expected, monkeypatch):
    monkeypatch.setitem(_NAMES, what, "_gone")
    ranker, out = results()
    for value, other in zip(out, expected[0], strict=True):
        np.testing.assert_array_equal(value, other)
    if what in NEEDED:
        for explain in (lambda: ranker.contributions(TABLE), lambda: ranker.feature_importances_):
            with pytest.raises(ValueError, match="of a version of scikit-learn that is known"):
                explain()
    else:
        np.testing.assert_allclose(ranker.contributions(TABLE), expected[1], rtol=0, atol=1e-14)
        np.testing.assert_array_equal(ranker.feature_importances_, expected[2])


def test_scores_are_equal_without_a_field_of_nodes(expected, monkeypatch):
    monkeypatch.setattr("skcalrank.trees._histograms._FIELDS", {*_FIELDS, "gone"})
    ranker, out = results()
    for value, other in zip(out, expected[0], strict=True):
        np.testing.assert_array_equal(value, other)
    with pytest.raises(ValueError, match="of a version of scikit-learn that is known"):
        ranker.contributions(TABLE)


def test_a_fitted_regressor_is_one_of_scikit_learn_alone():
    ranker, _ = results()
    for read in (ranker, pickled(ranker)):
        held = {type(value).__module__.partition(".")[0] for value in vars(read.booster_).values()}
        assert "skcalrank" not in held
        rows = np.zeros((3, ranker.booster_.n_features_in_))
        np.testing.assert_array_equal(read.booster_.predict(rows), ranker.booster_.predict(rows))
