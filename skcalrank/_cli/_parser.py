"""The command line as a whole, and its exit codes."""

import argparse
import os
import re
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

from .. import __version__
from ._text import printable, say

#: What each command does. Its options and its work are in the module of its name, which is loaded
#: only for this command, since scikit-learn takes longer to import than this help to read.
COMMANDS = {
    "demo": "Show on embedded data what the measure and the model change.",
    "compare": "Compare rankers, models and scores, with paired tests corrected for their number.",
    "compare-runs": "Compare TREC runs against judgments, with the same paired tests.",
    "leaderboard": "Rank items by votes, with intervals and rank sets.",
    "fit": "Fit a ranker to a file and write it to a model file.",
    "predict": "Score the documents of a file with a model.",
    "evaluate": "Measure a model, scores or a TREC run against labels, with standard errors.",
    "info": "Describe a model file.",
    "convert": "Convert a data file: LETOR lines, CSV, TSV or Parquet.",
}

_EXAMPLES = """\
examples:
  skcalrank demo
  skcalrank compare all.parquet
  skcalrank compare train.txt test.txt --rankers ndcg auto lightgbm
  skcalrank compare-runs bm25.run mine.run --qrels qrels.txt
  skcalrank leaderboard votes.parquet --cluster user
  skcalrank fit train.txt --model ndcg.skops --ranker ndcg@10
  skcalrank predict ndcg.skops test.txt > scores.txt
  skcalrank evaluate ndcg.skops test.txt --measures ndcg@10
  skcalrank info ndcg.skops
  skcalrank convert train.txt train.parquet
'python -m skcalrank' does the same.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors begin with the name of the package."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, _line("error", message))


# Remedies for columns that are arguments of Python, and what stands for them here.
_REMEDIES = (
    (r"columns=\{'([^{}]*)': 'drop'\}(, or X without it)?", r"--drop \1"),
    (r"columns=\{'([^{}]*)': '(\w+)'\}", r"--columns \1=\2"),
    (r"\b(Column '[^']*') of X\b", r"\1"),
    (r"pass kinds='any' to load_table", r"fit with --ranker auto, or without --chunk-rows"),
    (r"Pass gain='linear' to .*; or a function as gain, or", r"Give --gain linear, or"),
)


def _line(kind: str, message: Any) -> str:
    message = printable(message)
    for of_python, ours in _REMEDIES:
        message = re.sub(of_python, ours, message)
    return f"skcalrank: {kind}: {message}\n"


def parse(argv: list[str]) -> argparse.Namespace:
    """Parse words of the command line; ``run`` is the function of the command."""
    parser = _Parser(
        prog="python -m skcalrank" if Path(sys.argv[0]).name == "__main__.py" else "skcalrank",
        description="Learning to rank with surrogate losses that are proved consistent for\n"
        "the measure that you name.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"skcalrank {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, text in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=text,
            description=fill(text, 80),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name in argv:
            module = import_module(f"._{name.replace('-', '_')}", __package__)
            module.add_options(command)
            command.set_defaults(run=module.run)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run a command and return the exit code.

    It is 0, 2 for bad input, which is described on stderr, 1 when the reader of the output has
    gone, and 130 when the user stopped the command.
    """
    try:
        args = parse(sys.argv[1:] if argv is None else argv)
        from ..data import warning_once  # late, as help does not wait for it

        with warnings.catch_warnings(), warning_once():
            warnings.showwarning = _show_once()
            _print(args.run(args))
    except SystemExit as stop:
        return int(stop.code or 0)
    except BrokenPipeError:
        # What is written later, at the end of the process, is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        say("")
        return 130
    except OSError as error:
        return _fail(error if error.filename is None else f"{error.filename}: {error.strerror}")
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        return _fail(
            f"the output holds {character!a}, which cannot be written in {error.encoding}: set "
            "PYTHONIOENCODING=utf-8, or write to a file"
        )
    except MemoryError as error:
        return _fail(f"not enough memory: {error}")
    except (ValueError, ImportError) as error:
        return _fail(error)
    return 0


def _fail(reason: Any) -> int:
    say("")
    sys.stderr.write(_line("error", reason))
    return 2


def _show_once() -> Callable[..., Any]:
    """Return a function that shows warnings, each text once: several rankers have the same."""
    shown = set()

    def show(message: Any, *_: Any) -> None:
        line = _line("warning", message)
        if line not in shown:
            shown.add(line)
            say("")
            sys.stderr.write(line)

    return show


def _print(text: str) -> None:
    if text:
        text = printable(text) if sys.stdout.isatty() else text
        try:
            print(text, flush=True)
        except UnicodeEncodeError:
            print(text.translate({ord("±"): "+-", ord("°"): "'"}))
