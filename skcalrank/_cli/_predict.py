"""Score the documents of a file: ``predict``."""

import argparse
import csv
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from typing import Any

from sklearn.frozen import FrozenEstimator

from ..columns.types import Bools, Floats
from ..data import check, warn
from ..evaluation import name_of, top_rows
from ..metrics import predict_with_queries
from ..reliability import LOSSES, CalibratedRankerCV, GuaranteedCutoff
from . import _options as options
from ._files import Chunk, Reader, load_ranker, output, refuse_overwriting
from ._text import say


def add_options(parser: Any) -> None:
    parser.epilog = (
        f"{options.ABOUT_FILES}\n{options.ABOUT_CHUNKS}\n"
        "examples:\n  skcalrank predict ndcg.skops test.txt --output scores.txt\n"
        "  skcalrank predict ndcg.skops test.txt --format trec --top-k 100 > run.txt\n"
        "  skcalrank predict ndcg.skops new.csv --doc-column sku --format csv > order.csv\n"
        "  skcalrank predict p.skops test.txt --format trec --cutoff val.txt --alpha 0.1\n"
    )
    options.add(parser, "model MODEL", "model file that fit wrote")
    options.add_table(parser, "file FILE", "file of documents; a table needs no labels")
    text = "file to write; default: -, the standard output"
    options.add(parser, "--output FILE", text, default="-")
    text = (
        "one score per line; or the order within each query, as a TREC run 'qid Q0 document rank "
        "score tag' or as CSV with columns of the query, the document, score and rank; documents "
        "are named by the comment '# docid = NAME' of a LETOR line or by a column of a table, or, "
        "if no row has a name, by the number of the row"
    )
    options.add(parser, "--format", text, choices=["scores", "trec", "csv"], default="scores")
    text = "write only the best K documents of each query, in trec and csv"
    options.add_count(parser, "--top-k K", text)
    text = "write only documents above a threshold, calibrated on a labelled file of other queries"
    options.add(parser, "--cutoff FILE", text)
    text = (
        "what documents below the threshold of --cutoff take away, on average over queries like "
        "those of its file: parts of the relevant documents, of the DCG, the first relevant one, "
        "or the best one"
    )
    options.add(parser, "--loss", text, choices=LOSSES, default="recall")
    text = "largest mean loss that --cutoff promises"
    options.add(parser, "--alpha A", text, type=float, default=0.1)
    options.add_relevance_level(parser)
    options.add(parser, "--tag TAG", "name of a run, one word", type=_word, default="skcalrank")
    options.add_reading(parser)


def _word(text: str) -> str:
    """Return an argument that is one word, or raise."""
    if len(text.split()) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one word")
    return text


def run(args: Namespace) -> str:
    """Write a score for every row, or the order within queries."""
    in_order = args.format != "scores"
    for option, value in (("--top-k", args.top_k), ("--cutoff", args.cutoff)):
        if value is not None and not in_order:
            raise ValueError(
                f"{option} leaves documents out, which a file with one score per row cannot do: "
                "add --format trec or --format csv"
            )
    refuse_overwriting(args.output, args.model, args.file)
    ranker = load_ranker(args.model)
    cutoff = None if args.cutoff is None else _calibrated(ranker, args)
    reader = Reader(args.file, args, model=ranker, labels=False, documents=in_order)
    again: Counter[Any] = Counter()
    named, nameless = False, None
    with output(args.output) as file:
        table = csv.writer(file, lineterminator="\n")
        if args.format == "csv":
            table.writerow([args.qid_column, args.doc_column, "score", "rank"])
        for chunk in reader:
            scores = predict_with_queries(ranker, chunk.data.X, chunk.data.qid)
            if not in_order:
                file.writelines(f"{score!r}\n" for score in scores.tolist())
                continue
            named, nameless = named or chunk.named, nameless or chunk.nameless
            if named and nameless:
                raise ValueError(
                    f"row {nameless} must name its document, as other rows do: add the name, or "
                    "leave out those of all rows, which names them by their numbers"
                )
            kept = None if cutoff is None else cutoff.predict_set(chunk.data.X, chunk.data.qid)
            rows = list(_in_order(chunk, scores, kept, args.top_k))
            names = Counter(row[:2] for row in rows)
            again += names - Counter([*names])
            if args.format == "csv":
                table.writerows(rows)
            else:
                file.writelines(_trec(row, args.tag) for row in rows)
    say("")
    if again:
        (query, document), n_queries = min(again), len({query for query, _ in again})
        warn(
            f"{again.total()} rows of {n_queries} queries repeat a document of their query, such "
            f"as {document} in query {query}. Programs that read the file may refuse it, or count "
            "documents twice: remove such rows, or name documents by another --doc-column."
        )
    return ""


def _calibrated(ranker: CalibratedRankerCV, args: Namespace) -> GuaranteedCutoff:
    """Return a cut-off of the ranker, calibrated on a labelled file."""
    refuse_overwriting(args.output, [args.cutoff])
    (data,) = (chunk.data for chunk in Reader([args.cutoff], args, model=ranker, whole=True))
    cutoff = GuaranteedCutoff(FrozenEstimator(ranker), args.loss, args.alpha)
    return cutoff.set_params(relevance_level=args.relevance_level).fit(*data)


def _in_order(chunk: Chunk, scores: Floats, kept: Bools | None, top_k: Any) -> Iterator[Any]:
    """Yield query, document, score and rank, best first; equal scores in the order of the rows."""
    qid = chunk.data.qid
    rows, place = top_rows(scores, check.queries(qid, len(scores)), top_k)
    for row, position in zip(rows.tolist(), place.tolist()):
        if kept is None or kept[row]:
            name = str(name_of(qid[row], "a query"))
            yield name, chunk.documents[row], scores[row].item(), position


def _trec(row: tuple[Any, ...], tag: str) -> str:
    """Return a line of a TREC run."""
    query, document, score, position = row
    for name in (query, document):
        if len(name.split()) != 1:
            raise ValueError(f"names in a TREC run must be one word, got {name!r}")
    if query.startswith("#"):
        raise ValueError(f"{query!r} cannot name a query of a TREC run: # begins a comment")
    return f"{query} Q0 {document} {position} {score!r} {tag}\n"
