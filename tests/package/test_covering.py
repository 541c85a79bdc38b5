"""The rows of a product that a test runs over, and the cases of a sweep."""

from itertools import combinations, product
from types import SimpleNamespace

import covering
import pytest


@pytest.mark.parametrize("sizes", [(7,), (3, 5), (9, 4, 2), (4, 3, 2, 2, 2), (1, 6, 1)])
def test_rows_show_every_value_and_every_pair(sizes):
    values = covering.rows_of_values(sizes, "test_of_something")
    assert values == covering.rows_of_values(sizes, "test_of_something")
    assert len(values) == max(sizes)
    assert [len({row[j] for row in values}) for j in range(len(sizes))] == list(sizes)
    pairs = covering.rows_of_pairs(sizes, values)
    assert pairs[: len(values)] == values
    assert set(pairs) <= set(product(*map(range, sizes)))
    for i, j in combinations(range(len(sizes)), 2):
        assert len({(row[i], row[j]) for row in pairs}) == sizes[i] * sizes[j]


@pytest.mark.pairs
@pytest.mark.parametrize(("first", "second"), [(1, 2), pytest.param(3, 4, id="named")])
@pytest.mark.parametrize("text", ["a", "b"], ids=str.upper)
@pytest.mark.parametrize("other", [None, str])
def test_names_are_those_of_pytest(first, second, text, other, request):
    numbers = "1-2" if first == 1 else "named"
    name = f"{getattr(other, '__name__', other)}-{text.upper()}-{numbers}"
    assert request.node.name == f"test_names_are_those_of_pytest[{name}]"
    assert second == first + 1


@pytest.mark.parametrize(
    ("path", "parameters", "other", "expected"),
    [
        ("tests/rankers/test_a.py", ["ranker"], None, True),
        ("tests/rankers/test_a.py", ["ranker", ["loss"]], None, False),
        ("tests/rankers/test_a.py", ["ranker", "given,expected"], None, False),
        ("tests/rankers/test_a.py", ["ranker", "loss"], "every_case", False),
        ("tests/rankers/test_a.py", ["ranker", "loss"], "slow", False),
        ("tests/rankers/test_a.py", [], "product", True),
        ("tests/rankers/test_fuzz_a.py", ["ranker"], None, False),
        ("tests/package/test_a.py", ["ranker"], None, False),
        ("tests/package/test_a.py", ["ranker"], "kinds", True),
        ("tests/rankers/test_a.py", ["ranker,method"], "kinds", True),
    ],
)
def test_sweeps_are_over_one_name_at_a_time(path, parameters, other, expected):
    marks = [pytest.mark.parametrize(name, []).mark for name in parameters]
    item = SimpleNamespace(
        nodeid=f"{path}::test_a[1]",
        callspec=None,
        iter_markers={"parametrize": marks}.get,
        get_closest_marker=lambda name: name == other,
    )
    assert covering.is_sweep(item) == expected


def test_a_tenth_of_a_sweep_runs_whatever_other_cases_there_are():
    names = [f"test_of_something[{i}]" for i in range(999)]
    rest = covering.left_out(names)
    assert 860 < len(rest) < 930
    for some in (names[:500], names[::-7]):
        assert covering.left_out(some) == rest & set(some)
    assert covering.left_out(sorted(rest)[:1]) == set()
    # The same in every process, with every version.
    assert set(names[:30]) - rest == {"test_of_something[27]"}


def test_every_kind_of_a_sweep_runs():
    kinds = ["Ridge", "Trees", "Trees-two"]
    names = [kinds[0], *(f"{kind}-{i}" for kind in kinds[1:] for i in range(30))]
    rest = []
    items = [
        SimpleNamespace(
            nodeid=f"tests/package/test_a.py::test_of_something[{name}]",
            name=name,
            callspec=None,
            iter_markers=lambda _: [],
            get_closest_marker=lambda mark: mark == "kinds",
            add_marker=lambda _, name=name: rest.append(name),
        )
        for name in names
    ]
    covering.mark_rest(items)
    kept = [name for name in names if name not in rest]
    assert {name.rpartition("-")[0] or name for name in kept} == {*kinds}
    assert len(kept) < len(names) / 2
