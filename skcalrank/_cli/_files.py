"""Read data, scores and models from files of several formats, and write files."""

import os
import sys
import textwrap
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import datasets
from ..columns import CHUNK_ROWS, WHOLE_BYTES
from ..columns.types import Array, Floats, Self
from ..data import check, warn
from ..evaluation import name_of
from ..metrics import predict_with_queries
from ..persistence import complete_file, load_model, read_header
from ..rankers import seems_trained_on
from ._rankers import chosen_by, columns_for, reads_tables, takes_missing
from ._text import say

LETOR = "expected lines 'relevance qid:Q feature:value ...' with features from 1"


class Chunk(NamedTuple):
    """Rows of whole queries."""

    data: datasets.RankingData  # X is a DataFrame where features have names
    documents: list[str]  # names, else the numbers of the rows in the file, from 1
    named: bool  # whether a document has a name
    nameless: int | None  # number of the first row whose document has no name

    @classmethod
    def of(cls, data: datasets.RankingData, names: Any, first: int) -> Self:
        """Return a chunk with names of documents, or None, whose first row has a number."""
        documents = [
            str(n if name is None else name_of(name, f"document {n}"))
            for n, name in enumerate(names, first)
        ]
        nameless = next((n for n, name in enumerate(names, first) if name is None), None)
        return cls(data, documents, any(name is not None for name in names), nameless)


class Reader:
    """Read the rows of a file, as the options of the command line say.

    The features are those of `model`. Without a model they are the `chosen` columns of a table, by
    default those of the options, or the first `n_features` of LETOR lines. With `labels` a table
    without labels is an error; with `whole` there is one chunk of all rows, however large the file.

    Columns of a table are as they are for a model that reads tables, and with `of_any_kind` if all
    rows are read at once, or with `in_chunks`. All other features are numbers, which may be missing
    only if the model, or all `rankers`, take missing values.
    """

    def __init__(
        self,
        path: Any,
        args: Namespace,
        *,
        model: Any = None,
        chosen: Any = None,
        labels: bool = True,
        documents: bool = False,
        whole: bool = False,
        of_any_kind: bool = False,
        in_chunks: bool = False,
        n_features: int | None = None,
        rankers: Sequence[Any] = (),
    ) -> None:
        self.dtype, self.documents = np.dtype(args.dtype), documents
        self.first_feature: Any = getattr(model, "first_feature_", None)
        from_zero: dict[Any, bool] = {0: True, 1: False}
        self.zero_based = args.zero_based or from_zero.get(self.first_feature, "auto")
        with reading(name_of_table(path), ""):
            self.table = datasets.table_files(path)
        self.path: Any = Path(name_of_table(path)) if self.table is None else self.table.name
        self.chunk_rows = None if whole else args.chunk_rows or self._usual_chunk()
        if model is not None:
            chosen = columns_for(model)
            of_any_kind = chosen.features is not None and reads_tables(model)
        else:
            chosen = chosen or chosen_by(args)
            of_any_kind = of_any_kind and (self.chunk_rows is None or in_chunks)
        self.of_any_kind = of_any_kind and self.table is not None
        if self.table is None:
            refuse_names(path, chosen.features or chosen.drop)
        self.columns = chosen._replace(
            qid=args.qid_column,
            label=args.label_column,
            document=args.doc_column,
            labelled=labels,
            codes=chosen.codes and self.of_any_kind,
            sep=args.sep and args.sep.replace("\\t", "\t"),
            encoding=args.encoding,
        )
        self._named = model is None or chosen.features is not None
        self.n_features = getattr(model, "n_features_in_", n_features)
        self._rankers, self._n_bytes = (*rankers, model), 0.0

    def __iter__(self) -> Iterator[Chunk]:
        n_rows, start = 0, time.perf_counter()
        self._n_rows: int | None = None
        with reading(self.path, "" if self.table else LETOR):
            for chunk in self._table() if self.table else self._letor():
                n_rows += len(chunk.data.qid)
                seconds = max(time.perf_counter() - start, 1e-9)
                progress = f"{self._share(n_rows, seconds)}, {n_rows / seconds:,.0f} rows/s"
                say(f"reading {self.path}: {n_rows:,} rows{progress}")
                yield chunk

    def _share(self, n_rows: int, seconds: float) -> str:
        """Say how much of the file has been read, and the time left, if its size is known."""
        if self.table is not None:
            self._n_rows = self._n_rows or (self.table.shape() or [0])[0]
            if not self._n_rows:
                return ""
            share = n_rows / self._n_rows
        elif self.path.suffix.lower() in datasets.OPENERS or not self.path.is_file():
            return ""
        else:
            share = self._n_bytes / self.path.stat().st_size
        return f" ({share:.0%} of the file, {seconds * (1 / share - 1):,.0f} s left)"

    def _usual_chunk(self) -> int | None:
        with suppress(ValueError):  # of a damaged file, which will be named
            if self.table is not None:
                is_larger = self.table.is_larger(WHOLE_BYTES)
            else:
                is_larger = self.path.is_file() and datasets.is_larger_unpacked(
                    self.path, WHOLE_BYTES
                )
            return CHUNK_ROWS if is_larger else None
        return None

    def _letor(self) -> Iterator[Chunk]:
        labelled, featured = self.columns.labelled, self.columns.features != []
        form = datasets.Form(
            self.n_features, self.dtype, False, labelled, self.zero_based, featured
        )
        first, chunk_rows = 1, self.chunk_rows or sys.maxsize
        for data, rows in datasets.read_chunks(self.path, form, chunk_rows):
            self._n_bytes += rows.n_bytes
            self.first_feature = rows.first_feature
            ids = [*_documents(rows)] if data.ids is None else data.ids
            _check_missing(data.X, self._rankers, rows.numbers, rows.first_feature)
            yield Chunk.of(data, ids if self.documents else [], first)
            first += len(data.y)

    def _table(self) -> Iterator[Chunk]:
        first, dtype = 1, None if self.of_any_kind else self.dtype
        settings = {"chunk_rows": self.chunk_rows, "dtype": dtype}
        if self.table is not None and self.chunk_rows is not None and self.of_any_kind:
            self.columns = self.table.told(self.columns, self.chunk_rows)
        _, parts = datasets.read_table(self.table, self.columns, **settings)
        for X, y, qid, documents in parts:
            if not self.of_any_kind:
                _check_missing(X, self._rankers, first)
            data = datasets.RankingData(X if self._named else X.to_numpy(), y, qid)
            yield Chunk.of(data, documents, first)
            first += len(qid)


