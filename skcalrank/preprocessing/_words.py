"""Columns of text as numbers: frequent words as flags, and directions of all words."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from ..columns.types import Floats, Ints, Self

# Number of frequent words with a column each, and of columns that all words share. Flags find a
# word that matters by itself, and directions find that many words do.
_N_FLAGS, _N_DIRECTIONS = 20, 10

# A word of one text says nothing of other texts. More words than these change little.
_MIN_TEXTS, _MAX_WORDS = 2, 2000

# Texts with fewer words in the mean are not split by blanks, and are read by their letters.
_ENOUGH_WORDS = 1.5

_WORD = re.compile(r"[^\W_]+")


class Words:
    """A fitted reader of texts, which describes a text by its words.

    The most frequent words of `fit` have a column each, which is 1 if the text has the word and 0
    if not. The other columns are the coordinates of the text in the directions of a truncated
    singular value decomposition: texts with words that occur together are close. A word counts
    once in a text, by its inverse document frequency, and the weights of a text have norm 1. A
    missing text is NaN in all columns.

    Texts without blanks are read by pairs and triples of neighboring letters in place of words.

    * `rows`: row of `table` for each word. The first words have flags.
    * `n_flags`: number of words with flags.
    * `by_letters`: whether letters take the place of words.
    * `table` (n_words, n_directions + 1): coordinates of each word, times its inverse document
      frequency, and last the square of this: of the norm of a text that has one word.
    """

    def __init__(self, rows: dict[str, int], n_flags: int, by_letters: bool, table: Floats) -> None:
        self.rows, self.n_flags, self.by_letters, self.table = rows, n_flags, by_letters, table

    @classmethod
    def fit(cls, values: Sequence[str], counts: Ints | None = None) -> Self:
        """Return the reader that suits texts.

        * `values`: texts, of which none is missing.
        * `counts` (n_values,): how often each text occurs. None means once.

        Returns `words`: without columns if no word occurs in two texts.
        """
        counts = np.ones(len(values), dtype=np.intp) if counts is None else counts
        texts = list(map(words_of, values))
        by_letters = bool(np.dot(counts, list(map(len, texts))) < _ENOUGH_WORDS * counts.sum())
        if by_letters:
            texts = list(map(letters_of, values))
        number: Counter[str] = Counter()
        for text, count in zip(texts, counts.tolist()):
            for word in text:
                number[word] += count
        by_number = sorted(number, key=lambda word: (-number[word], word))
        kept = [word for word in by_number[:_MAX_WORDS] if number[word] >= _MIN_TEXTS]
        rows = {word: row for row, word in enumerate(kept)}
        idf = np.log((1 + counts.sum()) / (1 + np.array([number[word] for word in kept]))) + 1
        n_flags, directions = min(len(rows), _N_FLAGS), np.empty((len(rows), 0))
        if len(rows) > n_flags:
            directions = _directions(texts, counts, rows, idf)
        table = np.column_stack([directions * idf[:, None], idf**2])
        return cls(rows, n_flags, by_letters, table)

    @property
    def n_outputs(self) -> int:
        """Number of columns."""
        return self.n_flags + self.table.shape[1] - 1

    def outputs(self, name: str) -> list[str]:
        """Return the names of the columns, such as ``title=new`` and ``title_words1``."""
        flags = [f"{name}={word}" for word in list(self.rows)[: self.n_flags]]
        return [*flags, *(f"{name}_words{k + 1}" for k in range(self.table.shape[1] - 1))]

    def read(self, values: Sequence[str | None]) -> Floats:
        """Return the numbers of texts, of which each depends on its own text alone."""
        split, row_of = letters_of if self.by_letters else words_of, self.rows.get
        first, missing = [0], []
        known: list[int] = []
        for number, text in enumerate(values):
            if text is None:
                missing.append(number)
            else:
                known += [row for row in map(row_of, split(text)) if row is not None]
            first.append(len(known))
        words = np.array(known, dtype=np.intp)
        out = np.zeros((len(values), self.n_outputs))
        is_flag = words < self.n_flags
        out[np.repeat(np.arange(len(values)), np.diff(first))[is_flag], words[is_flag]] = 1.0
        # The product adds the words of a text in their order, whatever the other texts.
        texts = csr_array((np.ones(len(words)), words, first), shape=(len(values), len(self.table)))
        *_, squares = (sums := texts @ self.table).T
        out[:, self.n_flags :] = (
            sums[:, :-1] / np.sqrt(np.where(squares > 0, squares, 1.0))[:, None]
        )
        out[missing] = np.nan
        return out


def words_of(text: str) -> dict[str, None]:
    """Return the words of a text in lower case, each once, in their order."""
    return dict.fromkeys(_WORD.findall(text.lower()))


def letters_of(text: str) -> dict[str, None]:
    """Return the pairs and triples of neighboring letters in the words of a text."""
    words = words_of(text)
    return dict.fromkeys(
        word[start : start + n]
        for n in (2, 3)
        for word in words
        for start in range(len(word) - n + 1)
    )


def _directions(
    texts: list[dict[str, None]], counts: Ints, rows: dict[str, int], idf: Floats
) -> Floats:
    """Return coordinates of words in which texts with the same words are close."""
    vectorizer = TfidfVectorizer(analyzer=list, vocabulary=rows)
    vectorizer.idf_ = idf
    weights = vectorizer.transform(texts)
    weights.data *= np.sqrt(counts).repeat(np.diff(weights.indptr))
    return TruncatedSVD(_N_DIRECTIONS, random_state=0).fit(weights).components_.T
