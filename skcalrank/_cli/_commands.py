"""The commands, and the options of each."""

from __future__ import annotations

from ..evaluation import TESTS
from ..preds import preds_for
from ._compare import compare
from ._convert import convert
from ._demo import demo
from ._evaluate import evaluate
from ._models import fit, info, predict
from ._options import (
    ABOUT_CHUNKS,
    ABOUT_FILES,
    ABOUT_MEASURES,
    ABOUT_PEERS,
    ABOUT_RANKERS,
    add_columns,
    add_command,
    add_complete,
    add_count,
    add_empty,
    add_gain,
    add_n_features,
    add_names,
    add_reading,
    add_relevance_level,
    add_transform,
    listed,
    word,
)
from ._shared import COMPARE_RANKERS, MEASURES, RUN_MEASURES, TREC_MEASURES

# -- comparisons -------------------------------------------------------------------


def _add_demo(commands):
    parser = add_command(
        commands,
        demo,
        "Show on embedded data what the measure and the model change.",
        "example:\n  skcalrank demo --seed 1\n",
    )
    add_count(parser, "--queries", "number of queries", lowest=10, default=300)
    add_count(parser, "--documents", "number of documents of each query", lowest=2, default=30)
    add_count(parser, "--seed", "seed that draws queries and documents", lowest=0, default=0)


def _add_compare(commands):
    parser = add_command(
        commands,
        compare,
        "Compare rankers, models, scores or runs, with paired tests corrected for their number.",
        "With one file, rankers are cross-validated on it. With TRAIN and TEST, they are\n"
        "fitted to the first and measured on the second. Models, and scores of other\n"
        "systems, are measured on TEST, with or without rankers beside them.\n\n"
        f"{ABOUT_MEASURES}{ABOUT_RANKERS}{ABOUT_PEERS}\n{ABOUT_FILES}\n"
        "examples:\n  skcalrank compare all.parquet --rankers ndcg auto\n"
        "  skcalrank compare train.txt test.txt.gz --relevance-level 1 \\\n"
        "      --measures ndcg@10 map --rankers ndcg,map,ndcg+trees,lightgbm\n"
        "  skcalrank compare test.txt --models a.skops b.skops --scores bm25.txt \\\n"
        "      --report report.html table.tex\n"
        "  skcalrank compare --runs bm25.run mine.run --qrels qrels.txt --measures map\n",
    )
    add_names(parser, measures=MEASURES, rankers=COMPARE_RANKERS)
    _add_systems(parser)
    _add_tests(parser)
    add_relevance_level(
        parser,
        "default: 1 for runs, else labels must be 0 and 1, and by default binary measures and "
        "rankers are left out if they are not",
    )
    for add in (add_gain, add_transform, add_empty, add_complete, add_columns):
        add(parser)
    parser.set_defaults(chunk_rows=None, dtype="float64")


def _add_systems(parser):
    """Add the files and options that name what is compared."""
    parser.add_argument(
        "files", nargs="*", metavar="TRAIN TEST", help="LETOR/svmlight files, or tables"
    )
    add_count(
        parser, "--folds", "number of folds of whole queries, with one file", lowest=2, default=5
    )
    parser.add_argument("--models", nargs="+", metavar="FILE", help="model files that fit wrote")
    parser.add_argument(
        "--scores", nargs="+", metavar="FILE", help="files with one score per line and row of TEST"
    )
    parser.add_argument("--runs", nargs="+", metavar="RUN", help="TREC runs")
    parser.add_argument("--qrels", metavar="QRELS", help="TREC judgments for the runs")


def _add_tests(parser):
    """Add the options of the tests and of the report."""
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="system that all others are compared with; default: the first",
    )
    parser.add_argument(
        "--test",
        choices=TESTS,
        default="t",
        help="paired test of the differences, corrected by Holm's method; default: t",
    )
    parser.add_argument(
        "--report",
        nargs="+",
        metavar="FILE",
        help="write the comparison in the format of the suffix: .html, a page with plots (needs "
        "matplotlib), .csv, .md or .tex",
    )


# -- one ranker and its file -------------------------------------------------------


def _add_fit(commands):
    parser = add_command(
        commands,
        fit,
        "Fit a ranker to a file and write it to a model file.",
        f"{ABOUT_RANKERS}\n\n{ABOUT_FILES}\n{ABOUT_CHUNKS}"
        "A ranker in closed form is the same, fitted in chunks or to the whole file.\n\n"
        "examples:\n  skcalrank fit train.txt.gz --model ndcg.skops --ranker ndcg@10 --alpha 100\n"
        "  skcalrank fit huge.txt --model ndcg.skops --chunk-rows 50000 --dtype float32\n"
        "  skcalrank fit train.csv --model map.skops --ranker map --qid-column query\n"
        "  skcalrank fit train.txt --model cv.skops --alphas 1 100 10000 --folds 5\n",
    )
    parser.add_argument("train", metavar="TRAIN", help="file to fit the ranker to")
    parser.add_argument("--model", required=True, metavar="FILE", help="model file to write")
    parser.add_argument(
        "--ranker",
        default="ndcg@10",
        metavar="NAME",
        help="name of the ranker, see below; default: ndcg@10",
    )
    parser.add_argument("--alpha", type=float, metavar="A", help="ridge penalty; default: auto")
    parser.add_argument(
        "--alphas",
        type=float,
        nargs="+",
        metavar="A",
        help="ridge penalties, of which cross-validation chooses the best for the measure",
    )
    add_count(
        parser, "--folds", "number of folds of whole queries, for --alphas", lowest=2, default=5
    )
    add_relevance_level(parser, "without it, labels must be 0 and 1")
    add_transform(parser)
    parser.add_argument(
        "--max-grade", type=float, metavar="G", help="highest grade, for the ranker err"
    )
    parser.add_argument(
        "--pred",
        metavar="NAME",
        help="fit the surrogate to pairs, and rank by this prediction map: for the ranker map "
        f"{', '.join(preds_for('map'))}; for pd and kendall {', '.join(preds_for('disagreement'))}",
    )
    add_reading(parser)
    add_n_features(parser)


