"""Limits on the size of arrays in memory; a cell is a number of eight bytes.

The last bits of sums that are accumulated part by part depend on these limits.
"""

#: Size of arrays that stay in the processor cache while they are read several times (1 MB).
CACHE_CELLS = 1 << 17

#: Size of temporary arrays, which are made part by part (16 MB).
PART_CELLS = 1 << 21

#: Largest size of intermediate results that are kept; larger ones are recomputed (512 MB).
KEPT_CELLS = 1 << 26

#: Largest size of any array that is made (2 GB).
MOST_CELLS = 1 << 28

#: Number of rows of long tables that are read or made at a time.
CHUNK_ROWS = 1 << 16

#: Largest file that the command line reads at once; larger files are read in chunks (256 MB).
WHOLE_BYTES = 1 << 28
