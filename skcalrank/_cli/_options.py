"""Options, and texts of help pages, that several commands share."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from textwrap import fill
from typing import Any

from ..data import WHOLE_BYTES
from ..datasets import TABLES
from ..evaluation import TESTS
from ..metrics import EMPTY, get_scorer_names
from ._files import RATIO
from ._rankers import AUTO, PEERS, RANKERS, REGRESSORS, TRANSFORMS


def listed(words: Iterable[str]) -> str:
    """Return names as indented lines of a help page."""
    return fill(" ".join(words), 78, initial_indent="  ", subsequent_indent="  ")


ABOUT_MEASURES = f"""\
measures; most of them take a cutoff, as in ndcg@10:
{listed(get_scorer_names())}
"""
ABOUT_RUNS = """\
For runs, documents without a judgment are not relevant. Judged documents that
were not retrieved count among the relevant ones and in the ideal ranking.
Documents with equal scores are sorted by name from Z to A, as in trec_eval,
whose ndcg uses --gain linear."""
ABOUT_RANKERS = f"""\
rankers, each named after the measure that it is trained for:
  {" ".join(RANKERS)}
  They are linear, fitted by least squares in closed form. Append @k for a
  cutoff, as in ndcg@5 (ndcg is ndcg@10), and {" or ".join(f"+{n}" for n in REGRESSORS)} for another
  regressor. {AUTO} mixes linear models and boosted trees: slower, and mostly the
  best."""
ABOUT_PEERS = f"\n  {' and '.join(PEERS)}: rankers of these packages, if installed\n"
ABOUT_FILES = f"""\
the file format is inferred from the suffix:
  {", ".join(TABLES)} (text also with .gz, .bz2 or .xz) are tables
  with named columns, for which pandas and pyarrow are needed. Features are the
  columns of numbers; fit and compare also take columns of text, which linear
  rankers encode as indicators. All other files hold LETOR/svmlight lines
  'relevance qid:Q feature:value ...', plain or with .gz, .bz2 or .xz. If the
  lines have no qid, the sizes of the queries are read from a file NAME.query
  beside it.
"""
ABOUT_CHUNKS = f"""\
Files above {WHOLE_BYTES >> 20} MB ({WHOLE_BYTES // RATIO >> 20} MB if compressed) are read in \
chunks, for which all rows
of a query must be consecutive.
"""


class _Names(argparse.Action):
    """Collect names, separated by spaces or commas, each once."""

    def __call__(self, _parser, namespace, values, _option=None):
        names = (name for text in values for name in text.split(",") if name)
        setattr(namespace, self.dest, list(dict.fromkeys(names)))


#: Options that are the same in several commands.
_SHARED: dict[str, dict[str, Any]] = {
    "--gain": {
        "choices": ["exponential", "linear"],
        "help": "gain of a label for dcg and ndcg: 2^label - 1, or the label; default: exponential",
    },
    "--empty": {
        "choices": [policy for policy in EMPTY if policy != "nan"],
        "default": "skip",
        "metavar": "POLICY",
        "help": "value of queries for which a measure is undefined (0/0): skip them, zero, one, or "
        "error; default: skip",
    },
    "--complete": {
        "action": "store_true",
        "help": "count 0 for judged queries that are missing in a run, as trec_eval -c does",
    },
    "--transform": {
        "choices": TRANSFORMS,
        "help": "transform the features first: scale them to mean 0 and variance 1 (standard), map "
        "them to quantiles, take the logarithm of 1 plus the absolute value and keep the sign "
        "(log1p), or scale them within each query; default: none",
    },
    "--baseline": {
        "metavar": "NAME",
        "help": "system that all others are compared with; default: the first",
    },
    "--test": {
        "choices": TESTS,
        "default": "t",
        "help": "paired test of the differences, corrected by Holm's method; default: t",
    },
    "--report": {
        "nargs": "+",
        "default": [],
        "metavar": "FILE",
        "help": "write the comparison in the format of the suffix: .html, a page with plots (needs "
        "matplotlib), .csv, .md or .tex",
    },
}


def add_shared(parser, *options):
    """Add options that are the same in several commands."""
    for option in options:
        parser.add_argument(option, **_SHARED[option])


def add_names(parser, option, default):
    """Add an option that takes several names."""
    parser.add_argument(
        option,
        nargs="+",
        action=_Names,
        metavar="NAME",
        help=f"names of {option.strip('-')}, separated by spaces or commas; default: "
        f"{' '.join(default)}",
    )


def add_relevance_level(parser, default):
    parser.add_argument(
        "--relevance-level",
        type=float,
        metavar="L",
        help=f"label from which a document is relevant, for binary measures and rankers; {default}",
    )


def add_count(parser, option, text, *, lowest=1, default=None, metavar="N"):
    """Add an option that is an integer of at least ``lowest``."""

    def count(text):
        if not text.isdecimal() or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer >= {lowest}")
        return int(text)

    if default is not None:
        text = f"{text}; default: {default}"
    parser.add_argument(option, type=count, default=default, metavar=metavar, help=text)


def add_n_features(parser):
    add_count(
        parser,
        "--n-features",
        "number of features of LETOR lines; default: the largest in the file, which is scanned "
        "first if it is read in chunks",
    )


def add_columns(parser):
    """Add the names of the columns of a table."""
    group = parser.add_argument_group("reading")
    columns = {"qid": "queries", "label": "labels", "doc": "names of documents"}
    for column, content in columns.items():
        default = "docid" if column == "doc" else column
        group.add_argument(
            f"--{column}-column",
            default=default,
            metavar="NAME",
            help=f"column of a table with the {content}; default: {default}",
        )
    return group


def add_reading(parser):
    """Add options for reading files."""
    group = add_columns(parser)
    add_count(group, "--chunk-rows", "read chunks of about N rows, which end where a query ends")
    group.add_argument(
        "--dtype",
        choices=["float32", "float64"],
        default="float64",
        help="type of the features: float32 takes half the memory; default: float64",
    )
