"""Ranking data from files of several formats, in chunks of whole queries."""

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

from ..data import CHUNK_ROWS, WHOLE_BYTES
from ..datasets import (
    OPENERS,
    Columns,
    Form,
    read_chunks,
    read_table,
    table_format,
)
from ._terminal import say

LETOR = "wanted are lines 'relevance qid:Q feature:value ...' with features from 1"

# A compressed file counts as so many times its size.
RATIO = 8

_DOCUMENT = re.compile(rb"#.*?\bdocid\s*=\s*(\S+)")


class Part(NamedTuple):
    """Rows of whole queries."""

    X: Any  # a DataFrame where features have names
    y: np.ndarray | None
    qid: np.ndarray
    documents: list[str]  # names, else the numbers of the rows in the file, from 1


class Reader:
    """Read the rows of a file, as the options of the command line say.

    The features are those of `model`. Without a model they are the columns `names` of a table, or
    the first `n_features` of LETOR lines. With `labels` a table without labels is an error; with
    `whole` there is one part of all rows, however large the file. Features that are missing are an
    error unless all `rankers` take them.
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
    ):
        self.path, self.dtype, self.documents = Path(path), np.dtype(args.dtype), documents
        self.chunk_rows = None if whole else args.chunk_rows
        self.table = table_format(self.path)
        names = getattr(model, "feature_names_in_", names)
        if names is not None and len(names) and self.table is None:
            raise ValueError(
                f"{path} has numbered features, and those learnt from have names "
                f"({', '.join(map(str, names[:5]))}, ...): give a table with these columns"
            )
        features = None if names is None else list(names)
        self.columns = Columns(
            args.qid_column, args.label_column, args.doc_column, features, labels
        )
        self.n_features = getattr(model, "n_features_in_", n_features)
        self._named = model is None or names is not None
        self._whole = whole
        self._refusing = next((r for r in (model, *rankers) if not _takes_missing(r)), None)

    def __iter__(self) -> Iterator[Part]:
        n_rows, start = 0, time.perf_counter()
        with reading(self.path, "" if self.table else LETOR):
            for part, places in self._table() if self.table else self._letor():
                self._check_missing(part.X, places)
                n_rows += len(part.qid)
                rate = n_rows / max(time.perf_counter() - start, 1e-9)
                say(f"reading {self.path}: {n_rows:,} rows, {rate:,.0f} rows/s")
                yield part

    def _rows_at_a_time(self):
        if self._whole or self.chunk_rows is not None:
            return self.chunk_rows
        packed = self.path.suffix in OPENERS or (self.table is not None and self.table.packed)
        size = self.path.stat().st_size * (RATIO if packed else 1)
        return None if size <= WHOLE_BYTES else CHUNK_ROWS

    def _letor(self):
        form, first = Form(self.n_features, self.dtype), 1
        chunk_rows = self._rows_at_a_time() or sys.maxsize
        for (X, y, qid), lines in read_chunks(self.path, form, chunk_rows):
            yield Part(X, y, qid, _documents(lines, first) if self.documents else [])
            first += len(y)

    def _table(self):
        names, parts = read_table(
            self.path, self.columns, chunk_rows=self._rows_at_a_time(), dtype=self.dtype
        )
        from pandas import DataFrame

        first = 1
        for X, y, qid, documents in parts:
            if documents is None:
                documents = np.full(len(qid), None)
            found = [str(n if d is None else d) for n, d in enumerate(documents, first)]
            yield Part(DataFrame(X, columns=names) if self._named else X, y, qid, found)
            first += len(qid)


def _documents(lines, first):
    """Names of documents from comments of LETOR, else the numbers of the rows."""
    found = (_DOCUMENT.search(line) for line in lines)
    return [m[1].decode() if m else str(number) for number, m in enumerate(found, first)]


@contextmanager
def reading(path, wanted=LETOR):
    """Turn errors of reading a file into a ValueError that names it."""
    say(f"reading {path}")
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, EOFError, LZMAError, zlib.error) as error:
        reason = textwrap.shorten(str(error), 300)
        raise ValueError(f"cannot read {path}: {reason}{wanted and f' ({wanted})'}") from error
    finally:
        say("")
