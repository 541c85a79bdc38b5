"""Columns of tables: who reads them, and what they hold."""

from argparse import Namespace
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ..datasets import Columns
from ..pipeline import QueryPipeline
from ..preprocessing import LinearColumns, TableEncoder
from ._rankers import TRANSFORMS, steps_of

# Columns of one kind above this number are not all named.
_MOST_NAMES = 20


def of_table(ranker: Any, transform: str | None, kinds: dict[str, str]) -> Any:
    """Return a ranker that reads columns of any kind; those in `kinds` are of a kind by name."""
    if reads_tables(ranker):
        return ranker.set_params(columns=kinds) if kinds else ranker
    columns: Any = TableEncoder(kinds or None)
    if transform is not None or not takes_missing(ranker):
        columns = LinearColumns(
            TRANSFORMS[transform]() if transform else None, columns=kinds or None
        )
    return QueryPipeline([("columns", columns), ("ranker", ranker)])


def reads_tables(ranker: Any) -> bool:
    """Return whether a ranker, or a pipeline before it, reads columns of text."""
    return isinstance(_inside(ranker), Pipeline) or get_tags(ranker).input_tags.string


def _inside(ranker: Any) -> Any:
    """Return the ranker inside of one that gives its scores a unit, or the ranker itself."""
    return getattr(ranker, "ranker_", getattr(ranker, "ranker", ranker))


def takes_missing(ranker: Any) -> bool:
    """Return whether a ranker takes missing numbers; steps without validation pass them on."""
    tags = (get_tags(step) for _, step in steps_of(ranker))
    return all(tag.no_validation or tag.input_tags.allow_nan for tag in tags)


def encoder_of(ranker: Any) -> TableEncoder | None:
    """Return the encoder by which a fitted ranker reads tables, if it has one."""
    first = steps_of(_inside(ranker))[0][1]
    return first if isinstance(first, TableEncoder) else getattr(first, "encoder_", None)


def columns_of(ranker: Any) -> str:
    """Say which columns of a table a fitted ranker reads, and what they hold."""
    encoder = encoder_of(ranker)
    if encoder is not None:
        return about_columns(encoder)
    names = getattr(ranker, "feature_names_in_", ())
    return f"{_in_short(names)} (number)" if len(names) else ""


def about_columns(encoder: TableEncoder) -> str:
    """Say what the columns of a table hold, and which are left out."""
    used: dict[str, list[Any]] = {}
    left_out: dict[str, list[Any]] = {}
    column: Any
    for column in encoder.columns_:
        kind = column.kind
        if column.category is not None:
            kind = f"{kind}, {column.category.n_levels} levels"
        (used if column.n_outputs else left_out).setdefault(kind, []).append(column.name)
    return "; left out: ".join(
        ", ".join(f"{_in_short(names)} ({kind})" for kind, names in groups.items())
        for groups in (used, left_out)
        if groups
    )


def _in_short(names: Any) -> str:
    """Return names in one line, of many the first and the last."""
    names = [str(name) for name in names]
    names = names if len(names) <= _MOST_NAMES else [*names[:3], "...", names[-1]]
    return ", ".join(names)


def chosen_by(args: Namespace) -> Columns:
    """Return the columns that options choose."""
    text = [name for name, kind in args.columns.items() if kind in ("category", "text")]
    return Columns(features=args.features, drop=tuple(args.drop), text=tuple(text), codes=True)


def columns_for(model: Any) -> Columns:
    """Return the columns that a fitted model reads."""
    names = getattr(model, "feature_names_in_", None)
    text = text_columns(encoder_of(model))
    return Columns(features=None if names is None else list(names), text=text, chosen_by="")


def text_columns(encoder: TableEncoder | None) -> tuple[str, ...]:
    """Return the columns that were text in fit, which a CSV file may show as numbers."""
    columns = [] if encoder is None else encoder.columns_
    return tuple(column.name for column in columns if _is_text(column))


def _is_text(column: Any) -> bool:
    if column.kind != "category":
        return bool(column.kind == "text")
    return all(isinstance(level, str) for level in (*column.levels, *column.rare))
