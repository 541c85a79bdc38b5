"""Which cases of a test run by default: few rows of a product, and one in ten of a sweep.

The rows of a product show every value, or every pair of values. Which rows these are depends on the
name of the test and on the numbers of values only; which cases of a sweep run, on their own names.
"""

import random
from collections import defaultdict
from itertools import combinations, product

import pytest


def rows_of_values(sizes, seed):
    """Rows of indices in which every value of every parameter comes at least once."""
    columns = [[i % size for i in range(max(sizes))] for size in sizes]
    rng = random.Random(seed)
    for column in columns[1:]:
        rng.shuffle(column)
    return list(dict.fromkeys(zip(*columns)))


def pairs_of(row):
    """All pairs of values in a row, each as (parameter, value) twice."""
    return set(combinations(enumerate(row), 2))


def rows_of_pairs(sizes, first):
    """The first rows, and others until every pair of values of two parameters came once."""
    rows, choices = list(first), [[(j, i) for i in range(size)] for j, size in enumerate(sizes)]
    missing = {pair for two in combinations(choices, 2) for pair in product(*two)}
    missing -= {pair for row in rows for pair in pairs_of(row)}
    while missing:
        row = dict(min(missing))
        for j in set(range(len(sizes))) - set(row):
            # The value that completes the most pairs that are missing.
            row[j] = max(
                range(sizes[j]),
                key=lambda i: sum(tuple(sorted([(j, i), item])) in missing for item in row.items()),
            )
        rows.append(tuple(row[j] for j in range(len(sizes))))
        missing -= pairs_of(rows[-1])
    return rows


class Values:
    """The values of one mark ``parametrize``, with their names."""

    def __init__(self, mark):
        names, values = mark.args
        self.names = [n.strip() for n in names.split(",")] if isinstance(names, str) else [*names]
        self.sets, self.ids = list(values), mark.kwargs.get("ids")

    def __len__(self):
        return len(self.sets)

    def values(self, i):
        given = self.sets[i]
        if hasattr(given, "marks"):
            return given.values
        return (given,) if len(self.names) == 1 else tuple(given)

    def marks(self, i):
        return getattr(self.sets[i], "marks", ())

    def id(self, i):
        """As pytest makes it."""
        if getattr(self.sets[i], "id", None) and hasattr(self.sets[i], "marks"):
            return self.sets[i].id
        if self.ids is not None and not callable(self.ids):
            return str(list(self.ids)[i])
        return "-".join(map(self.id_of, self.names, self.values(i), [i] * len(self.names)))

    def id_of(self, name, value, i):
        text = self.ids(value) if callable(self.ids) else None
        if text is None and (value is None or isinstance(value, (str, int, float, complex))):
            text = str(value)
        return str(getattr(value, "__name__", f"{name}{i}") if text is None else text)


def rows_to_run(mark, sizes, seed, slow_too):
    """Rows of indices by whether they are slow: those of a run, of which the default has a part."""
    if mark.name == "pairs":
        return dict.fromkeys(rows_of_pairs(sizes, ()), False)
    values = rows_of_values(sizes, seed)
    if not slow_too:
        return dict.fromkeys(values, False)
    rest = product(*map(range, sizes)) if mark.kwargs.get("whole") else rows_of_pairs(sizes, values)
    return dict.fromkeys(rest, True) | dict.fromkeys(values, False)


def parametrize(metafunc, mark, slow_too):
    """Parametrize a test by few rows of the product of its parameters."""
    parameters = [Values(m) for m in metafunc.definition.own_markers if m.name == "parametrize"]
    others = [m for m in metafunc.definition.own_markers if m.name != "parametrize"]
    metafunc.definition.own_markers[:] = others
    sizes, sets = list(map(len, parameters)), []
    # A parameter without values, as of a library that is not installed: pytest skips the test.
    rows = rows_to_run(mark, sizes, metafunc.function.__name__, slow_too) if all(sizes) else {}
    for row, slow in rows.items():
        chosen = list(zip(parameters, row))
        marks = [mark for p, i in chosen for mark in p.marks(i)] + [pytest.mark.slow] * slow
        values = [value for p, i in chosen for value in p.values(i)]
        sets.append(pytest.param(*values, marks=marks, id="-".join(p.id(i) for p, i in chosen)))
    metafunc.parametrize([name for p in parameters for name in p.names], sets)


def is_sweep(item):
    """Whether a case is one of a property over registries, and not of a table of expected values.

    A table names several parameters at once: what is given and what is expected. Tables, tests of
    the package as a whole, property-based tests and what has the mark ``every_case`` are no sweeps;
    what has the mark ``kinds`` is one.
    """
    if not hasattr(item, "callspec") or item.get_closest_marker("slow"):
        return False
    if item.get_closest_marker("kinds"):
        return True
    whole = "tests/package/" in item.nodeid or "/test_fuzz_" in item.nodeid
    names = [mark.args[0] for mark in item.iter_markers("parametrize")]
    table = any(not isinstance(name, str) or "," in name for name in names)
    return not (whole or table or item.get_closest_marker("every_case"))


def sweep_of(item):
    """The name of the sweep that a case is in; by the mark ``kinds``, each kind is one."""
    if item.get_closest_marker("kinds"):
        return item.nodeid.rpartition("-")[0] or item.nodeid
    return item.nodeid.partition("[")[0]


def draw(name):
    """A number from 0 to 1 that is the same in every process, with every version."""
    return random.Random(name).random()


def left_out(names):
    """The cases of a sweep that the default run leaves out, by their names.

    Other cases have no part in it, except that the one with the lowest draw always runs.
    """
    draws = {name: draw(name) for name in names}
    return {name for name in sorted(draws, key=draws.get)[1:] if draws[name] > 1 / 10}


def mark_rest(items):
    """Mark the cases of sweeps that the default run leaves out."""
    cases_of = defaultdict(list)
    for item in filter(is_sweep, items):
        cases_of[sweep_of(item)].append(item)
    for cases in cases_of.values():
        rest = left_out(case.name for case in cases)
        for case in cases:
            if case.name in rest:
                case.add_marker("rest")
