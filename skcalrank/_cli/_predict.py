"""Score the documents of a file: ``predict``."""

import argparse

import numpy as np

from ..data import check, positions
from ..evaluation import name_of
from ..metrics import predict_with_queries
from . import _options as options
from ._files import Reader, load_ranker, output, refuse_overwriting
from ._text import say


def add_options(parser):
    parser.epilog = (
        f"{options.ABOUT_FILES}\n{options.ABOUT_CHUNKS}\n"
        "examples:\n  skcalrank predict ndcg.skops test.txt --output scores.txt\n"
        "  skcalrank predict ndcg.skops test.txt --format trec --top-k 100 > run.txt\n"
    )
    options.add(parser, "model MODEL", "model file that fit wrote")
    options.add_table(parser, "file FILE", "file of documents; a table needs no labels")
    text = "file to write; default: -, the standard output"
    options.add(parser, "--output FILE", text, default="-")
    options.add(
        parser,
        "--format",
        "one score per line, or a TREC run 'qid Q0 document rank score tag'; documents are "
        "named by the comment '# docid = NAME' of a LETOR line or by a column of a table, else by "
        "the number of the row; default: scores",
        choices=["scores", "trec"],
        default="scores",
    )
    text = "write only the best K documents of each query, for a run"
    options.add_count(parser, "--top-k K", text)
    text = "name of a run, one word; default: skcalrank"
    options.add(parser, "--tag TAG", text, type=_word, default="skcalrank")
    options.add_reading(parser)


def _word(text):
    """Return an argument that is one word, or raise."""
    if len(text.split()) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one word")
    return text


def run(args) -> str:
    """Write a score for every row, or a TREC run."""
    in_trec = args.format == "trec"
    if args.top_k is not None and not in_trec:
        raise ValueError(
            "--top-k leaves documents out, which a file with one score per row cannot do: add "
            "--format trec"
        )
    refuse_overwriting(args.output, args.model, args.file)
    ranker = load_ranker(args.model)
    reader = Reader(args.file, args, model=ranker, labels=False, documents=in_trec)
    with output(args.output) as file:
        for chunk in reader:
            scores = predict_with_queries(ranker, chunk.data.X, chunk.data.qid)
            lines = _trec(chunk, scores, args) if in_trec else map(repr, scores.tolist())
            file.write("\n".join(lines) + "\n")
    say("")
    return ""


def _trec(chunk, scores, args):
    """Yield lines of a TREC run, the best first; equal scores are in the order of the rows."""
    qid = chunk.data.qid
    queries = check.queries(qid, len(scores))
    place = queries.ungroup(positions(queries.group(scores), queries))
    rows = np.lexsort((place, queries.codes))
    rows = rows if args.top_k is None else rows[place[rows] <= args.top_k]
    for row in rows.tolist():
        query, document = str(name_of(qid[row], "a query")), chunk.documents[row]
        for name in (query, document):
            if len(name.split()) != 1:
                raise ValueError(f"names in a TREC run must be one word, got {name!r}")
        if query.startswith("#"):
            raise ValueError(f"{query!r} cannot name a query of a TREC run: # begins a comment")
        yield f"{query} Q0 {document} {place[row]} {scores[row].item()!r} {args.tag}"
