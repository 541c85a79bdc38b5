"""Texts read by their words."""

import pickle

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from skcalrank.preprocessing._words import Words

# Cases are kinds of values, of which each has lines of its own.
pytestmark = pytest.mark.every_case

PATTERN = r"[^\W_]+"


def titles(n_rows, n_words=200, seed=0):
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, n_words + 1)
    words = rng.choice(n_words, size=(n_rows, 7), p=chances / chances.sum())
    lengths = rng.integers(1, 8, n_rows)
    return [" ".join(f"Wört{k}" for k in row[:n]) for row, n in zip(words, lengths)]


@pytest.fixture
def texts():
    return titles(300)


def test_directions_are_those_of_scikit_learn(texts):
    words = Words.fit(texts)
    weights = TfidfVectorizer(token_pattern=PATTERN, binary=True, vocabulary=words.rows).fit(texts)
    n_directions = words.n_outputs - words.n_flags
    reduced = TruncatedSVD(n_directions, random_state=0).fit(weights.transform(texts))
    for rows in (texts, titles(200, n_words=300, seed=1)):
        np.testing.assert_allclose(
            words.read(rows)[:, words.n_flags :],
            reduced.transform(weights.transform(rows)),
            rtol=1e-12,
            atol=1e-12,
        )


def test_words_are_those_of_two_texts(texts):
    several = CountVectorizer(token_pattern=PATTERN, min_df=2).fit(texts)
    assert set(Words.fit(texts).rows) == set(several.vocabulary_)
    assert len(several.vocabulary_) < len({word for text in texts for word in text.split()})


def test_the_most_frequent_words_have_flags(texts):
    counts = CountVectorizer(token_pattern=PATTERN, binary=True)
    has_word = counts.fit_transform(texts).toarray()
    words = Words.fit(texts)
    flags = list(words.rows)[: words.n_flags]
    assert words.outputs("title")[: words.n_flags] == [f"title={word}" for word in flags]
    columns = [counts.vocabulary_[word] for word in flags]
    np.testing.assert_array_equal(words.read(texts)[:, : words.n_flags], has_word[:, columns])
    number = has_word.sum(axis=0)
    assert number[columns].min() >= np.delete(number, columns).max()


def test_a_text_is_read_the_same_alone_and_in_any_batch(texts):
    words = Words.fit(texts)
    out = words.read(texts)
    alone = np.vstack([words.read([text]) for text in texts])
    np.testing.assert_array_equal(alone, out)
    np.testing.assert_array_equal(words.read(texts[::-1]), out[::-1])


def test_the_order_of_words_does_not_matter(texts):
    words = Words.fit(texts)
    parts = words.read(["wört7 wört1 wört3", "wört1 wört3 wört7"])
    np.testing.assert_allclose(parts[0], parts[1], rtol=1e-12)


@pytest.mark.parametrize("same", ["WÖRT1 wört2", "wört1, (wört2)!", "wört1_wört2", "wört1 ☃ wört2"])
def test_case_and_punctuation_do_not_matter(texts, same):
    words = Words.fit(texts)
    np.testing.assert_array_equal(words.read([same]), words.read(["wört1 wört2"]))


def test_a_word_counts_once(texts):
    words = Words.fit(texts)
    np.testing.assert_array_equal(words.read(["wört1 wört1"]), words.read(["wört1"]))


def test_missing_is_nan_and_unknown_is_zero(texts):
    words = Words.fit(texts)
    out = words.read([None, "", "unknown", texts[0], None])
    assert np.isnan(out[[0, 4]]).all()
    np.testing.assert_array_equal(out[1:3], np.zeros((2, words.n_outputs)))
    np.testing.assert_array_equal(out[3], Words.fit(texts).read(texts[:1])[0])


def test_few_words_have_flags_alone():
    words = Words.fit(["red shirt", "blue shirt", "red hat"])
    assert words.outputs("title") == ["title=red", "title=shirt"]
    np.testing.assert_array_equal(words.read(["Red shirt", "blue"]), [[1.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("texts", [[], ["", "?!"], ["each", "once"]])
def test_without_common_words_there_are_no_columns(texts):
    words = Words.fit(texts)
    assert words.outputs("title") == []
    assert words.read(["once", None]).shape == (2, 0)


def test_texts_without_blanks_are_read_by_their_letters(texts):
    glued = [text.replace(" ", "") for text in texts]
    words = Words.fit(glued)
    pairs_and_triples = {"analyzer": "char", "ngram_range": (2, 3), "binary": True}
    weights = TfidfVectorizer(**pairs_and_triples, vocabulary=words.rows).fit(glued)
    n_directions = words.n_outputs - words.n_flags
    reduced = TruncatedSVD(n_directions, random_state=0).fit(weights.transform(glued))
    np.testing.assert_allclose(
        words.read(glued)[:, words.n_flags :],
        reduced.transform(weights.transform(glued)),
        rtol=1e-12,
        atol=1e-12,
    )
    several = CountVectorizer(**pairs_and_triples, min_df=2).fit(glued)
    assert set(words.rows) == set(several.vocabulary_)


def test_letters_are_those_within_words():
    words = Words.fit(["ab/cab", "ab", "ca"])
    assert words.outputs("x") == ["x=ab", "x=ca"]
    np.testing.assert_array_equal(
        words.read(["CAB", "c/ab", "a", ""]), [[1, 1], [1, 0], [0, 0], [0, 0]]
    )


def test_pickle(texts):
    words = Words.fit(texts)
    again = pickle.loads(pickle.dumps(words))
    np.testing.assert_array_equal(again.read(texts), words.read(texts))
    assert again.outputs("x") == words.outputs("x")


def test_counts_stand_for_repeated_texts(texts):
    # More texts than words, of which all have a direction: no rounding of small ones.
    distinct = titles(60, n_words=12, seed=2)
    distinct += [f"{text} and {k} more" for k, text in enumerate(titles(60, n_words=12, seed=3))]
    counts = np.random.default_rng(0).integers(1, 4, len(distinct))
    words, repeated = Words.fit(distinct, counts), Words.fit(np.repeat(distinct, counts).tolist())
    assert words.rows == repeated.rows
    np.testing.assert_allclose(words.read(texts), repeated.read(texts), rtol=1e-6, atol=1e-6)
