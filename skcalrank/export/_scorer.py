"""Compiled scorers of stacks and of boosted trees as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..stacking import scorer_of
from ._additive import plain
from ._score_tree import names_of_features, unwrapped

FORMAT = 2


def scorer_document(ranker: Any, feature_names: Any = None) -> dict[str, Any] | None:
    """Return what JSON holds of a ranker that is a compiled scorer; None of other rankers.

    Columns have the names of features, and an array has columns of numbers.
    """
    check_is_fitted(ranker)
    model = unwrapped(ranker)
    scorer = scorer_of(model)
    if scorer is None:
        return None
    document = scorer.to_dict()
    names = names_of_features(ranker, feature_names)
    number = {"kind": "number", "from_text": False, "offset": 0.0}
    columns = document["columns"] or [number] * len(names)
    named = [_named(column, name) for column, name in zip(columns, names)]
    return {"format": FORMAT, **document, "columns": named}


def _named(column: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a column with another name, and with levels that JSON holds."""
    parts = ("levels", "rare") if "levels" in column else ()
    return {**column, "name": name} | {part: list(map(plain, column[part])) for part in parts}


def matrix_columns(document: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any], bool]]:
    """Yield the column of the table that each column of the matrix comes from.

    With its number in the table, and whether a member reads the column of the matrix.
    """
    forests = [forest for trees in document["trees"] for forest in trees]
    used = {feature for forest in forests for feature in forest["features"]}
    used |= {*scaled_columns(document).values()}
    if document["views"]:
        used |= {*document["numbers"], *document["categories"]}
    places = count()
    for number, column in enumerate(document["columns"]):
        for place in islice(places, _n_outputs(column)):
            yield number, column, place in used


def refuse_kinds(document: dict[str, Any], kinds: tuple[str, ...], what: str) -> None:
    """Raise ValueError for the columns that members read and that are of other kinds."""
    refused = {
        column["name"]: "text" if column.get("from_text") else column["kind"]
        for _, column, is_used in matrix_columns(document)
        if is_used and (column["kind"] not in kinds or column.get("from_text"))
    }
    if refused:
        said = ", ".join(f"{name!r} ({kind})" for name, kind in refused.items())
        raise ValueError(
            f"Columns must hold {what}, got {said}: compute their numbers where features are "
            f"computed, fit with columns={dict.fromkeys(refused, 'drop')}, or use to_json."
        )


def scaled_columns(document: dict[str, Any]) -> dict[int, int]:
    """Return the columns to the right of the matrix that trees read.

    With the column of the matrix that each is, scaled within the query.
    """
    n_columns = sum(map(_n_outputs, document["columns"]))
    beside = dict(enumerate(document["numbers"], n_columns))
    forests = (forest for trees in document["trees"] for forest in trees)
    features = {feature for forest in forests for feature in forest["features"]}
    return {place: beside[place] for place in sorted(features) if place >= n_columns}


def _n_outputs(column: dict[str, Any]) -> int:
    """Return how many columns of the matrix a column of the table has."""
    kind = column["kind"]
    if kind == "text":
        n_words = column["n_flags"] + len(column["table"][0]) - 1 if column["table"] else 0
        return n_words + ("levels" in column)
    if kind == "date":
        return 1 + len(column["parts"])
    return int(kind in ("number", "flag", "duration", "category"))
