"""Progress of long work, as lines that are printed."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


@contextmanager
def timed(verbose: int, caller: str, work: str) -> Iterator[list[str]]:
    """Print what was done, and the time that it took, in the form of scikit-learn's pipelines.

    What is appended to the list that is yielded is printed in between.
    """
    start, results = perf_counter(), [work]
    yield results
    if verbose:
        say(f"[{caller}] {', '.join(results)}, total={perf_counter() - start:6.1f}s")


def say(line: str) -> None:
    """Print a line at once, whole: `print` writes the text and its end apart."""
    # Processes that share an output without a buffer would mix their lines in between.
    print(line + "\n", end="", flush=True)
