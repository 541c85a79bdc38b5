"""Read ranking data from files of several formats, in chunks of whole queries."""

from __future__ import annotations

import re
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import get_tags

from ..data import CHUNK_ROWS, WHOLE_BYTES
from ..datasets import OPENERS, Columns, Form, read_chunks, read_frame, read_table, table_format
from ..pipeline import QueryPipeline
from ._terminal import say

LETOR = "expected lines 'relevance qid:Q feature:value ...' with features from 1"

# Assumed ratio of the sizes of a file and of its compressed form.
RATIO = 8

_DOCUMENT = re.compile(rb"#.*?\bdocid\s*=\s*(\S+)")


class Part(NamedTuple):
    """Rows of whole queries."""

    X: Any  # a DataFrame where features have names
    y: np.ndarray | None
    qid: np.ndarray
    documents: list[str]  # names, else the numbers of the rows in the file, from 1
    categories: list[str] = []  # columns of X that hold text


class Reader:
    """Read the rows of a file, as the options of the command line say.

    The features are those of `model`. Without a model they are the columns `names` of a table, or
    the first `n_features` of LETOR lines. With `labels` a table without labels is an error; with
    `whole` there is one part of all rows, however large the file. A feature that is missing is an
    error unless the model, or all `rankers`, take it. Columns named in `categories` hold text;
    with None these are found in a table that is read whole.
    """

    def __init__(
        self,
        path,
        args,
        *,
        model=None,
        labels=True,
        documents=False,
        whole=False,
        names=None,
        n_features=None,
        rankers=(),
        categories=(),
    ):
        self.path, self.dtype, self.documents = Path(path), np.dtype(args.dtype), documents
        self.chunk_rows = None if whole else args.chunk_rows
        self.table = table_format(self.path)
        names = getattr(model, "feature_names_in_", names)
        if names is not None and len(names) and self.table is None:
            raise ValueError(
                f"{path} has numbered features, but the model was fitted to named ones "
                f"({', '.join(map(str, names[:5]))}, ...): give a table with these columns"
            )
        features = None if names is None else list(names)
        self.columns = Columns(
            args.qid_column, args.label_column, args.doc_column, features, labels
        )
        self.n_features = getattr(model, "n_features_in_", n_features)
        self._named = model is None or names is not None
        self._categories = categories
        self._whole, self._rankers, self._n_bytes = whole, (*rankers, model), 0

    def __iter__(self) -> Iterator[Part]:
        n_rows, start = 0, time.perf_counter()
        with reading(self.path, "" if self.table else LETOR):
            for part in self._table() if self.table else self._letor():
                n_rows += len(part.qid)
                seconds = max(time.perf_counter() - start, 1e-9)
                progress = f"{self._share(n_rows, seconds)}, {n_rows / seconds:,.0f} rows/s"
                say(f"reading {self.path}: {n_rows:,} rows{progress}")
                yield part

    def _share(self, n_rows, seconds) -> str:
        """Say how much of the file has been read, and the time left, if its size is known."""
        if self.table is not None and self.table.n_rows is not None:
            share = n_rows / self.table.n_rows(self.path)
        elif self.table is not None or self.path.suffix in OPENERS:
            return ""
        else:
            share = self._n_bytes / self.path.stat().st_size
        return f" ({share:.0%} of the file, {seconds * (1 / share - 1):,.0f} s left)"

    def _rows_at_a_time(self):
        if self._whole or self.chunk_rows is not None:
            return self.chunk_rows
        packed = self.path.suffix in OPENERS or (self.table is not None and self.table.packed)
        size = self.path.stat().st_size * (RATIO if packed else 1)
        return None if size <= WHOLE_BYTES else CHUNK_ROWS

    def _letor(self):
        form = Form(self.n_features, self.dtype, labelled=self.columns.labelled)
        first, chunk_rows = 1, self._rows_at_a_time() or sys.maxsize
        for (X, y, qid), rows in read_chunks(self.path, form, chunk_rows):
            self._n_bytes += rows.n_bytes
            documents = _documents(rows, first) if self.documents else []
            check_missing(X, self._rankers, rows.numbers, "line")
            yield Part(X, y, qid, documents)
            first += len(y)

    def _table(self):
        if self._categories or (self._categories is None and self._rows_at_a_time() is None):
            yield self._table_with_text()
            return
        names, parts = read_table(
            self.path, self.columns, chunk_rows=self._rows_at_a_time(), dtype=self.dtype
        )
        from pandas import DataFrame

        first = 1
        for X, y, qid, documents in parts:
            if documents is None:
                documents = np.full(len(qid), None)
            found = _named(documents, first)
            frame = DataFrame(X, columns=names)
            check_missing(frame, self._rankers, first)
            yield Part(frame if self._named else X, y, qid, found)
            first += len(qid)

    def _table_with_text(self) -> Part:
        """Read a table with columns of text, which are categories; all rows at once."""
        X, y, qid, documents = read_frame(
            self.path, self.columns, self._categories, dtype=self.dtype
        )
        categories = list(X.select_dtypes("category").columns)
        check_missing(X.drop(columns=categories), self._rankers, 1)
        return Part(X, y, qid, _named(documents, 1), categories)


def _named(documents, first) -> list[str]:
    return [str(n if d is None else d) for n, d in enumerate(documents, first)]


def check_missing(X, rankers, numbers, unit="row"):
    """Raise for the first missing feature, unless all rankers take missing features.

    `numbers` are the numbers of the rows, or the number of the first.
    """
    if all(_takes_missing(ranker) for ranker in rankers):
        return
    missing = np.argwhere(np.isnan(np.asarray(X)))
    if len(missing):
        row, column = missing[0]
        number = numbers + row if np.isscalar(numbers) else numbers[row]
        name = f"column {X.columns[column]!r}" if hasattr(X, "columns") else f"feature {column + 1}"
        raise ValueError(
            f"{unit} {number}, {name} has no value (nan): fill it in, or use auto or "
            "+trees (as in ndcg+trees), which take missing values"
        )


def has_missing(X) -> bool:
    """Return whether a feature that is a number is missing."""
    if hasattr(X, "select_dtypes"):
        X = X.select_dtypes("number")
    return bool(np.isnan(np.asarray(X, dtype=float)).any())


def _takes_missing(ranker) -> bool:
    if ranker is None:
        return True
    steps = ranker.named_steps.values() if isinstance(ranker, QueryPipeline) else (ranker,)
    # Steps without validation pass missing values on.
    tags = map(get_tags, steps)
    return all(tag.no_validation or tag.input_tags.allow_nan for tag in tags)


def _documents(rows, first):
    """Return names of documents from comments of LETOR lines, else the numbers of the rows."""
    names = []
    for number, (line_number, line) in enumerate(zip(rows.numbers, rows.lines), first):
        match = _DOCUMENT.search(line)
        try:
            names.append(match[1].decode() if match else str(number))
        except UnicodeDecodeError as error:
            raise ValueError(f"line {line_number}: the docid must be text in UTF-8") from error
    return names


@contextmanager
def reading(path, expected=LETOR):
    """Turn errors of reading a file into a ValueError that names it."""
    say(f"reading {path}")
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        reason = textwrap.shorten(str(error), 300)
        prefix = "" if reason.startswith("cannot read") else f"cannot read {path}: "
        raise ValueError(f"{prefix}{reason}{expected and f' ({expected})'}") from error
    finally:
        say("")
