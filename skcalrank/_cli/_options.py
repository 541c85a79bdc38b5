"""The options of each command."""

from __future__ import annotations

import argparse
from textwrap import fill

from ..data import WHOLE_BYTES
from ..datasets import TABLES
from ..evaluation import TESTS
from ..metrics import EMPTY, get_scorer_names
from ..preds import preds_for
from ._commands import demo
from ._compare import compare
from ._convert import convert
from ._evaluate import evaluate
from ._models import fit, info, predict
from ._rankers import AUTO, PEERS, RANKERS, REGRESSORS
from ._readers import RATIO
from ._shared import COMPARE_RANKERS, DEMO_RANKERS, MEASURES, RUN_MEASURES, TREC_MEASURES
from ._transforms import TRANSFORMS

_MEASURES = f"""\
measures, most of them with @k behind the name for a cutoff:
{fill(" ".join(get_scorer_names()), 100, initial_indent="  ", subsequent_indent="  ")}
"""
_RANKERS = f"""\
rankers, by least squares in closed form (Ridge):
  {" ".join(RANKERS)}
  {AUTO} for linear views and boosted trees, stacked: slower, and mostly the best;
  {", ".join(f"+{name}" for name in REGRESSORS)} for another regressor, as in ndcg+trees;
  ndcg is ndcg@10, ndcg@5 another cutoff"""
_PEERS = f"; {' and '.join(PEERS)} where they are installed\n"
_FILES = f"""\
the file format is inferred from the suffix:
  {", ".join(TABLES)} (text also .gz, .bz2, .xz):
  tables with named columns, features are those that hold numbers (fit and compare: also text,
  of which linear rankers get indicators)
  (pip install pandas pyarrow); all others: LETOR/svmlight lines
  'relevance qid:Q feature:value ...', plain, .gz, .bz2 or .xz, with a file NAME.query of
  group sizes beside it where lines have no qid
"""
_CHUNKS = f"""\
Files above {WHOLE_BYTES >> 20} MB ({WHOLE_BYTES // RATIO >> 20} MB where compressed) are read in \
chunks, for which all rows of a query must
stand together.
"""


def names(text):
    """Names apart by commas."""
    return [name for name in text.split(",") if name]


def count(lowest):
    """An argument that is an integer from ``lowest``."""

    def convert(text):
        if not text.isdecimal() or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer from {lowest}")
        return int(text)

    return convert


def word(text):
    """An argument that is one word."""
    if len(text.split()) != 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not one word")
    return text


