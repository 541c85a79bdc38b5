"""Convert files from one format to another: ``convert``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import OPENERS, needs, table_format
from ..persistence import complete_file
from ._readers import Part, Reader
from ._shared import refuse_overwriting
from ._terminal import paragraphs, say

# Rows that become lines at a time.
_ROWS = 1000


def convert(args) -> str:
    """Write the rows of a file to another, in the format of its suffix."""
    pyarrow, path = needs("pyarrow"), Path(args.output)
    refuse_overwriting(args.output, args.file)
    if path.is_dir():
        raise ValueError(f"cannot write {path}: it is a folder, give a file in it")
    to_table = table_format(path) is not None
    start, queries, n_rows, n_features, named = time.perf_counter(), set(), 0, 0, False
    with _written(path) as write:
        for part in Reader(args.file, args, documents=True, n_features=args.n_features):
            if not n_rows:
                named = part.documents != [str(n) for n in range(1, len(part.documents) + 1)]
            columns = _columns(part, args, named)
            write(pyarrow.table(columns) if to_table else _lines(pyarrow, columns, part, named))
            queries.update(np.unique(part.qid).tolist())
            n_rows, n_features = n_rows + len(part.qid), part.X.shape[1]
    seconds = time.perf_counter() - start
    say("")
    return paragraphs(
        f"{n_rows:,} rows of {len(queries):,} queries, {n_features} features, in {seconds:#.3g} s "
        f"({n_rows / seconds:,.0f} rows/s).",
        f"Written: {path}",
    )


def _columns(part: Part, args, named) -> dict[str, Any]:
    """Return the columns of a table: query, label, names of documents, features."""
    X = part.X
    names = [f"f{j + 1}" for j in range(X.shape[1])]
    if hasattr(X, "columns"):
        names, X = list(X.columns), X.to_numpy()
    columns: dict[str, Any] = {args.qid_column: part.qid, args.label_column: part.y}
    if named:
        columns[args.doc_column] = part.documents
    return {**columns, **{name: X[:, j] for j, name in enumerate(names)}}


# -- lines -------------------------------------------------------------------------


def _lines(pyarrow, columns, part, named) -> Iterator[bytes]:
    """Yield LETOR lines, with the shortest decimals that are the same numbers."""
    _check_names(part, named)
    compute = needs("pyarrow.compute")
    table = pyarrow.table(list(columns.values()), [str(n) for n in range(len(columns))])
    for start in range(0, len(part.qid), _ROWS):
        texts = [column.cast("string") for column in table.slice(start, _ROWS).columns]
        query, label, *rest = (text.combine_chunks() for text in texts)
        document = rest.pop(0) if named else None
        words = [label, compute.binary_join_element_wise("qid:", query, "")]
        words += [
            compute.binary_join_element_wise(f"{j}:", value, "") for j, value in enumerate(rest, 1)
        ]
        if named:
            words.append(compute.binary_join_element_wise("# docid = ", document, ""))
        lines = compute.binary_join_element_wise(*words, " ").to_pylist()
        yield "".join(f"{line}\n" for line in lines).encode()


def _check_names(part, named):
    for query in np.unique(part.qid).tolist():
        if not (text := str(query)).isdecimal() or len(text) > 18 or str(int(text)) != text:
            raise ValueError(
                f"queries of LETOR lines must be whole numbers, got {query!r}: write a "
                "table (.csv, .parquet)"
            )
    for document in part.documents if named else ():
        if len(document.split()) != 1:
            raise ValueError(
                f"names of documents in LETOR lines must be one word, got {document!r}: write a "
                "table (.csv, .parquet)"
            )


# -- files -------------------------------------------------------------------------


@contextmanager
def _written(path: Path) -> Iterator[Callable[[Any], None]]:
    """Write parts to a file, which is replaced only when it is complete."""
    kind, packs = table_format(path), path.suffix in OPENERS
    with complete_file(path, "wb") as raw, ExitStack() as stack:
        file = stack.enter_context(OPENERS[path.suffix](raw, "wb")) if packs else raw
        if kind is None:
            yield file.writelines
        else:
            yield _tables(file, kind.packed, "\t" if ".tsv" in path.suffixes else ",", stack)


def _tables(file, packed, separator, stack) -> Callable[[Any], None]:
    """Return a function that writes tables, all with the schema of the first."""
    writers: list[Any] = []

    def write(table):
        if not writers:
            writers.append(stack.enter_context(_writer(file, table.schema, packed, separator)))
        writers[0].write_table(table.cast(writers[0].schema) if packed else table)

    return write


def _writer(file, schema, packed, separator):
    if packed:
        return needs("pyarrow.parquet").ParquetWriter(file, schema)
    csv = needs("pyarrow.csv")
    options = csv.WriteOptions(delimiter=separator, quoting_style="needed")
    return csv.CSVWriter(file, schema, write_options=options)
