"""Convert files from one format to another: ``convert``."""

import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets import OPENERS, needs, table_format
from ..persistence import complete_file
from . import _options as options
from ._files import Chunk, Reader, refuse_folder, refuse_overwriting
from ._text import paragraphs, say

# Rows that become lines at a time.
_ROWS = 1000


def add_options(parser: Any) -> None:
    parser.epilog = (
        f"{options.ABOUT_FILES}"
        "LETOR lines number queries, and their features become columns f1, f2, ...\n\n"
        f"{options.ABOUT_CHUNKS}\n"
        "examples:\n  skcalrank convert train.txt.gz train.parquet\n"
        "  skcalrank convert train.csv train.txt --qid-column query\n"
    )
    options.add_table(parser, "file FILE", "file to read")
    options.add(parser, "output OUTPUT", "file to write")
    options.add_reading(parser, "numbers")
    options.add_n_features(parser)


def run(args: Namespace) -> str:
    """Write the rows of a file to another, in the format of its suffix."""
    pyarrow, path = needs("pyarrow"), Path(args.output)
    refuse_overwriting(args.output, args.file)
    refuse_folder(path)
    to_table = table_format(path) is not None
    start, queries, n_rows, n_features, named = time.perf_counter(), set(), 0, 0, False
    with _written(path) as write:
        for chunk in Reader(args.file, args, documents=True, n_features=args.n_features):
            X, _, qid = chunk.data
            if not n_rows:
                named = chunk.named
            elif chunk.named and not named:
                raise ValueError(
                    f"documents have names behind row {n_rows} alone: give --chunk-rows "
                    f"{n_rows + len(qid)}, which reads these rows together"
                )
            columns = _columns(chunk, args, named)
            write(pyarrow.table(columns) if to_table else _lines(pyarrow, columns, chunk, named))
            queries.update(np.unique(qid).tolist())
            n_rows, n_features = n_rows + len(qid), X.shape[1]
    seconds = time.perf_counter() - start
    say("")
    return paragraphs(
        f"{n_rows:,} rows of {len(queries):,} queries, {n_features} features, in {seconds:#.3g} s "
        f"({n_rows / seconds:,.0f} rows/s).",
        f"Written: {path}",
    )


def _columns(chunk: Chunk, args: Namespace, named: bool) -> dict[str, Any]:
    """Return the columns of a table: query, label, names of documents, features."""
    X, y, qid = chunk.data
    names = [f"f{j + 1}" for j in range(X.shape[1])]
    if hasattr(X, "columns"):
        names, X = list(X.columns), X.to_numpy()
    columns: dict[str, Any] = {args.qid_column: qid, args.label_column: y}
    if named:
        columns[args.doc_column] = chunk.documents
    return {**columns, **{name: X[:, j] for j, name in enumerate(names)}}


def _lines(pyarrow: Any, columns: dict[str, Any], chunk: Chunk, named: bool) -> Iterator[bytes]:
    """Yield LETOR lines, with the shortest decimals that are the same numbers."""
    _check_names(chunk, named)
    compute = needs("pyarrow.compute")
    table = pyarrow.table(list(columns.values()), [str(n) for n in range(len(columns))])
    for start in range(0, len(chunk.data.qid), _ROWS):
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


def _check_names(chunk: Chunk, named: bool) -> None:
    for query in np.unique(chunk.data.qid).tolist():
        if not (text := str(query)).isdecimal() or len(text) > 18 or str(int(text)) != text:
            raise ValueError(
                f"queries of LETOR lines must be whole numbers, got {query!r}: write a "
                "table (.csv, .parquet)"
            )
    for document in chunk.documents if named else ():
        if len(document.split()) != 1:
            raise ValueError(
                f"names of documents in LETOR lines must be one word, got {document!r}: write a "
                "table (.csv, .parquet)"
            )


@contextmanager
def _written(path: Path) -> Iterator[Callable[[Any], None]]:
    """Write chunks to a file, which is replaced only when it is complete."""
    kind: Any = table_format(path)
    writers: list[Any] = []
    with complete_file(path, "wb") as file, ExitStack() as stack:
        if opener := OPENERS.get(path.suffix.lower()):
            file = stack.enter_context(opener(file, "wb"))

        def write(table: Any) -> None:
            """Write a table, with the schema of the first."""
            if not writers:
                separator = "\t" if ".tsv" in map(str.lower, path.suffixes) else ","
                writer = _table_writer(file, table.schema, kind.packed, separator)
                writers.append(stack.enter_context(writer))
            writers[0].write_table(table.cast(writers[0].schema) if kind.packed else table)

        yield file.writelines if kind is None else write


def _table_writer(file: Any, schema: Any, packed: bool, separator: str) -> Any:
    if packed:
        return needs("pyarrow.parquet").ParquetWriter(file, schema)
    csv = needs("pyarrow.csv")
    settings = csv.WriteOptions(delimiter=separator, quoting_style="needed")
    return csv.CSVWriter(file, schema, write_options=settings)
