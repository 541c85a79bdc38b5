"""How much is held in memory at a time; a cell is a number of eight bytes.

Sums that are taken part by part depend on these sizes in their last bits.
"""

#: Arrays that are read several times stay in the cache of a processor (1 MB).
CACHE_CELLS = 1 << 17

#: Temporary arrays are made part by part (16 MB).
PART_CELLS = 1 << 21

#: Intermediate results of more cells are made again where they are needed again (512 MB).
KEPT_CELLS = 1 << 26

#: An array of more cells is not made at all (2 GB).
MOST_CELLS = 1 << 28

#: Rows of long tables are read, or made, so many at a time.
CHUNK_ROWS = 1 << 16

#: The command line reads larger files in chunks (256 MB).
WHOLE_BYTES = 1 << 28
