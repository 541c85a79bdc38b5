"""The command line as a whole, and its exit codes."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from itertools import chain
from pathlib import Path

from .._version import __version__
from ._commands import COMMANDS
from ._terminal import say

_EXAMPLES = """\
examples:
  skcalrank demo
  skcalrank compare all.parquet
  skcalrank compare train.txt test.txt --rankers ndcg auto lightgbm
  skcalrank fit train.txt --model ndcg.skops --ranker ndcg@10
  skcalrank predict ndcg.skops test.txt > scores.txt
  skcalrank evaluate ndcg.skops test.txt --measures ndcg@10
  skcalrank info ndcg.skops
  skcalrank convert train.txt train.parquet
'python -m skcalrank' does the same.
"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors begin with the name of the package."""

    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(2, _line("error", message))


def _line(kind, message) -> str:
    return f"skcalrank: {kind}: {message}\n"


def _make_parser():
    as_module = Path(sys.argv[0]).name == "__main__.py"
    parser = _Parser(
        prog="python -m skcalrank" if as_module else "skcalrank",
        description="Learning to rank with surrogate losses that are proved consistent for\n"
        "the measure that you name.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"skcalrank {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in COMMANDS:
        add(commands)
    return parser


def main(argv=None) -> int:
    """Run a command and return the exit code.

    It is 0, 2 for bad input, which is described on stderr, 1 when the reader of the output has
    gone, and 130 when the user stopped the command.
    """
    try:
        args = _make_parser().parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    for option in {"measures", "rankers"} & vars(args).keys():
        chosen = chain.from_iterable(getattr(args, option) or [])
        setattr(args, option, list(dict.fromkeys(chosen)))
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            _print(args.run(args))
    except BrokenPipeError:
        _drop_output()
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


def _fail(reason) -> int:
    say("")
    sys.stderr.write(_line("error", reason))
    return 2


def _show_warning(message, *_):
    say("")
    sys.stderr.write(_line("warning", message))


def _print(text):
    if text:
        try:
            print(text, flush=True)
        except UnicodeEncodeError:
            print(text.translate({ord("±"): "+-", ord("°"): "'"}))


def _drop_output():
    """Discard what is written later, at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
