"""Options, and texts of help pages, that several commands share."""

import argparse
from argparse import Namespace
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import Any

from ..columns import WHOLE_BYTES
from ..datasets import TABLES
from ..evaluation import EMPTY_OF_MEANS, PAIRS, TESTS
from ..metrics import get_scorer_names
from ._rankers import AUTO, PEERS, RANKERS, REGRESSORS, TRANSFORMS


def listed(words: Iterable[str]) -> str:
    """Return names as indented lines of a help page."""
    return fill(" ".join(words), 78, initial_indent="  ", subsequent_indent="  ")


ABOUT_MEASURES = f"""\
measures; most of them take a cutoff, as in ndcg@10:
{listed(get_scorer_names())}
"""
ABOUT_RUNS = """\
Runs and judgments are told by what is in the file: lines of TREC, MS MARCO or
BEIR, a header and rows, JSON, JSON lines, or Parquet.
Runs are measured as trec_eval does: documents without a judgment are not
relevant. Judged documents that were not retrieved count among the relevant
ones and in the ideal ranking. Documents with equal scores are sorted by name
from Z to A. The gain of ndcg is the label, and a query without a relevant
document counts 0."""
ABOUT_RANKERS = f"""\
rankers, each named after the measure that it is trained for:
  {" ".join(RANKERS)}
  They are linear, fitted by least squares in closed form. Append @k for a
  cutoff, as in ndcg@5 (ndcg is ndcg@10), and {" or ".join(f"+{n}" for n in REGRESSORS)} for another
  regressor. {AUTO} mixes linear models and boosted trees: slower, and mostly the
  best. It is trained for ndcg@10, and {AUTO}@5 for ndcg@5, whatever --measures
  says."""
ABOUT_PEERS = f"""
  {", ".join(PEERS)}: rankers of these packages, if installed, with
  their defaults, without early stopping
"""
ABOUT_FILES = f"""\
the file format is inferred from the suffix:
  {", ".join(TABLES)} (text also with .gz, .bz2 or .xz) are tables
  with named columns, for which pandas and pyarrow are needed. Features are all
  columns of numbers, truth values, categories, text and dates; in chunks, those
  of numbers alone, but for auto. If the header of a text file does not tell
  what separates fields, or the text is not UTF-8, give --sep and --encoding. A
  table may be in several files, which are read as one: give them all, a folder,
  a pattern in quotes, or a URL that fsspec reads. All other files hold
  LETOR/svmlight lines 'relevance qid:Q feature:value ...', plain or with .gz,
  .bz2 or .xz. If the lines have no qid, the sizes of the queries are read from
  a file NAME.query beside it.
"""
ABOUT_CHUNKS = f"""\
Files above {WHOLE_BYTES >> 20} MB, unpacked, are read in chunks, for which all rows of a query
must be consecutive.
"""


def add(parser: Any, option: str, text: str, **settings: Any) -> None:
    """Add an option, such as ``--output FILE``, or an argument, such as ``model MODEL``.

    The help tells the default, if there is one, behind a text that does not.
    """
    name, _, metavar = option.partition(" ")
    if settings.get("default") not in (None, [], {}) and "default:" not in text:
        text = f"{text}; default: {settings['default']}"
    parser.add_argument(name, help=text, **settings, **({"metavar": metavar} if metavar else {}))


def add_table(parser: Any, option: str, text: str) -> None:
    """Add an argument for the files of a table."""
    add(parser, option, f"{text}; a table may be in several files", nargs="+")


def add_count(parser: Any, option: str, text: str, *, lowest: int = 1, default: Any = None) -> None:
    """Add an option that is an integer of at least ``lowest``."""

    def count(text: str) -> int:
        if not text.isdecimal() or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer >= {lowest}")
        return int(text)

    add(parser, option, text, type=count, default=default)


class _Names(argparse.Action):
    """Collect names, separated by spaces or commas, each once."""

    def __call__(
        self, _parser: Any, namespace: Namespace, values: Any, _option: Any = None
    ) -> None:
        names = (name for text in values for name in text.split(",") if name)
        setattr(namespace, self.dest, list(dict.fromkeys(names)))


def add_names(parser: Any, option: str, default: Sequence[str]) -> None:
    """Add an option that takes several names."""
    text = f"names of {option.strip('-')}, separated by spaces or commas"
    more = f"; default: {' '.join(default)}"
    add(parser, f"{option} NAME", text + more, nargs="+", action=_Names)


def add_relevance_level(parser: Any) -> None:
    text = "label from which a document is relevant, for binary measures and rankers"
    add(parser, "--relevance-level L", text, type=float, default="1")


#: What measures leave open, for rows, and for runs as in trec_eval.
OF_ROWS = {"gain": "exponential", "empty": "skip"}
OF_RUNS = {"gain": "linear", "empty": "zero"}