def name_of_table(path: Any) -> str:
    """Return the name of a file, folder or pattern, or the names of several."""
    return ", ".join(path) if isinstance(path, list) else str(path)


def refuse_names(path: Any, names: Sequence[str]) -> None:
    """Raise if features of LETOR lines are to have names."""
    if names:
        raise ValueError(
            f"{name_of_table(path)} has numbered features, and not named ones "
            f"({', '.join(map(str, names[:5]))}): give a table with these columns"
        )


def _check_missing(X: Any, rankers: Any, numbers: Any, first_feature: int = 1) -> None:
    """Raise for the first missing feature, unless all rankers take missing features.

    `numbers` are the numbers of the lines of the rows, or the number of the first row of a table.
    """
    if all(ranker is None or takes_missing(ranker) for ranker in rankers):
        return
    missing = np.argwhere(np.isnan(np.asarray(X)))
    if len(missing):
        row, column = missing[0]
        place = f"row {numbers + row}" if np.isscalar(numbers) else f"line {numbers[row]}"
        name = (
            f"column {X.columns[column]!r}"
            if hasattr(X, "columns")
            else f"feature {column + first_feature}"
        )
        raise ValueError(
            f"{place}, {name} has no value (nan): fill it in, or use auto or "
            "+trees (as in ndcg+trees), which take missing values"
        )


def _documents(rows: Any) -> Iterator[str | None]:
    """Yield the docids in comments of LETOR lines, or None."""
    for number, docid in zip(rows.numbers, rows.docids):
        try:
            yield docid and docid.decode()
        except UnicodeDecodeError as error:
            raise ValueError(f"line {number}: the docid must be text in UTF-8") from error


@contextmanager
def reading(path: Any, expected: str = LETOR) -> Iterator[None]:
    """Turn errors of reading a file into a ValueError that names it."""
    say(f"reading {path}")
    try:
        yield
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        reason = textwrap.shorten(str(error), 3000)
        # A sentence of which the file is the subject is complete.
        prefix = "" if reason.startswith(("cannot read", str(path))) else f"cannot read {path}: "
        reason = f"{reason.rstrip('.')} ({expected})" if expected else reason
        raise ValueError(prefix + reason) from error
    finally:
        say("")


def load_ranker(path: str) -> Any:
    """Return the model in a file, which scores documents one by one."""
    ranker = load_model(path)
    if getattr(ranker, "n_items_", None) is not None:
        raise ValueError(
            f"{path} ranks {ranker.n_items_} fixed items for each row, but rows of files are "
            "documents: apply it in Python"
        )
    if not hasattr(ranker, "predict"):
        raise ValueError(f"{path} must hold a model with predict, got {type(ranker).__name__}")
    # Rows may lack feature 0, without which all others would be taken for the next ones.
    vars(ranker)["first_feature_"] = read_header(path)["notes"].get("first_feature")
    return ranker


