"""Rank items by votes between two of them: ``leaderboard``."""

import json
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..columns import texts
from ..evaluation import Leaderboard, leaderboard
from . import _options as options
from ._files import output, refuse_overwriting
from ._text import paragraphs, width


def add_options(parser: Any) -> None:
    parser.epilog = (
        "Votes are a table, .parquet, .csv or .tsv, with a row for each: two items, and\n"
        "who won (model_a, model_b, tie, 1, 0, 0.5, or the name of the winner).\n\n"
        "examples:\n  skcalrank leaderboard votes.parquet --cluster user\n"
        "  skcalrank leaderboard games.csv --a white --b black --outcome result \\\n"
        "      --order-effect --scale elo --output ratings.html\n"
    )
    options.add_table(parser, "votes VOTES", "table of votes")
    options.add(parser, "--a COLUMN", "first item", default="model_a")
    options.add(parser, "--b COLUMN", "second item", default="model_b")
    options.add(parser, "--outcome COLUMN", "who won", default="winner")
    text = "what other words of the outcome mean: a, b or tie"
    options.add(parser, "--outcomes WORD=SIDE", text, nargs="+", default=[])
    text = "columns of differences a minus b"
    options.add(parser, "--covariates COLUMN", text, nargs="+", default=[])
    text = "whether the first item may have an advantage"
    options.add(parser, "--order-effect", text, action="store_true")
    options.add(parser, "--cluster COLUMN", "who votes")
    options.add(parser, "--weight COLUMN", "weights")
    text = "how a tie counts"
    options.add(parser, "--ties WAY", text, choices=["half", "davidson"], default="half")
    options.add(parser, "--anchor ITEM", "item whose score is 0")
    options.add(parser, "--scale UNIT", "unit of scores", choices=["logit", "elo"], default="logit")
    options.add(parser, "--output FILE", "also write .csv, .json or .html")


def run(args: Namespace) -> str:
    """Print a leaderboard, and write it to a file."""
    write = None
    if args.output is not None:
        write = _WRITERS.get(Path(args.output).suffix.lower())
        if write is None:
            raise ValueError(f"--output must end in {', '.join(_WRITERS)}, got {args.output}")
        refuse_overwriting(args.output, *args.votes)
    names = ("a", "b", "outcome", "covariates", "order_effect", "cluster", "weight", "ties")
    given = {name: getattr(args, name) for name in (*names, "anchor", "scale")}
    board = leaderboard(args.votes, outcomes=_sides(args.outcomes), **given)
    if write is not None:
        with output(args.output) as file:
            file.write(write(board))
    coefficients = [
        f"{name}: {value:.3f} [{low:.3f}, {high:.3f}]"
        for name, value, _, low, high in board.estimates
    ]
    written = f"Written: {args.output}" if write is not None else ""
    return paragraphs(board.table().to_text(width()), "\n".join(coefficients), written)


def _sides(pairs: list[str]) -> dict[str, str]:
    """Return the meaning of words, given as ``word=side``."""
    parts = [pair.rpartition("=") for pair in pairs]
    for pair, (word, _, side) in zip(pairs, parts):
        if not word or side not in ("a", "b", "tie"):
            raise ValueError(f"--outcomes must be as left=a, of a, b and tie, got {pair!r}")
    return {word: side for word, _, side in parts}


def _csv(board: Leaderboard) -> str:
    frame = board.to_frame().astype(object)
    return texts.csv([frame.columns, *frame.where(frame.notna(), None).to_numpy()])


def _json(board: Leaderboard) -> str:
    rows = json.loads(board.to_frame().to_json(orient="records", double_precision=15))
    out = {
        "items": [{k: v for k, v in row.items() if v is not None} for row in rows],
        "coefficients": board.coefficients.to_dict("records"),
        "notes": board.notes,
        "caption": board.caption(),
    }
    return json.dumps(out, indent=1)


_WRITERS: dict[str, Callable[[Leaderboard], str]] = {
    ".csv": _csv,
    ".json": _json,
    ".html": lambda board: board.to_html(),
}