def add_policies(parser: Any, defaults: dict[str, str] | None = None) -> None:
    """Add what measures leave open; without defaults they are set by `set_policies`."""
    if defaults is None:
        said = {name: f"{OF_ROWS[name]}, for runs {OF_RUNS[name]}" for name in OF_ROWS}
    else:
        said = defaults
        parser.set_defaults(**defaults)
    add_gain(parser, said["gain"])
    add(
        parser,
        "--empty POLICY",
        "value of queries for which a measure is undefined (0/0): skip them, zero, one, or "
        f"error; default: {said['empty']}",
        choices=EMPTY_OF_MEANS,
    )


def add_gain(parser: Any, said: str, **settings: Any) -> None:
    text = f"gain of a label for dcg and ndcg: 2^label - 1, or the label; default: {said}"
    add(parser, "--gain", text, choices=["exponential", "linear"], **settings)


def set_policies(args: Namespace, defaults: dict[str, str]) -> None:
    """Set the policies that the user did not."""
    for name, default in defaults.items():
        if getattr(args, name) is None:
            setattr(args, name, default)


def add_complete(parser: Any) -> None:
    text = "count 0 for judged queries that are missing in a run, as trec_eval -c does"
    add(parser, "--complete", text, action="store_true")


def add_tests(parser: Any) -> None:
    """Add the options of tests and reports."""
    add(parser, "--baseline NAME", "system that all others are compared with; default: the first")
    text = "test every system against the baseline, or all pairs"
    add(parser, "--pairs", text, choices=PAIRS, default="baseline")
    text = "paired test of the differences, corrected by Holm's method"
    add(parser, "--test", text, choices=TESTS, default="t")
    text = (
        "write the comparison in the format of the suffix: .html, a page with plots (needs "
        "matplotlib), .csv, .md or .tex"
    )
    add(parser, "--report FILE", text, nargs="+", default=[])


def add_transform(parser: Any) -> None:
    text = (
        "transform the features first: scale them to mean 0 and variance 1 (standard), map "
        "them to quantiles, take the logarithm of 1 plus the absolute value and keep the sign "
        "(log1p), or scale them within each query; default: none"
    )
    add(parser, "--transform", text, choices=TRANSFORMS)


def add_n_features(parser: Any) -> None:
    add_count(
        parser,
        "--n-features N",
        "number of features of LETOR lines; default: the largest in the file, which is scanned "
        "first if it is read in chunks",
    )


def add_columns(parser: Any) -> Any:
    """Add the names of the columns of a table."""
    parser.set_defaults(features=None, drop=[], columns={})
    group = parser.add_argument_group("reading")
    add(group, "--qid-column NAME", "column of a table with the queries", default="qid")
    add(group, "--label-column NAME", "column of a table with the labels", default="label")
    text = "column of a table with the names of documents"
    add(group, "--doc-column NAME", text, default="docid")
    text = "what separates the fields of a table in text, such as ';' or '\\t'; default: told by "
    add(group, "--sep SEP", f"{text}the suffix and the header")
    text = "encoding of a table in text, such as cp1252; default: UTF-8, or UTF-16 if it says so"
    add(group, "--encoding NAME", text)
    text = "features count from 0 in LETOR lines; default: as in fit, or if some row has feature 0"
    add(group, "--zero-based", text, action="store_true")
    return group


class _Kinds(argparse.Action):
    """Collect kinds of columns by name."""

    def __call__(self, parser: Any, namespace: Namespace, values: Any, _option: Any = None) -> None:
        pairs = [text.rpartition("=") for text in values]
        unclear = [text for text, (name, _, kind) in zip(values, pairs) if not (name and kind)]
        if unclear:
            parser.error(f"argument --columns: {unclear[0]!r} is not NAME=KIND")
        setattr(namespace, self.dest, {name: kind for name, _, kind in pairs})


def add_features(group: Any, *, kinds: bool = True) -> None:
    """Add which columns of a table are features, and what they hold."""
    text = "columns of a table that are features; default: all others"
    add(group, "--features NAME", text, nargs="+")
    add(group, "--drop NAME", "columns that are no features", nargs="+", default=[])
    if kinds:
        text = "what columns hold if values do not tell: number, category, text, date or drop"
        add(group, "--columns NAME=KIND", text, nargs="+", action=_Kinds, default={})


def add_reading(parser: Any, features: str | None = None) -> None:
    """Add options for reading files, and for the choice of features "of any kind" or "numbers"."""
    group = add_columns(parser)
    if features is not None:
        add_features(group, kinds=features == "of any kind")
    add_count(group, "--chunk-rows N", "read chunks of about N rows, which end where a query ends")
    text = "type of features in LETOR lines and in chunks, float32 to save memory"
    add(group, "--dtype", text, choices=["float32", "float64"], default="float64")
