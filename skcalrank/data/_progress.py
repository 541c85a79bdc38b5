"""Progress of long work, as lines that are printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


@contextmanager
def timed(verbose: int, caller: str, work: str) -> Iterator[None]:
    """Print what was done, and the time that it took, in the form of scikit-learn's pipelines."""
    start = perf_counter()
    yield
    if verbose:
        print(f"[{caller}] {work}, total={perf_counter() - start:6.1f}s", flush=True)