def _add_predict(commands):
    parser = add_command(
        commands,
        predict,
        "Score the documents of a file with a model.",
        f"{ABOUT_FILES}\n{ABOUT_CHUNKS}\n"
        "examples:\n  skcalrank predict ndcg.skops test.txt --output scores.txt\n"
        "  skcalrank predict ndcg.skops test.txt --format trec --top-k 100 > run.txt\n",
    )
    parser.add_argument("model", metavar="MODEL", help="model file that fit wrote")
    parser.add_argument("file", metavar="FILE", help="file of documents; a table needs no labels")
    parser.add_argument(
        "--output",
        default="-",
        metavar="FILE",
        help="file to write; default: -, the standard output",
    )
    parser.add_argument(
        "--format",
        choices=["scores", "trec"],
        default="scores",
        help="one score per line, or a TREC run 'qid Q0 document rank score tag'; documents are "
        "named by the comment '# docid = NAME' of a LETOR line or by a column of a table, else by "
        "the number of the row; default: scores",
    )
    add_count(
        parser, "--top-k", "write only the best K documents of each query, for a run", metavar="K"
    )
    parser.add_argument(
        "--tag", type=word, default="skcalrank", help="name of a run, one word; default: skcalrank"
    )
    add_reading(parser)


def _add_evaluate(commands):
    parser = add_command(
        commands,
        evaluate,
        "Measure a model, scores or a TREC run against labels, with standard errors.",
        f"{ABOUT_MEASURES}measures of runs:\n{listed(RUN_MEASURES)}\n"
        f"  default: {' '.join(TREC_MEASURES)}\n\n"
        "For runs, documents without a judgment are not relevant. Judged documents that\n"
        "were not retrieved count among the relevant ones and in the ideal ranking.\n"
        "Documents with equal scores are sorted by name from Z to A, as in trec_eval,\n"
        "whose ndcg uses --gain linear. Equal scores of a model count the exact mean over\n"
        "all their orders.\n\n"
        f"{ABOUT_FILES}\n{ABOUT_CHUNKS}\n"
        "examples:\n  skcalrank evaluate ndcg.skops test.txt --measures ndcg@10 spearman\n"
        "  skcalrank evaluate --scores scores.txt test.txt --relevance-level 1\n"
        "  skcalrank evaluate --run run.txt --qrels qrels.txt --per-query values.csv\n",
    )
    parser.add_argument(
        "files", nargs="*", metavar="MODEL FILE", help="model file, and labelled rows"
    )
    parser.add_argument(
        "--scores", metavar="SCORES", help="file with one score per line, in place of MODEL"
    )
    parser.add_argument("--run", dest="run_file", metavar="RUN", help="TREC run")
    parser.add_argument("--qrels", metavar="QRELS", help="TREC judgments for the run")
    add_names(parser, measures=MEASURES)
    add_relevance_level(parser, "default: 1 for runs, else labels must be 0 and 1")
    add_gain(parser)
    add_empty(parser)
    add_complete(parser)
    parser.add_argument(
        "--per-query",
        nargs="?",
        const="-",
        metavar="FILE",
        help="write the values of each query as CSV, to FILE or in place of the table",
    )
    add_reading(parser)


def _add_info(commands):
    parser = add_command(
        commands,
        info,
        "Describe a model file.",
        "example:\n  skcalrank info ndcg.skops --coefficients 20\n",
    )
    parser.add_argument("model", metavar="MODEL", help="model file that fit wrote")
    add_count(
        parser, "--coefficients", "number of the largest coefficients to show", lowest=0, default=10
    )


# -- files -------------------------------------------------------------------------


def _add_convert(commands):
    parser = add_command(
        commands,
        convert,
        "Convert a data file: LETOR lines, CSV, TSV or Parquet.",
        f"{ABOUT_FILES}LETOR lines number queries, and their features become columns f1, f2, ...\n"
        f"\n{ABOUT_CHUNKS}\n"
        "examples:\n  skcalrank convert train.txt.gz train.parquet\n"
        "  skcalrank convert train.csv train.txt --qid-column query\n",
    )
    parser.add_argument("file", metavar="FILE", help="file to read")
    parser.add_argument("output", metavar="OUTPUT", help="file to write")
    add_reading(parser)
    add_n_features(parser)


#: Functions that add the commands, in the order of the help.
COMMANDS = (
    *(_add_demo, _add_compare, _add_fit, _add_predict),
    *(_add_evaluate, _add_info, _add_convert),
)
