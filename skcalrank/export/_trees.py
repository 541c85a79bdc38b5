"""Boosted trees of every library, as formats in single precision split rows."""

from typing import Any

import numpy as np

from ..preprocessing import ScaledBeside
from ..trees import Forest, TreeScores


def forests_of(model: Any) -> list[Forest]:
    """Return the trees of a fitted ranker or regressor that has some.

    Raise unless they can be written as splits of numbers and known categories.
    """
    if isinstance(getattr(model, "encoder_", None), ScaledBeside):
        raise ValueError(
            f"{type(model).__name__} reads numbers scaled within the query, and what is exported "
            "sees one document at a time: use to_json, to_sql or to_onnx of the whole stack."
        )
    trees: Any = TreeScores.of(model)
    forests = trees.written()
    trees.refuse_link()
    return forests


def columns_of(forests: list[Forest]) -> list[int]:
    """Return the columns of the matrix that trees split."""
    return sorted({column for forest in forests for column in forest.features})


def sources_of(model: Any) -> list[int]:
    """Return the column of the table that each column of the matrix of trees comes from."""
    encoder = getattr(model, "encoder_", None)
    return list(range(model.n_features_in_)) if encoder is None else encoder.sources_.tolist()


def forests_of_numbers(model: Any) -> list[Forest]:
    """Return the trees of a model; raise if they split anything but numbers as they are."""
    forests, sources = forests_of(model), sources_of(model)
    columns: Any = getattr(getattr(model, "encoder_", None), "columns_", ())
    for column in [columns[sources[place]] for place in columns_of(forests)] if columns else []:
        if column.kind == "category":
            raise ValueError(
                f"{type(model).__name__} splits columns of categories, such as {column.name!r}, "
                "and this format reads numbers alone: encode them before, by numbers or "
                "indicators, or use to_json."
            )
        is_number = column.kind in ("number", "flag") and not column.from_text
        if not is_number or column.offset:
            how = "less an offset" if is_number else f"as {column.kind}"
            raise ValueError(
                f"Column {column.name!r} is read {how}, and this format reads numbers as they "
                "are: make them where features are computed, leave the column out with columns="
                f"{{{column.name!r}: 'drop'}}, or use to_json."
            )
    return forests


def single_above(threshold: float) -> float:
    """Return the single b for which x < b where a single x is at most a threshold."""
    largest = np.finfo(np.float32).max
    near = np.float32(np.clip(threshold, -largest, largest))
    # Next to zero, and to the largest number, numpy warns.
    with np.errstate(all="ignore"):
        # Compared in double precision.
        if float(near) > threshold:
            near = np.nextafter(near, np.float32(-np.inf))
        return float(min(np.nextafter(near, np.float32(np.inf)), largest))