def _add_command(commands, run, text, epilog):
    parser = commands.add_parser(
        run.__name__,
        help=text,
        description=text,
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _add_count(parser, option, text, *, lowest=1, default=None, metavar="N"):
    """Add an option that is an integer."""
    if default is not None:
        text = f"{text}; default: {default}"
    parser.add_argument(option, type=count(lowest), default=default, metavar=metavar, help=text)


def _add_names(parser, **defaults):
    """Options that take several names."""
    for option, default in defaults.items():
        parser.add_argument(
            f"--{option}",
            nargs="+",
            type=names,
            metavar="NAME",
            help=f"{option}, apart by spaces or commas; default: {' '.join(default)}",
        )


def _add_relevance_level(parser, more):
    parser.add_argument(
        "--relevance-level",
        type=float,
        metavar="L",
        help=f"for binary measures and rankers, documents with label >= L are relevant; {more}",
    )


def _add_empty(parser):
    parser.add_argument(
        "--empty",
        choices=[policy for policy in EMPTY if policy != "nan"],
        default="skip",
        metavar="POLICY",
        help="what a query counts on which a measure is 0/0: skip, zero, one or error; "
        "default: skip",
    )


def _add_gain(parser):
    parser.add_argument(
        "--gain",
        choices=["exponential", "linear"],
        help="of dcg and ndcg: 2^label - 1 or the label itself; default: exponential",
    )


def _add_complete(parser):
    parser.add_argument(
        "--complete",
        action="store_true",
        help="judged queries that a run lacks count 0, as with trec_eval -c",
    )


def _add_columns(parser):
    """Which columns of a table mean what."""
    group = parser.add_argument_group("reading")
    for column, default in (("qid", "qid"), ("label", "label"), ("doc", "docid")):
        group.add_argument(
            f"--{column}-column",
            default=default,
            metavar="NAME",
            help=f"of a table; default: {default}",
        )
    return group


def _add_reading(parser):
    """How files are read."""
    group = _add_columns(parser)
    _add_count(group, "--chunk-rows", "read about N rows at a time, up to where a query ends")
    group.add_argument(
        "--dtype",
        choices=["float32", "float64"],
        default="float64",
        help="of the features: float32 takes half the memory; default: float64",
    )


def _add_transform(parser):
    parser.add_argument(
        "--transform",
        choices=TRANSFORMS,
        help="of the features, before the ranker: scaled to mean 0 and variance 1, quantiles, "
        "logarithms of 1 plus the absolute values with their signs, or scaled within the query; "
        "default: none",
    )


def _add_n_features(parser):
    _add_count(
        parser,
        "--n-features",
        "of LETOR lines; default: the largest that occurs, for which a file that is read in "
        "chunks is scanned first",
    )


# -- rankers beside each other -----------------------------------------------------


def _add_demo(commands):
    parser = _add_command(
        commands,
        demo,
        "Cross-validate rankers on embedded data: query by example on scikit-learn's digits.",
        f"{_MEASURES}{_RANKERS}{_PEERS}\n"
        "example:\n  skcalrank demo --rankers ndcg ndcg+trees --folds 3\n",
    )
    _add_names(parser, measures=MEASURES, rankers=DEMO_RANKERS)
    _add_count(parser, "--folds", "folds of whole queries", lowest=2, default=5)
    _add_count(parser, "--queries", "query images", lowest=2, default=200)
    _add_count(parser, "--documents", "images to rank for each query", lowest=2, default=50)


def _add_compare(commands):
    parser = _add_command(
        commands,
        compare,
        "Compare rankers, models, scores or runs, with paired tests that are corrected for their "
        "number.",
        "Of TRAIN and TEST, rankers are fitted on the one and measured on the other; models and\n"
        "scores of other systems are measured beside them, or on TEST alone.\n\n"
        f"{_MEASURES}{_RANKERS}{_PEERS}\n{_FILES}\n"
        "examples:\n  skcalrank compare train.txt test.txt.gz --relevance-level 1 \\\n"
        "      --measures ndcg@10 map --rankers ndcg,map,ndcg+trees,lightgbm\n"
        "  skcalrank compare test.txt --models a.skops b.skops --scores bm25.txt \\\n"
        "      --report report.html table.tex\n"
        "  skcalrank compare --runs bm25.run mine.run --qrels qrels.txt --measures map bpref\n",
    )
    _add_names(parser, measures=MEASURES, rankers=COMPARE_RANKERS)
    parser.add_argument(
        "files", nargs="*", metavar="TRAIN TEST", help="LETOR/svmlight files, or tables"
    )
    parser.add_argument("--models", nargs="+", metavar="FILE", help="files that fit wrote")
    parser.add_argument(
        "--scores", nargs="+", metavar="FILE", help="scores of TEST, one per line and row"
    )
    parser.add_argument("--runs", nargs="+", metavar="RUN", help="TREC runs")
    parser.add_argument("--qrels", metavar="QRELS", help="TREC judgments of the runs")
    parser.add_argument(
        "--baseline", metavar="NAME", help="what all others are compared with; default: the first"
    )
    parser.add_argument(
        "--test",
        choices=TESTS,
        default="t",
        help="paired test of differences, corrected by Holm's method; default: t",
    )
    parser.add_argument(
        "--report",
        nargs="+",
        metavar="FILE",
        help="write the comparison, by suffix: .html, a page with plots (pip install matplotlib), "
        ".csv, .md or .tex",
    )
    _add_relevance_level(
        parser,
        "default: of runs 1, else labels must be 0 and 1, and by default binary ones are left "
        "out when they are not",
    )
    _add_gain(parser)
    _add_transform(parser)
    _add_empty(parser)
    _add_complete(parser)
    _add_columns(parser)
    parser.set_defaults(chunk_rows=None, dtype="float64")


# -- one ranker and its file -------------------------------------------------------


def _add_fit(commands):
    parser = _add_command(
        commands,
        fit,
        "Fit a ranker to a file and write it to a model file.",
        f"{_RANKERS}\n\n{_FILES}\n{_CHUNKS}"
        "A closed-form ranker learns from chunks exactly what it learns from the whole file.\n\n"
        "examples:\n  skcalrank fit train.txt.gz --model ndcg.skops --ranker ndcg@10 --alpha 100\n"
        "  skcalrank fit huge.txt --model ndcg.skops --chunk-rows 50000 --dtype float32\n"
        "  skcalrank fit train.csv --model map.skops --ranker map --qid-column query\n"
        "  skcalrank fit train.txt --model cv.skops --alphas 1 100 10000 --folds 5\n",
    )
    parser.add_argument("train", metavar="TRAIN", help="file to learn from")
    parser.add_argument("--model", required=True, metavar="FILE", help="file to write")
    parser.add_argument(
        "--ranker", default="ndcg@10", metavar="NAME", help="see below; default: ndcg@10"
    )
    parser.add_argument("--alpha", type=float, metavar="A", help="penalty of Ridge; default: auto")
    parser.add_argument(
        "--alphas",
        type=float,
        nargs="+",
        metavar="A",
        help="penalties of which cross-validation by the measure of the ranker takes the best",
    )
    _add_count(parser, "--folds", "of whole queries", lowest=2, default=5)
    _add_relevance_level(parser, "without it labels must be 0 and 1")
    _add_transform(parser)
    parser.add_argument(
        "--max-grade", type=float, metavar="G", help="of the ranker err: the highest grade"
    )
    parser.add_argument(
        "--pred",
        metavar="NAME",
        help="fit the surrogate on pairs, and rank by this prediction map: of the ranker map "
        f"{', '.join(preds_for('map'))}; of pd and kendall {', '.join(preds_for('disagreement'))}",
    )
    _add_reading(parser)
    _add_n_features(parser)


def _add_predict(commands):
    parser = _add_command(
        commands,
        predict,
        "Score the documents of a file by a model.",
        f"{_FILES}\n{_CHUNKS}\n"
        "examples:\n  skcalrank predict ndcg.skops test.txt --output scores.txt\n"
        "  skcalrank predict ndcg.skops test.txt --format trec --top-k 100 > run.txt\n",
    )
    parser.add_argument("model", metavar="MODEL", help="file that fit wrote")
    parser.add_argument("file", metavar="FILE", help="documents; a table needs no labels")
    parser.add_argument(
        "--output", default="-", metavar="FILE", help="file to write; default: -, the terminal"
    )
    parser.add_argument(
        "--format",
        choices=["scores", "trec"],
        default="scores",
        help="one score per line, or a TREC run 'qid Q0 document rank score tag'; the document is "
        "docid of the comment of a LETOR line or of the column of a table, else the number of the "
        "row; default: scores",
    )
    _add_count(parser, "--top-k", "of a run: the best K of each query only", metavar="K")
    parser.add_argument(
        "--tag", type=word, default="skcalrank", help="of a run, one word; default: skcalrank"
    )
    _add_reading(parser)


def _add_evaluate(commands):
    parser = _add_command(
        commands,
        evaluate,
        "Measure a model, scores or a TREC run against labels, with standard errors.",
        f"{_MEASURES}of runs: {' '.join(RUN_MEASURES)};\n"
        f"  default: {' '.join(TREC_MEASURES)}\n\n"
        "Of runs, documents that are not judged are not relevant; documents that are judged and\n"
        "not retrieved count among the relevant ones and in the ideal ranking, and are never\n"
        "found; equal scores stand by document from Z to A, as in trec_eval, whose ndcg is that\n"
        "of --gain linear. Equal scores of a model count their exact mean over all orders.\n\n"
        f"{_FILES}\n{_CHUNKS}\n"
        "examples:\n  skcalrank evaluate ndcg.skops test.txt --measures ndcg@10 spearman\n"
        "  skcalrank evaluate --scores scores.txt test.txt --relevance-level 1\n"
        "  skcalrank evaluate --run run.txt --qrels qrels.txt --per-query values.csv\n",
    )
    parser.add_argument("files", nargs="*", metavar="MODEL FILE", help="model, and labelled rows")
    parser.add_argument("--scores", metavar="SCORES", help="one score per line, in place of MODEL")
    parser.add_argument("--run", dest="run_file", metavar="RUN", help="TREC run")
    parser.add_argument("--qrels", metavar="QRELS", help="TREC judgments of the run")
    _add_names(parser, measures=MEASURES)
    _add_relevance_level(parser, "default: of runs 1, else labels must be 0 and 1")
    _add_gain(parser)
    _add_empty(parser)
    _add_complete(parser)
    parser.add_argument(
        "--per-query",
        nargs="?",
        const="-",
        metavar="FILE",
        help="write the values of each query as CSV, to FILE or in place of the table",
    )
    _add_reading(parser)


def _add_info(commands):
    parser = _add_command(
        commands,
        info,
        "Say what is in a model file.",
        "example:\n  skcalrank info ndcg.skops --coefficients 20\n",
    )
    parser.add_argument("model", metavar="MODEL", help="file that fit wrote")
    _add_count(parser, "--coefficients", "how many of the largest are shown", lowest=0, default=10)


# -- files -------------------------------------------------------------------------


def _add_convert(commands):
    parser = _add_command(
        commands,
        convert,
        "Write a file in another format: LETOR lines, CSV, TSV or Parquet.",
        f"{_FILES}Queries of LETOR lines are whole numbers, and their features become the columns "
        "f1, f2, ...\n"
        f"\n{_CHUNKS}\n"
        "examples:\n  skcalrank convert train.txt.gz train.parquet\n"
        "  skcalrank convert train.csv train.txt --qid-column query\n",
    )
    parser.add_argument("file", metavar="FILE", help="file to read")
    parser.add_argument("output", metavar="OUTPUT", help="file to write")
    _add_reading(parser)
    _add_n_features(parser)


#: What adds each command, in the order of the help.
COMMANDS = (
    *(_add_demo, _add_compare, _add_fit, _add_predict),
    *(_add_evaluate, _add_info, _add_convert),
)
