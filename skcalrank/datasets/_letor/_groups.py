"""Files of group sizes, beside files of LETOR lines without qid."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._files import plain_or_compressed, read_bytes, without_packing


def group_file(path: Path) -> Path | None:
    """Return the file with the group sizes of a file, if there is one."""
    return plain_or_compressed(Path(f"{without_packing(path)}.query"))


def group_sizes(path: Path, n_rows: int | None = None) -> np.ndarray:
    """Return the group sizes in the file beside a file; raise unless they sum to its rows."""
    file = group_file(path)
    if file is None:
        raise ValueError(
            f"{path} has lines without qid:..., and there is no {without_packing(path).name}.query "
            "with group sizes beside it: add one, or a qid to each line."
        )
    words = read_bytes(file).split()
    bad = [word for word in words if not word.isdigit() or len(word) > 18]
    if bad:
        raise ValueError(
            f"{file} holds {bad[0].decode(errors='replace')!r}, which is not a group size."
        )
    sizes = np.array(words, dtype=np.intp)
    if n_rows is not None and sizes.sum() != n_rows:
        raise ValueError(
            f"The group sizes in {file.name} sum to {sizes.sum()}, but {path.name} has {n_rows} "
            "rows."
        )
    return sizes
