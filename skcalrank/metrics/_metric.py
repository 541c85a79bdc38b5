"""The factory of the metric functions, which derives signature and docstring from a measure."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from inspect import Parameter
from typing import Any, Literal, Protocol, cast, overload

from ..data import ArrayLike, Floats, Labels
from ..measures import Measure, get_convention
from ._evaluate import evaluate, measure_score


class Metric(Protocol):
    """A metric function: every one has these parameters, and options of its own."""

    measure: type[Measure]

    @overload
    def __call__(
        self,
        y_true: Labels,
        y_score: ArrayLike,
        *,
        qid: ArrayLike | None = ...,
        k: int | None = ...,
        average: Literal[True] = ...,
        **options: Any,
    ) -> float: ...
    @overload
    def __call__(
        self,
        y_true: Labels,
        y_score: ArrayLike,
        *,
        qid: ArrayLike | None = ...,
        k: int | None = ...,
        average: Literal[False],
        **options: Any,
    ) -> Floats: ...
    @overload
    def __call__(
        self,
        y_true: Labels,
        y_score: ArrayLike,
        *,
        qid: ArrayLike | None = ...,
        k: int | None = ...,
        average: bool,
        **options: Any,
    ) -> float | Floats: ...


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
qid : array-like of shape (n_rows,), default=None
    Query of each row. If None, all rows are one query.
k : int, default=None
    {cutoff}
ties, empty, sample_weight, average, convention
    Policies, as in :func:`measure_score`.
{options}
Returns
-------
value : float or ndarray of shape (n_queries,)

Raises
------
ValueError
    If the input is not a ranking problem, or labels do not fit the measure.
"""

_EXAMPLE = """
Examples
--------
>>> from skcalrank.metrics import {name}
>>> {example}
"""

# Options that are missing here are described in the docstring of the measure.
_OPTIONS = """
relevance_level : float, default=None
    Documents with ``y >= relevance_level`` are relevant. If None, labels must be 0 or 1.
max_grade : float, default=None
    Highest grade of the scale. If None, the largest label given; set it to compare the values of
    several calls, such as folds.
neutral : float, default=0.0
    Label up to which a document is worth nothing.
half_life : float, default=5.0
    Position, greater than 1, at which the discount is one half.
discount : callable, default=None
    Non-increasing function of an array of positions (1, 2, ...). If None, as in the definition.
p : float, default=0.8
    Persistence of the user, in [0, 1): the probability of reading on after each document.
weights : {"difference", "unit"}, default="difference"
    ``y_ij = (y_i - y_j)_+`` or ``1(y_i > y_j)``; ignored for a PreferenceTarget.
normalize : bool, default=False
    Whether to divide by the total weight of the preferences of the query (0 if it has none).
"""


def metric_function(
    name: str,
    measure: type[Measure],
    text: str = "",
    *,
    y_true: str = _LABELS,
    loss: bool = False,
    module: str = "skcalrank.metrics._functions",
) -> Metric:
    """Make the metric function of a measure.

    Parameters
    ----------
    name : str
        Name of the variable that the function is assigned to.
    measure : subclass of Measure, a dataclass
        The measure to compute. Its fields become options of the function.
    text : str, default=""
        Summary, definition and example. If empty, the summary of the measure.
    y_true : str
        Type of ``y_true`` in the docstring.
    loss : bool, default=False
        Whether to return the negative of the measure.
    module : str
        Module of that variable, where pickle looks for the function.

    Returns
    -------
    metric : callable
        ``metric(y_true, y_score, *, qid=None, k=None, ...)``.
    """
    options = _options(measure)
    signature = _signature(measure, options)

    def metric(y_true, y_score, **given):
        _check_keywords(name, given, signature)
        chosen = {option: given.pop(option) for option in options if option in given}
        if not measure.has_cutoff:
            _check_no_cutoff(name, chosen.pop("k", None))
        found, convention = measure(**chosen), given.pop("convention", None)
        if convention is not None:
            own = get_convention(convention)
            found, given = own.apply(found, chosen), own.policies | given
        (value,) = evaluate(y_true, y_score, [found], **given).values()
        # Subtract from zero, so that a loss of zero is 0.0 and not -0.0.
        return 0.0 - value if loss else value

    attributes = {
        "__name__": name,
        "__qualname__": name,
        # Pickle and doctest look for the function in the module that assigns it.
        "__module__": module,
        "__doc__": _docstring(name, measure, text, y_true),
        "__signature__": signature,
        "measure": measure,
    }
    for attribute, value in attributes.items():
        setattr(metric, attribute, value)
    return cast(Metric, metric)


def _options(measure):
    """Return the defaults of the cutoff, which every metric has, and of the fields."""
    return {"k": None} | {field.name: field.default for field in fields(measure)}


def _signature(measure, options):
    """Return the signature of measure_score, with the options in place of the measure."""
    whole = inspect.signature(measure_score)
    _, y_true, y_score, qid, *policies = whole.parameters.values()
    types = {"k": "int | None"} | {field.name: field.type for field in fields(measure)}
    k, *own = (
        Parameter(option, Parameter.KEYWORD_ONLY, default=default, annotation=types[option])
        for option, default in options.items()
    )
    return whole.replace(parameters=[y_true, y_score, qid, k, *policies, *own])


def _docstring(name, measure, text, y_true):
    """Return the docstring of the metric function."""
    of_measure = inspect.getdoc(measure) or ""
    text = inspect.cleandoc(text) or of_measure.partition("\n\n")[0]
    summary, _, example = text.partition("\n\n>>> ")
    docstring = _DOCSTRING.format(
        summary=summary,
        y_true=y_true,
        cutoff=_CUTOFF[measure.has_cutoff],
        options="".join(_entry(option, of_measure) for option in list(_options(measure))[1:]),
    )
    return docstring + (_EXAMPLE.format(name=name, example=example) if example else "")


def _entry(option, of_measure):
    """Return the entry of an option in a section of parameters."""
    entry = rf"^{option} : .*\n(?:    .*\n)*"
    found = re.search(entry, f"{_OPTIONS}\n{of_measure}\n", flags=re.MULTILINE)
    return found[0] if found else f"{option}\n"


def _check_keywords(name, given, signature):
    """Raise TypeError for an argument that is not in the signature."""
    for keyword in given:
        if keyword not in signature.parameters:
            raise TypeError(f"{name}() got an unexpected keyword argument {keyword!r}")


def _check_no_cutoff(name, k):
    """Raise if a cutoff was given for a measure without one."""
    if k is not None:
        raise ValueError(f"k must be None for {name}, which has no cutoff, got {k!r}.")
