"""The rows of a product that a test runs over."""

from itertools import combinations, product

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
