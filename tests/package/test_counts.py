"""The counts by room that budgets are made of."""

import pytest
from count_lines import beyond, by_room, read_budget, table

SOURCE = '''"""What the file is for."""

# Why.
import os


def total(first, second=0):
    """Add two numbers."""
    found = first + second
    return found
'''


@pytest.fixture
def rooms(tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    (room / "file.py").write_text(SOURCE)
    (tmp_path / "beside.py").write_text("value = 1; other = 2\n")
    return by_room(tmp_path)


def test_counts_of_rooms(rooms):
    assert rooms["room"] == {
        **{"files": 1, "lines": 10, "imports": 1, "code": 4},
        **{"statements": 4, "parameters": 2, "vague": 1},
    }
    # Joined lines earn nothing.
    assert (rooms["top"]["code"], rooms["top"]["statements"]) == (1, 2)
    assert rooms["all"]["statements"] == 6


def test_a_room_beyond_its_budget_is_named(rooms):
    budget = read_budget("\n".join(table(rooms, ("code", "statements", "parameters", "vague"))))
    assert beyond(rooms, budget) == []
    budget["room"]["code"] -= 1
    del budget["top"]
    assert beyond(rooms, budget) == [
        *("top: 1 code, budget 0", "top: 2 statements, budget 0", "room: 4 code, budget 3")
    ]
