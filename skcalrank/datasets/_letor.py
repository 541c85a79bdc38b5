"""Files in the format of LETOR, MSLR-WEB and svmlight."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

from ._container import RankingData
from ._files import OPENERS, read_bytes

__all__ = ["load_letor"]


def load_letor(path, *, n_features=None, dtype=np.float64, sparse=False):
    """Read ``relevance qid:Q feature:value ... # comment`` lines.

    Parameters
    ----------
    path : str or Path
        Plain text, or compressed as ``.gz`` or ``.xz``. Where the lines have no qid, a
        file of group sizes beside it, named as LightGBM expects (``NAME.query``, it may
        be compressed too), tells the queries.
    n_features : int, default=None
        Number of features; None = the largest number that occurs. Give it when a test
        file may lack the last features of the training file.
    dtype : dtype, default=float64
        Of X.
    sparse : bool, default=False
        Return X as a CSR matrix.

    Returns
    -------
    data : RankingData
        Unpacks to ``X, y, qid``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file cannot be read, has neither qid nor group sizes, or the sizes do not
        add up.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank.datasets import load_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "train.txt")
    ...     _ = file.write_text("2 qid:7 1:0.5 2:1 # docid = a\\n0 qid:7 2:0.25\\n")
    ...     X, y, qid = load_letor(file)
    >>> X
    array([[0.5 , 1.  ],
           [0.  , 0.25]])
    """
    path = Path(path)
    content = read_bytes(path)
    try:
        with io.BytesIO(content) as file:
            X, y, qid = load_svmlight_file(
                file, n_features=n_features, dtype=dtype, query_id=True, zero_based=False
            )
    except ValueError as error:
        raise ValueError(f"{path} is no file of LETOR lines: {error}") from error
    if len(y) == 0:
        raise ValueError(f"{path} has no rows.")
    if len(qid) == 0:
        qid = _groups_beside(path, len(y))
    if len(qid) != len(y):
        raise ValueError(f"{path} has {len(y)} rows, and {len(qid)} of them name a qid.")
    if not sparse:
        X = X.toarray()
    return RankingData(X, y, qid, description=f"Read from {path.name}.")


def _groups_beside(path: Path, n_rows: int) -> np.ndarray:
    """Query numbers from a file of group sizes."""
    stem = path.with_suffix("") if path.suffix in OPENERS else path
    candidates = [Path(f"{stem}.query{suffix}") for suffix in ("", *OPENERS)]
    found = next((c for c in candidates if c.exists()), None)
    if found is None:
        raise ValueError(
            f"{path} has lines without qid:..., and there is no {candidates[0].name} with "
            "group sizes beside it: nothing says which rows are a query."
        )
    sizes = np.array(read_bytes(found).split(), dtype=np.intp)
    if sizes.sum() != n_rows:
        raise ValueError(
            f"The group sizes in {found.name} sum to {sizes.sum()}, but {path.name} has "
            f"{n_rows} rows."
        )
    return np.repeat(np.arange(len(sizes)), sizes)
