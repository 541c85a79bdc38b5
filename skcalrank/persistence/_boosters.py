"""Boosters of LightGBM and XGBoost in model files: their text, which is checked before it is read.

The state of a booster in its library is of any kind, and its constructor opens files.
"""

from typing import Any

from ..data import check
from ..trees import ENGINES


class BoosterText:
    """The text of a booster. A call with the parts of one returns the booster."""

    parts: tuple[str, str, int]

    def __new__(cls, engine: str, text: str, best_iteration: int) -> Any:
        check.option("engine", engine, ("lightgbm", "xgboost"))
        booster = ENGINES[engine].load(text)
        if engine == "lightgbm":  # the text of XGBoost has it
            booster.best_iteration = best_iteration
        return booster

    @classmethod
    def of(cls, booster: Any) -> Any:
        """Return the text of a booster."""
        engine = type(booster).__module__.partition(".")[0]
        text = object.__new__(cls)
        best = booster.best_iteration if engine == "lightgbm" else 0
        text.parts = engine, ENGINES[engine].dump(booster), best
        return text

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.parts
