"""What can be asked on the command line, and the exit code."""

from __future__ import annotations

import argparse
import sys
from itertools import chain

from .. import __version__
from ..metrics import get_scorer_names
from ..metrics._evaluate import EMPTY
from ._commands import COMPARE_RANKERS, DEMO_RANKERS, MEASURES, compare, demo, say
from ._rankers import PEERS, RANKERS, REGRESSORS

__all__ = ["main"]

_NAMES = f"""\
measures, most of them with @k behind the name for a cutoff:
  {" ".join(get_scorer_names())}
rankers, by least squares in closed form (Ridge):
  {" ".join(RANKERS)}
  {", ".join(f"+{name}" for name in REGRESSORS)} for another regressor, as in ndcg+trees;
  ndcg is ndcg@10, ndcg@5 another cutoff; {" and ".join(PEERS)} where they are installed
"""

_EXAMPLES = """\
examples:
  python -m skcalrank demo
  python -m skcalrank demo --rankers ndcg ndcg+trees --measures ndcg@10 map
  python -m skcalrank compare train.txt test.txt.gz
  python -m skcalrank compare train.txt test.txt --relevance-level 1 --rankers ndcg map lightgbm
"""


class _Parser(argparse.ArgumentParser):
    """Errors begin with the name of the package, whatever the command."""

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(2, _error(message))


def _error(message) -> str:
    return f"skcalrank: error: {message}\n"


def _names(text):
    return [name for name in text.split(",") if name]


def _count(lowest):
    """An argument that is an integer from ``lowest``."""

    def convert(text):
        if not text.isdigit() or int(text) < lowest:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer from {lowest}")
        return int(text)

    return convert


def _make_parser():
    parser = _Parser(
        prog="python -m skcalrank",
        description="Learning to rank with surrogate losses proved consistent for the measure "
        "you name.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"skcalrank {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(commands)
    _add_compare(commands)
    return parser


def _add_command(commands, run, name, text, examples, rankers):
    parser = commands.add_parser(
        name,
        help=text,
        description=text,
        epilog=f"{_NAMES}\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    for option, default in (("measures", MEASURES), ("rankers", rankers)):
        parser.add_argument(
            f"--{option}",
            nargs="+",
            type=_names,
            metavar="NAME",
            help=f"{option}, apart by spaces or commas; default: {' '.join(default)}",
        )
    return parser


def _add_demo(commands):
    parser = _add_command(
        commands,
        demo,
        "demo",
        "Cross-validate rankers on embedded data: query by example on scikit-learn's digits.",
        "example:\n  python -m skcalrank demo --rankers ndcg ndcg+trees --folds 3\n",
        DEMO_RANKERS,
    )
    for option, lowest, default, text in (
        ("folds", 2, 5, "folds of whole queries"),
        ("queries", 2, 200, "query images"),
        ("documents", 2, 50, "images to rank for each query"),
    ):
        parser.add_argument(
            f"--{option}",
            type=_count(lowest),
            default=default,
            metavar="N",
            help=f"{text}; default: {default}",
        )


def _add_compare(commands):
    parser = _add_command(
        commands,
        compare,
        "compare",
        "Fit rankers on one file, compare them on another, with paired tests against the first.",
        "example:\n  python -m skcalrank compare train.txt test.txt.gz --relevance-level 1 \\\n"
        "      --measures ndcg@10 map --rankers ndcg,map,ndcg+trees,lightgbm\n",
        COMPARE_RANKERS,
    )
    parser.add_argument("train", metavar="TRAIN", help="LETOR/svmlight file: plain, .gz or .xz")
    parser.add_argument("test", metavar="TEST", help="the same; features as in TRAIN")
    parser.add_argument(
        "--relevance-level",
        type=float,
        metavar="L",
        help="for binary measures and rankers, documents with label >= L are relevant; without "
        "it labels must be 0 and 1, and by default binary ones are left out when they are not",
    )
    parser.add_argument(
        "--empty",
        choices=[policy for policy in EMPTY if policy != "nan"],
        default="skip",
        metavar="POLICY",
        help="what a query counts on which a measure is 0/0: skip, zero, one or error; "
        "default: skip",
    )


def main(argv=None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None = those of the process.

    Returns
    -------
    code : int
        0, or 2 when the input is bad: what is wrong is said on stderr.
    """
    try:
        args = _make_parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    for option in ("measures", "rankers"):
        chosen = chain.from_iterable(getattr(args, option) or [])
        setattr(args, option, list(dict.fromkeys(chosen)))
    try:
        _print(args.run(args))
    except ValueError as error:
        say("")
        sys.stderr.write(_error(error))
        return 2
    return 0


def _print(text):
    try:
        print(text)
    except UnicodeEncodeError:
        print(text.translate({ord("±"): "+-", ord("°"): "'"}))
