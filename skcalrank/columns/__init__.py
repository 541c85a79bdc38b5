"""Arrays and tables, read column by column: conversion, checks, order of rows, and hashes.

Rooms import the modules ``arrays``, ``tables``, ``texts`` and ``types``, and these names.
"""

from ._hash import (
    by_hash,
    first_equal_rows,
    hash_cells,
    hash_keys,
    hash_names,
    hash_rows,
    is_repeatable,
    mixed,
    spread_bits,
)
from ._memory import CACHE_CELLS, CHUNK_ROWS, KEPT_CELLS, MOST_CELLS, PART_CELLS, WHOLE_BYTES
from ._row_order import index_of, row_order
from .arrays import is_missing

__all__: list[str] = []  # a room for others, without public names
