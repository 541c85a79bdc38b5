"""Read data, scores and models from files of several formats, and write files."""

import os
import re
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.utils import get_tags

from .. import datasets
from ..data import CHUNK_ROWS, WHOLE_BYTES
from ..metrics import predict_with_queries
from ..persistence import complete_file, load_model, read_header
from ._rankers import steps_of
from ._text import say

LETOR = "expected lines 'relevance qid:Q feature:value ...' with features from 1"

# Assumed ratio of the sizes of a file and of its compressed form.
RATIO = 8

_DOCUMENT = re.compile(rb"#.*?\bdocid\s*=\s*(\S+)")


class Chunk(NamedTuple):
    """Rows of whole queries."""

    data: datasets.RankingData  # X is a DataFrame where features have names
    documents: list[str]  # names, else the numbers of the rows in the file, from 1
    categories: list[str]  # columns of X that hold text


class Reader:
    """Read the rows of a file, as the options of the command line say.

    The features are those of `model`. Without a model they are the columns `names` of a table, or
    the first `n_features` of LETOR lines. With `labels` a table without labels is an error; with
    `whole` there is one chunk of all rows, however large the file. A feature that is missing is an
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
        self.table = datasets.table_format(self.path)
        names = getattr(model, "feature_names_in_", names)
        if names is not None and len(names) and self.table is None:
            raise ValueError(
                f"{path} has numbered features, but the model was fitted to named ones "
                f"({', '.join(map(str, names[:5]))}, ...): give a table with these columns"
            )
        features = None if names is None else list(names)
        roles = args.qid_column, args.label_column, args.doc_column
        self.columns = datasets.Columns(*roles, features, labels)
        self.n_features = getattr(model, "n_features_in_", n_features)
        self._named = model is None or names is not None
        self._categories = categories
        self._whole, self._rankers, self._n_bytes = whole, (*rankers, model), 0

    def __iter__(self) -> Iterator[Chunk]:
        n_rows, start = 0, time.perf_counter()
        with reading(self.path, "" if self.table else LETOR):
            for chunk in self._table() if self.table else self._letor():
                n_rows += len(chunk.data.qid)
                seconds = max(time.perf_counter() - start, 1e-9)
                progress = f"{self._share(n_rows, seconds)}, {n_rows / seconds:,.0f} rows/s"
                say(f"reading {self.path}: {n_rows:,} rows{progress}")
                yield chunk

    def _share(self, n_rows, seconds) -> str:
        """Say how much of the file has been read, and the time left, if its size is known."""
        if self.table is not None and self.table.n_rows is not None:
            share = n_rows / self.table.n_rows(self.path)
        elif self.table is not None or self.path.suffix in datasets.OPENERS:
            return ""
        else:
            share = self._n_bytes / self.path.stat().st_size
        return f" ({share:.0%} of the file, {seconds * (1 / share - 1):,.0f} s left)"

    def _rows_at_a_time(self):
        if self._whole or self.chunk_rows is not None:
            return self.chunk_rows
        packed = self.table is not None and self.table.packed
        packed = packed or self.path.suffix in datasets.OPENERS
        size = self.path.stat().st_size * (RATIO if packed else 1)
        return None if size <= WHOLE_BYTES else CHUNK_ROWS

    def _letor(self):
        form = datasets.Form(self.n_features, self.dtype, labelled=self.columns.labelled)
        first, chunk_rows = 1, self._rows_at_a_time() or sys.maxsize
        for data, rows in datasets.read_chunks(self.path, form, chunk_rows):
            self._n_bytes += rows.n_bytes
            documents = _named(_documents(rows), first) if self.documents else []
            check_missing(data.X, self._rankers, rows.numbers, "line")
            yield Chunk(data, documents, [])
            first += len(data.y)

    def _table(self):
        first, chunk_rows = 1, self._rows_at_a_time()
        if self._categories or (self._categories is None and chunk_rows is None):
            # Columns of text become categories, for which all rows are read at once.
            X, y, qid, documents = datasets.read_frame(
                self.path, self.columns, self._categories, dtype=self.dtype
            )
            categories = list(X.select_dtypes("category").columns)
            check_missing(X.drop(columns=categories), self._rankers, 1)
            yield Chunk(datasets.RankingData(X, y, qid), _named(documents, 1), categories)
            return
        names, parts = datasets.read_table(
            self.path, self.columns, chunk_rows=chunk_rows, dtype=self.dtype
        )
        from pandas import DataFrame

        for X, y, qid, documents in parts:
            frame = DataFrame(X, columns=names)
            check_missing(frame, self._rankers, first)
            data = datasets.RankingData(frame if self._named else X, y, qid)
            yield Chunk(data, _named(documents, first), [])
            first += len(qid)


def _named(documents, first) -> list[str]:
    """Return the names of documents, or the numbers of rows without one."""
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
    # Steps without validation pass missing values on.
    tags = (get_tags(step) for _, step in steps_of(ranker))
    return all(tag.no_validation or tag.input_tags.allow_nan for tag in tags)


def _documents(rows):
    """Yield the names of documents in comments of LETOR lines, or None."""
    for number, line in zip(rows.numbers, rows.lines):
        match = _DOCUMENT.search(line)
        try:
            yield match and match[1].decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"line {number}: the docid must be text in UTF-8") from error


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


# -- scores and models -------------------------------------------------------------


def load_ranker(path):
    """Return the model in a file, which scores documents one by one, and its columns of text."""
    ranker = load_model(path)
    if getattr(ranker, "n_items_", None) is not None:
        raise ValueError(
            f"{path} ranks {ranker.n_items_} fixed items for each row, but rows of files are "
            "documents: apply it in Python"
        )
    if not hasattr(ranker, "predict"):
        raise ValueError(f"{path} must hold a model with predict, got {type(ranker).__name__}")
    return ranker, list(read_header(path)["notes"].get("categories", []))


def score_rows(model, path, args):
    """Return the model in a file; and labels, queries and scores of the rows of another file."""
    ranker, categories = load_ranker(model)
    chunks = [
        (data.y, data.qid, predict_with_queries(ranker, data.X, data.qid))
        for data, *_ in Reader(path, args, model=ranker, categories=categories)
    ]
    return ranker, *map(np.concatenate, zip(*chunks))


def read_labels(path, args):
    """Return labels and queries of the rows of a file."""
    chunks = [(data.y, data.qid) for data, *_ in Reader(path, args, names=[])]
    return tuple(map(np.concatenate, zip(*chunks)))


def read_scores(path, n_rows, file):
    """Read the scores of a file, one for each row of another file."""
    with reading(path, "expected one score per line"):
        lines = enumerate(datasets.read_text(Path(path)).split("\n"), 1)
        scores = np.array([_score(number, line) for number, line in lines if line.strip()])
    if len(scores) != n_rows:
        raise ValueError(
            f"{path} must hold a score for each of the {n_rows} rows of {file}, got {len(scores)}"
        )
    return scores


def _score(number, line):
    try:
        score = datasets.to_float(line.strip())
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error
    if not np.isfinite(score):
        raise ValueError(f"line {number}: scores must be finite, got {score}")
    return score


# -- output ------------------------------------------------------------------------


@contextmanager
def output(path):
    """Write text to a file, which appears when it is complete; ``-`` is the standard output."""
    if path != "-":
        with complete_file(path, "w", encoding="utf-8", newline="\n") as file:
            yield file
    elif sys.stdout is None:
        raise ValueError("the standard output is closed: give a file to --output")
    else:
        yield sys.stdout
        sys.stdout.flush()


def refuse_overwriting(output, *inputs):
    """Raise if a file to write, or the standard output for ``-``, is one of the files to read."""
    for path in (Path(path) for path in inputs if path is not None):
        for read in (path, datasets.group_file(path)):
            if read is not None and read.is_file() and _is_file(output, read):
                name = "the standard output" if output == "-" else output
                raise ValueError(
                    f"{name} is {read}, which is read and cannot be written: give another file"
                )


def _is_file(output, read) -> bool:
    """Return whether an output is a file, by whatever name."""
    # The standard output may have no number, and the file may not exist yet.
    with suppress(OSError, ValueError, AttributeError):
        status = os.fstat(sys.stdout.fileno()) if output == "-" else os.stat(output)
        return os.path.samestat(status, os.stat(read))
    return False
