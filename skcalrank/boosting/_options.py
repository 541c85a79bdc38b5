"""Options that a library of boosted trees reads with others only, or not at all."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_FALSE = ("false", "-", "none", "")


class Effects(NamedTuple):
    """Options of a library that have no effect, or an effect under a condition.

    * `none`: names of options without effect, separated by spaces, for each reason.
    * `needs`: names of options, separated by spaces, for each condition under which they are read:
      ``"a or b='x'"`` if option `a` is given and is not 0 or false, or if `b` is 'x'. Parameters of
      the ranker, such as ``loss``, stand under their own names.
    """

    none: Mapping[str, str]
    needs: Mapping[str, str]

    def check(
        self,
        params: dict[str, Any],
        settings: dict[str, Any],
        name_of: Callable[..., Any],
        defaults: Callable[[], dict[str, Any]],
    ) -> None:
        """Raise for options of a user that have no effect, unless they are at their defaults.

        `settings` are parameters of the ranker. `name_of` is a function from names as users write
        them to those of this table, `defaults` one that returns the default values as text.
        """
        reasons, conditions = _by_name(self.none), _by_name(self.needs)
        limited = [name for name in params if name_of(name) in reasons | conditions]
        usual = defaults() if limited else {}
        options = settings | {name_of(name): value for name, value in params.items()}
        for name in limited:
            option = name_of(name)
            if _is(params[name], usual.get(option)):
                continue
            if option in reasons:
                raise ValueError(
                    f"engine_params contains {name!r}, which has no effect: {reasons[option]}. "
                    "Leave it out."
                )
            condition = conditions[option]
            if not any(_is_met(either, options) for either in condition.split(" or ")):
                raise ValueError(
                    f"engine_params contains {name!r}, which is read only with {condition}. Set "
                    f"that too, or leave {name!r} out."
                )


def _by_name(table: Any) -> dict[str, str]:
    """Return the key of each name in a table of names separated by spaces."""
    return {name: key for key, names in table.items() for name in names.split()}


def _is(value: Any, text: Any) -> bool:
    """Return whether a value is that of a text, such as True and "1", or 1 and "1.0"."""
    value = str(int(value) if isinstance(value, bool) else value)
    try:
        return float(value) == float(text)
    except (TypeError, ValueError):
        return value == text


def _is_met(condition: str, options: dict[str, Any]) -> bool:
    name, _, value = condition.partition("=")
    if options.get(name) is None:
        return False
    if value:
        return str(options[name]) == value.strip("'")
    text = str(options[name]).lower()
    try:
        return float(text) > 0
    except ValueError:
        return text not in _FALSE
