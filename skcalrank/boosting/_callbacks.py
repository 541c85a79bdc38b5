"""Calls of a user's functions between the rounds of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from sklearn.callback import CallbackSupportMixin

    Method = TypeVar("Method", bound=Callable[..., Any])

    # Methods have their own types, where scikit-learn's decorator leaves Any.
    def with_callbacks(method: Method) -> Method: ...
else:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:  # scikit-learn before 1.9

        class CallbackSupportMixin:
            """Nothing, where scikit-learn has no callbacks."""

        def with_callbacks(method: Any) -> Any:
            """Return the method."""
            return method


__all__ = [
    "CallbackSupportMixin",
    "LightGBMRounds",
    "Rounds",
    "Values",
    "Watch",
    "XGBoostRounds",
    "with_callbacks",
]

#: Values of the measure after each round so far, by the name of the evaluation set.
Values = dict[str, list[float]]


class Rounds:
    """Calls nothing before and after the rounds of one training."""

    def before(self, number: int) -> bool:
        """Call what comes before the round of a number from 0 on; return whether training stops."""
        del number
        return False

    def after(self, number: int, values: Values) -> bool:
        """Call what comes after a round; return whether training stops."""
        del number, values
        return False

    def end(self) -> bool:
        """Call what comes after the last round; return whether there is no other training."""
        return False


class LightGBMRounds(Rounds):
    """Calls callbacks of LightGBM, in their order, as ``lightgbm.train`` does."""

    def __init__(
        self,
        module: Any,
        callbacks: list[Any],
        model: Any,
        params: dict[str, Any],
        measure: str,
        n_rounds: int,
    ) -> None:
        ordered = sorted(callbacks, key=lambda callback: getattr(callback, "order", 0))
        is_first = [getattr(callback, "before_iteration", False) for callback in ordered]
        self._first = [callback for callback, first in zip(ordered, is_first) if first]
        self._last = [callback for callback, first in zip(ordered, is_first) if not first]
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
        environment = self._module.callback.CallbackEnv(
            model=self._model,
            params=self._params,
            iteration=number,
            begin_iteration=0,
            end_iteration=self._n_rounds,
            evaluation_result_list=results,
        )
        try:
            for callback in callbacks:
                callback(environment)
        except self._module.callback.EarlyStopException:
            return True
        return False


class XGBoostRounds(Rounds):
    """Calls callbacks of XGBoost as ``xgboost.train`` does."""

    def __init__(self, callbacks: list[Any], model: Any, measure: str) -> None:
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

    def end(self) -> bool:
        for callback in self._callbacks:
            callback.after_training(self._model)
        return False


class _Task:
    """A task of a fit that callbacks of scikit-learn follow; without callbacks it does nothing."""

    def __init__(self, context: Any, told: dict[str, Any]) -> None:
        self._context, self._told = context, told
        if context is not None:
            context.call_on_fit_task_begin(**told)

    @classmethod
    def of_fit(cls, estimator: Any, n_parts: int, arguments: dict[str, Any]) -> _Task:
        """Return the task of a whole fit, with at most so many parts."""
        told = {"estimator": estimator, **arguments}
        if "_skl_callbacks" not in vars(estimator):
            return cls(None, told)
        # scikit-learn documents this method for estimators of other packages.
        context = estimator._init_callback_context(max_subtasks=n_parts)  # noqa: SLF001
        return cls(context, told)

    def part(self, name: str, n_parts: int = 0) -> _Task:
        """Begin the next part of the task."""
        if self._context is None:
            return self
        return _Task(self._context.subcontext(task_name=name, max_subtasks=n_parts), self._told)

    def end(self, fitted: Callable[[], dict[str, Any]] | None = None) -> bool:
        """End the task; return whether callbacks stop the tasks of its kind.

        `fitted` returns the attributes of the estimator as if the fit stopped here.
        """
        if self._context is None:
            return False
        return self._context.call_on_fit_task_end(reconstruction_attributes=fitted, **self._told)


class _TaskRounds(Rounds):
    """Tells callbacks of scikit-learn; `fitted` returns attributes after a number of rounds."""

    def __init__(self, task: _Task, fitted: Callable[[int, Values], dict[str, Any]]) -> None:
        self._task, self._fitted = task, fitted
        self._round = task

    def before(self, number: int) -> bool:
        del number
        self._round = self._task.part("round")
        return False

    def after(self, number: int, values: dict[str, list[float]]) -> bool:
        return self._round.end(lambda: self._fitted(number + 1, values))

    def end(self) -> bool:
        return self._task.end()


class _Together(Rounds):
    """Calls several in turn; training stops where one of them says so."""

    def __init__(self, *parts: Rounds) -> None:
        self._parts = parts

    def before(self, number: int) -> bool:
        return max([part.before(number) for part in self._parts])

    def after(self, number: int, values: dict[str, list[float]]) -> bool:
        return max([part.after(number, values) for part in self._parts])

    def end(self) -> bool:
        return max([part.end() for part in self._parts])


class Watch:
    """Who follows a fit: callbacks of the library, and those that scikit-learn has."""

    def __init__(self, callbacks: list[Any], X: Any, y: Any, **metadata: Any) -> None:
        passed = {name: value for name, value in metadata.items() if value is not None}
        self.callbacks, self._arguments = callbacks, {"X": X, "y": y, "metadata": passed}
        self._task = _Task(None, {})
        self._fitted: Callable[[list[Any]], dict[str, Any]] = dict

    def begin(
        self, estimator: Any, n_trainings: int, fitted: Callable[[list[Any]], dict[str, Any]]
    ) -> None:
        """Tell that a fit begins; `fitted` returns the attributes of an estimator with models."""
        self._task = _Task.of_fit(estimator, n_trainings, self._arguments)
        self._fitted = fitted

    def rounds(
        self,
        of_library: Rounds,
        name: str,
        n_rounds: int,
        models: Callable[[int, Values], list[Any]],
    ) -> Rounds:
        """Tell that a training begins; return what calls callbacks between its rounds.

        `models` returns the models so far, the last one after a number of rounds.
        """
        part = self._task.part(name, n_rounds)
        return _Together(of_library, _TaskRounds(part, lambda *now: self._fitted(models(*now))))

    def end(self) -> None:
        """Tell that a fit ends."""
        self._task.end(dict)
