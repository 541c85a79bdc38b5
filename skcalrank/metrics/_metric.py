"""The factory of the metric functions, which derives signature and docstring from a measure."""

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from inspect import Parameter
from typing import Any, Literal, Protocol, overload

from ..columns.types import ArrayLike, Floats, Labels
from ..measures import Measure, get_convention
from ._evaluate import evaluated, measure_score
from ._values import RowPolicies


class Metric(Protocol):
    """A metric function: every one has these parameters, and options of its own."""

    measure: type[Measure]

    @overload
    def __call__(
        self,
        y_true: Labels,
        y_score: ArrayLike,
        *,
        average: Literal[True] = ...,
        **options: Any,
    ) -> float: ...
    @overload
    def __call__(
        self,
        y_true: Labels,
        y_score: ArrayLike,
        *,
        average: bool,
        **options: Any,
    ) -> Floats: ...


_LABELS = "array-like of shape (n_rows,) or (n, r)"
_CUTOFF = {
    True: "Cutoff. If None, all documents count.",
    False: "This measure has no cutoff: leave it None.",
}

_DOCSTRING = """\
{summary}

Parameters
----------
y_true : {y_true}
    Relevances, higher is better; one query per value of qid, or per row of a matrix.
y_score : array-like, same shape
    Scores, higher is better.
qid : array-like of shape (n_rows,) or scalar, default=None
    Query of each row, or of all rows. If None, all rows are one query.
k : int, default=None
    {cutoff}
ties, empty, sample_weight, average, convention
    Policies, as in :func:`measure_score`.
{options}
Returns
-------
value : float or ndarray of shape (n_queries,)

See Also
--------
skcalrank.measures.{measure} : The measure, and what it is.
skcalrank.get_scorer : The same in searches and cross-validation, as ``get_scorer("{short}")``.
skcalrank.evaluation.compare : Several systems, with intervals and tests.
"""

_EXAMPLE = """
Examples
--------
>>> from skcalrank.metrics import {name}
>>> {example}
"""


def metric_function(
    measure: type[Measure], *, y_true: str = _LABELS, loss: bool = False
) -> Callable[[Callable[[], None]], Metric]:
    """Return a decorator that makes the metric function of a measure, or of its negative, a loss.

    What is decorated has the name of the function, and as its docstring the summary, definition
    and example; without one, the summary of the measure takes its place. The fields of the measure
    become options of the function, and `y_true` is the type of that argument in the docstring.
    """
    options, whole = _options(measure), inspect.signature(measure_score)
    _, y_true_, y_score_, qid, *policies = whole.parameters.values()
    k, *others = options.values()
    signature = whole.replace(parameters=[y_true_, y_score_, qid, k, *policies, *others])

    def decorate(described: Callable[..., Any]) -> Any:
        name = described.__name__

        @wraps(described)
        def computed_metric(y_true: Any, y_score: Any, **arguments: Any) -> Any:
            for keyword in arguments:
                if keyword not in signature.parameters:
                    raise TypeError(f"{name}() got an unexpected keyword argument {keyword!r}")
            chosen = {option: arguments.pop(option) for option in options if option in arguments}
            if not measure.has_cutoff and (k := chosen.pop("k", None)) is not None:
                raise ValueError(f"k must be None for {name}, which has no cutoff, got {k!r}.")
            given = [arguments.pop(policy, None) for policy in ("ties", "empty", "convention")]
            computed, convention = measure(**chosen), given[-1]
            if convention is not None:
                computed = get_convention(convention).apply(computed, chosen)
            value = evaluated({"": computed}, y_true, y_score, RowPolicies.of(*given), **arguments)
            # Subtract from zero, so that a loss of zero is 0.0 and not -0.0.
            return 0.0 - value[""] if loss else value[""]

        metric: Any = computed_metric
        metric.__doc__ = _docstring(described, measure, y_true)
        metric.__signature__ = signature
        metric.measure = measure
        return metric

    return decorate


def _options(measure: type[Any]) -> dict[str, Parameter]:
    """Return the parameters of the cutoff, which every metric has, and of the fields."""
    options = [("k", None, "int | None"), *((f.name, f.default, f.type) for f in fields(measure))]
    return {
        name: Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, default, annotation in options
    }


def _docstring(described: Callable[..., Any], measure: type[Any], y_true: str) -> str:
    """Return the docstring of the metric function."""
    of_measure = inspect.getdoc(measure) or ""
    text = inspect.getdoc(described) or of_measure.partition("\n\n")[0]
    summary, _, example = text.partition("\n\n>>> ")
    docstring = _DOCSTRING if example == "" else _DOCSTRING + _EXAMPLE
    return docstring.format(
        summary=summary,
        measure=measure.__name__,
        short=measure.name,
        y_true=y_true,
        cutoff=_CUTOFF[measure.has_cutoff],
        options="".join(_entry(option, of_measure) for option in list(_options(measure))[1:]),
        name=described.__name__,
        example=example,
    )


def _entry(option: str, of_measure: str) -> str:
    """Return the entry of an option in the docstring of the measure."""
    entry = re.search(rf"^{option} : .*\n(?:    .*\n)*", f"{of_measure}\n", flags=re.MULTILINE)
    return entry[0] if entry else f"{option}\n"
