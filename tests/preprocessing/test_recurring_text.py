"""Texts that recur keep their words, and have codes where they are names of things."""

import pickle

import numpy as np
import pytest

from skcalrank import BoostedRanker, TabularRanker
from skcalrank.data import UnseenLevelsWarning
from skcalrank.export import to_sql
from skcalrank.inspection import explain_scores
from skcalrank.preprocessing import LinearColumns, TableEncoder

N = 720
GENERATOR = np.random.default_rng(0)
WORDS = np.array([f"word{k}" for k in range(60)])
TITLES = [" ".join(GENERATOR.permutation(WORDS)[:4]) for _ in range(120)]
TABLE = [{"title": TITLES[k], "x": k % 7} for k in GENERATOR.integers(0, 120, N).tolist()]
TABLE[5]["title"] = None
QID = np.arange(N) // 8
Y = np.array(["word1" in (row["title"] or "").split() for row in TABLE]) * 2 + GENERATOR.integers(
    0, 2, N
)


def encoder_of(texts, **options):
    return TableEncoder(**options).fit([{"title": text} for text in texts])


def test_codes_come_before_the_words():
    encoder = TableEncoder(max_categories=100).fit(TABLE)
    assert encoder.kinds_ == {"title": "text", "x": "number"}
    assert encoder.categorical_ == [0]
    words, codes = (
        TableEncoder({"title": kind}, max_categories=100).fit(TABLE)
        for kind in ("text", "category")
    )
    expected = np.hstack([codes.transform(TABLE)[:, :1], words.transform(TABLE)])
    np.testing.assert_array_equal(encoder.transform(TABLE), expected)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["title", *words.get_feature_names_out()]
    assert len(names) == len(encoder.sources_) == 32
    new = encoder.transform([{"title": "word1 alone", "x": 1}])[0]
    assert new[0] == -1
    assert np.abs(new[1:31]).sum() > 0
    assert encoder.describe().splitlines()[0].endswith("text    30 columns of words, 120 levels")
    assert (words.categorical_, codes.kinds_["title"]) == ([], "category")


def test_the_kind_does_not_depend_on_the_number_of_rows():
    kinds = {encoder_of(TITLES * n).kinds_["title"] for n in (1, 4, 6, 20)}
    assert kinds == {"text"}
    # Up to a hundred levels say all that words do.
    assert encoder_of(TITLES[:100] * 6).kinds_ == {"title": "category"}


def test_texts_that_recur_by_chance_have_no_codes(rng):
    texts = [" ".join(rng.permutation(WORDS[:10])[:3]) for _ in range(5000)]
    encoder = encoder_of(texts)
    assert (encoder.kinds_["title"], encoder.categorical_) == ("text", [])


def test_texts_of_which_most_would_be_rare_have_no_codes():
    assert encoder_of(TITLES * 6, max_categories=50).categorical_ == []


def test_what_was_fitted_is_kept():
    encoder = TableEncoder().fit(TABLE)
    written = encoder.to_dicts()
    for kept in (pickle.loads(pickle.dumps(encoder)), TableEncoder.from_dicts(written)):
        np.testing.assert_array_equal(kept.transform(TABLE), encoder.transform(TABLE))
        assert kept.categorical_ == [0]
    # Words alone were written without levels.
    older = [{k: v for k, v in part.items() if k not in ("levels", "rare")} for part in written]
    assert TableEncoder.from_dicts(older).categorical_ == []


def test_text_without_a_common_word_is_kept():
    table = [{"title": title, "price": price} for price, title in enumerate("abca")]
    encoder = TableEncoder({"title": "text"}).fit(table)
    kept = TableEncoder.from_dicts(encoder.to_dicts())
    assert kept.kinds_ == {"title": "text", "price": "number"}
    np.testing.assert_array_equal(kept.transform(table), encoder.transform(table))


def test_linear_columns_have_indicators_of_levels_and_words():
    names = LinearColumns(max_categories=20).fit(TABLE).get_feature_names_out().tolist()
    assert len(names) == 21 + 30 + 1
    assert names[:1] == [f"title_{TableEncoder().fit(TABLE).categories_[0].levels[0]}"]
    assert names[19:21] == ["title_rare", "title_missing"]


def test_trees_read_codes_as_categories():
    trees = BoostedRanker(n_estimators=3, interaction_cst="no_interactions", random_state=0)
    trees.fit(TABLE, Y, QID)
    assert trees.categorical_features_ == [0]


def test_a_stack_explains_the_column_and_refuses_sql():
    ranker = TabularRanker(trees=None, random_state=0).fit(TABLE, Y, QID)
    explained = explain_scores(ranker, TABLE, QID)
    assert explained.contributions.shape == (N, 2)
    np.testing.assert_allclose(explained.scores, ranker.predict(TABLE, QID), atol=1e-9)
    with pytest.raises(ValueError, match=r"got 'title' \(text\)"):
        to_sql(ranker, table="t", qid="q")


def test_a_column_of_new_texts_warns():
    encoder = TableEncoder().fit(TABLE)
    with pytest.warns(UnseenLevelsWarning, match="'title' of X must have levels that fit has seen"):
        encoder.transform([{"title": text.upper(), "x": 1} for text in TITLES])
