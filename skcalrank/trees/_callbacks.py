"""Calls of a user's functions between the rounds of training."""

from collections.abc import Sequence
from typing import Any

#: Values of the measure after each round so far, by the name of the evaluation set.
Values = dict[str, list[float]]


class Rounds:
    """Calls nothing before and after the rounds of one training."""

    def before(self, number: int) -> bool:
        """Call what comes before the round of a number from 0 on; return whether training stops."""
        return False

    def after(self, number: int, values: Values) -> bool:
        """Call what comes after a round; return whether training stops."""
        return False

    def end(self) -> None:
        """Call what comes after the last round."""


class LightGBMRounds(Rounds):
    """Calls callbacks of LightGBM, in their order, as ``lightgbm.train`` does."""

    def __init__(
        self, callbacks: Any, model: Any, measure: str, module: Any, params: Any, n_rounds: int
    ) -> None:
        ordered = sorted(callbacks, key=lambda callback: getattr(callback, "order", 0))
        self._first = [call for call in ordered if getattr(call, "before_iteration", False)]
        self._last = [call for call in ordered if call not in self._first]
        self._module, self._model, self._params = module, model, dict(params)
        self._measure, self._n_rounds = measure, n_rounds

    def before(self, number: int) -> bool:
        return self._call(self._first, number, None)

    def after(self, number: int, values: dict[str, list[float]]) -> bool:
        # Since version 4.7 results are a class of their own.
        result = getattr(self._module, "EvalResult", lambda *parts: parts)
        results = [result(name, self._measure, of[-1], True) for name, of in values.items()]
        return self._call(self._last, number, results)

    def _call(self, callbacks: list[Any], number: int, results: list[Any] | None) -> bool:
        library, rounds = self._module.callback, (number, 0, self._n_rounds)  # from the first on
        environment = library.CallbackEnv(self._model, self._params, *rounds, results)
        try:
            for callback in callbacks:
                callback(environment)
        except library.EarlyStopException:
            return True
        return False


class XGBoostRounds(Rounds):
    """Calls callbacks of XGBoost as ``xgboost.train`` does."""

    def __init__(self, callbacks: Sequence[Any], model: Any, measure: str, *options: Any) -> None:
        self._callbacks, self._model, self._measure = callbacks, model, measure
        self._log: dict[str, dict[str, list[float]]] = {}
        for callback in callbacks:
            callback.before_training(model)

    def before(self, number: int) -> bool:
        calls = [call.before_iteration(self._model, number, self._log) for call in self._callbacks]
        return any(calls)

    def after(self, number: int, values: dict[str, list[float]]) -> bool:
        self._log = {name: {self._measure: of} for name, of in values.items()}
        calls = [call.after_iteration(self._model, number, self._log) for call in self._callbacks]
        return any(calls)

    def end(self) -> None:
        for callback in self._callbacks:
            callback.after_training(self._model)