def score_rows(model: Any, path: str | list[str], args: Namespace) -> tuple[Any, ...]:
    """Return the model in a file; and labels, queries and scores of the rows of another file."""
    ranker = load_ranker(model)
    chunks = [
        (data.y, data.qid, predict_with_queries(ranker, data.X, data.qid))
        for data, *_ in Reader(path, args, model=ranker)
    ]
    y, qid, scores = map(np.concatenate, zip(*chunks))
    warn_of_training_queries(ranker, f"{model} was", qid, name_of_table(path))
    return ranker, y, qid, scores


def warn_of_training_queries(ranker: Any, who: str, qid: Array, path: str) -> None:
    """Warn if most queries of a file that is measured on seem to be those of the fit."""
    if seems_trained_on(ranker, check.queries(qid, len(qid))):
        warn(
            f"Most queries of {path} have the names and numbers of rows of queries that {who} "
            "fitted to: if they are the same queries, values are those of training data, and too "
            "high. Measure on queries that fit has not seen."
        )


def read_labels(path: str | list[str], args: Namespace) -> tuple[Floats, Array]:
    """Return labels and queries of the rows of a file."""
    chunks = [
        (data.y, data.qid) for data, *_ in Reader(path, args, chosen=datasets.Columns(features=[]))
    ]
    y, qid = map(np.concatenate, zip(*chunks))
    return y, qid


def read_scores(path: str, n_rows: int, file: str | list[str], args: Namespace) -> Floats:
    """Read the scores of a file, one for each row of another, or of a column of the other."""
    if not Path(path).exists() and datasets.table_files(file) is not None:
        return _column(path, file, args)
    with reading(path, "expected one score per line"):
        lines = ((n, line) for n, line in datasets.text_lines(Path(path)) if line.strip())
        scores = [_score(number, line) for number, line in islice(lines, n_rows + 1)]
    if len(scores) != n_rows:
        count = "more" if len(scores) > n_rows else len(scores)
        raise ValueError(
            f"{path} must hold {n_rows} scores, one per row of {name_of_table(file)}, got {count}"
        )
    return np.array(scores)


def _column(name: str, file: str | list[str], args: Namespace) -> Floats:
    """Read a column of a table that holds scores."""
    chosen = datasets.Columns(features=[name], chosen_by="--scores, or give a file of this name")
    scores = np.concatenate([data.X[name] for data, *_ in Reader(file, args, chosen=chosen)])
    if len(wrong := np.flatnonzero(~np.isfinite(scores))):
        place = f"{name_of_table(file)}, column {name!r}, row {wrong[0] + 1}"
        raise ValueError(f"{place}: scores must be finite, got {scores[wrong[0]]}")
    return scores


def _score(number: int, line: str) -> float:
    try:
        score = datasets.to_float(line.strip())
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error
    if not np.isfinite(score):
        raise ValueError(f"line {number}: scores must be finite, got {score}")
    return score


@contextmanager
def output(path: str) -> Iterator[Any]:
    """Write text to a file, which appears when it is complete; ``-`` is the standard output."""
    if path != "-":
        with complete_file(path, "w", encoding="utf-8", newline="\n") as file:
            yield file
    elif sys.stdout is None:
        raise ValueError("the standard output is closed: give a file to --output")
    else:
        yield sys.stdout
        sys.stdout.flush()


def refuse_folder(path: Path) -> None:
    """Raise if a file to write is a folder."""
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder, give a file in it")


def refuse_overwriting(output: str, *inputs: str | list[str] | None) -> None:
    """Raise if a file to write, or the standard output for ``-``, is one of the files to read."""
    for path in (path for source in inputs if source is not None for path in _files_of(source)):
        for read in (path, datasets.group_file(path)):
            if read is not None and read.is_file() and _is_file(output, read):
                name = "the standard output" if output == "-" else output
                raise ValueError(
                    f"{name} is {read}, which is read and cannot be written: give another file"
                )


def _files_of(source: str | list[str]) -> list[Path]:
    """Return the files here that are read for a file, folder or pattern, or for several."""
    with suppress(OSError, ValueError, ImportError):  # as the reader will say
        table = datasets.table_files(source)
        if table is not None:
            return [shard.path for shard in table.shards if isinstance(shard.path, Path)]
    return [Path(path) for path in (source if isinstance(source, list) else [source])]


def _is_file(output: str, read: Path) -> bool:
    """Return whether an output is a file, by whatever name."""
    # The standard output may have no number, and the file may not exist yet.
    with suppress(OSError, ValueError, AttributeError):
        status = os.fstat(sys.stdout.fileno()) if output == "-" else os.stat(output)
        return os.path.samestat(status, os.stat(read))
    return False
