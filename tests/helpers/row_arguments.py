"""Public functions and methods that take several arguments of the same rows, by signature."""

import inspect
import re
from functools import cache

from public import public_names

#: Arguments that have an entry for each row, by what the rows are.
FAMILIES = {
    "documents": {
        *("X", "y", "qid", "sample_weight", "y_true", "y_score", "y_value", "targets", "groups"),
        *("labels", "ids", "item_names", "scores", "judge", "judged_probability", "p"),
        *("order_scores", "contributions", "Y"),
    },
    "new documents": {"X_new", "qid_new"},
    "documents of validation": {"X_val", "y_val", "qid_val"},
    "preferences": {"winner_rows", "loser_rows", "weight", "judgment"},
    "choices": {"shown", "chosen", "weight"},
    "sessions": {"shown_rows", "clicked_position"},
    "impressions": {"shown_rows", "position", "impressions", "clicks"},
    "votes": {"orders", "weights"},
}


def parameters(function):
    """The parameters of a function by name, without the one of its instance."""
    try:
        given = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}
    return {name: of for name, of in given.items() if name not in ("self", "cls")}


def several(function):
    """Families of which a function has several arguments, with the names of these."""
    chosen = {kind: [n for n in parameters(function) if n in of] for kind, of in FAMILIES.items()}
    return {kind: names for kind, names in chosen.items() if len(names) > 1}


def documented(function):
    """Parameters with an entry for each row, by the docstring of a function."""
    text = (inspect.getdoc(function) or "").split("\nReturns\n")[0]
    shape = r"(?m)^([\w, ]+) : .*of shape \(n_(?:rows|new|orders|preferences|choices|impressions)\b"
    found = {name for names in re.findall(shape, text) for name in names.split(", ")}
    return found & set(parameters(function))


def methods(cls):
    """Public methods that this package defines, by name."""
    found = inspect.getmembers(cls, inspect.isroutine)
    return {
        name: of
        for name, of in found
        if (name == "__call__" or not name.startswith("_"))
        and str(getattr(of, "__module__", "")).startswith("skcalrank")
    }


@cache
def public_calls():
    """Public functions, classes and methods, by names such as ``"NDCGRanker.fit"``."""
    found = {}
    for name, value in public_names().items():
        if callable(value):
            found[name] = value
        if inspect.isclass(value):
            found |= {f"{name}.{method}": of for method, of in methods(value).items()}
    return found
