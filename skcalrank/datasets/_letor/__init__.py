"""Files in the format of LETOR, MSLR-WEB and svmlight."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import DTypeLike

from ...data import check
from .._container import RankingData
from .._files import read_bytes
from ._arrow import Form
from ._chunks import group_file, group_sizes, read_chunks
from ._lines import line_numbers, matrix, parse_whole


@overload
def load_letor(
    path: str | Path,
    *,
    n_features: int | None = ...,
    dtype: DTypeLike = ...,
    sparse: bool = ...,
    chunk_rows: None = ...,
) -> RankingData: ...
@overload
def load_letor(
    path: str | Path,
    *,
    n_features: int | None = ...,
    dtype: DTypeLike = ...,
    sparse: bool = ...,
    chunk_rows: int,
) -> Iterator[RankingData]: ...
def load_letor(
    path: str | Path,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: bool = False,
    chunk_rows: int | None = None,
) -> RankingData | Iterator[RankingData]:
    r"""Read lines ``relevance qid:Q feature:value # comment``, with any number of features.

    Parameters
    ----------
    path : str or Path
        Plain text, or compressed as ``.gz``, ``.bz2`` or ``.xz``. Where the lines have no qid, a
        file of group sizes beside it, named as LightGBM expects (``NAME.query``, it may
        be compressed too), gives the queries.
    n_features : int, default=None
        Number of features; None = the largest number that occurs. Pass it where a test
        file may lack the last features of the training file.
    dtype : dtype, default=float64
        Type of X: float64, float32, or integers, which must hold every value.
    sparse : bool, default=False
        Return X as a CSR matrix.
    chunk_rows : int, default=None
        Read the file in chunks of about so many rows, each up to where a query ends, in the
        memory of one chunk, as ``partial_fit`` of a ranker takes them. All rows of a query must
        then be adjacent. All chunks have the same features: with ``n_features=None`` the file
        is first scanned for its largest feature. None reads the whole file.

    Returns
    -------
    data : RankingData, or iterator of RankingData
        Unpacks to ``X, y, qid``. With `chunk_rows`, an iterator over chunks, which together are
        the whole file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, a line cannot be read, a label is not finite, a feature is infinite
        or does not fit `dtype`, there are neither qid nor group sizes, or the sizes do not add up;
        if one line has a feature so large that the rows would be gigabytes of zeros. With
        `chunk_rows` also if a query of an earlier chunk comes again; a bad line raises
        when the iterator reaches it.

    See Also
    --------
    skcalrank.linear_model.GramRidge : Learns from chunks what it would from all rows at once.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank.datasets import load_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "train.txt")
    ...     _ = file.write_text("2 qid:7 1:0.5 2:1 # docid = a\n0 qid:7 2:0.25\n1 qid:8 1:3\n")
    ...     X, y, qid = load_letor(file)
    ...     chunks = list(load_letor(file, chunk_rows=1))
    >>> X
    array([[0.5 , 1.  ],
           [0.  , 0.25],
           [3.  , 0.  ]])
    >>> chunks
    [RankingData(2 rows, 2 features, 1 queries), RankingData(1 rows, 2 features, 1 queries)]
    """
    of_type = np.dtype(dtype)
    if of_type.kind not in "biu" and of_type not in (np.float32, np.float64):
        raise ValueError(
            f"dtype={str(of_type)!r}: the features can be float64, float32, or integers of any "
            "size."
        )
    if n_features is not None:
        check.count("n_features", n_features, "or None for the largest feature that occurs")
    path, form = Path(path), Form(n_features, dtype, sparse)
    if chunk_rows is not None:
        check.count("chunk_rows", chunk_rows, "or None to read the whole file")
        return (data for data, _ in read_chunks(path, form, chunk_rows))
    source = path if path.is_file() else read_bytes(path)
    X, y, qid = parse_whole(path, source, form)
    if len(y) == 0:
        raise ValueError(f"{path} has no rows.")
    if len(qid) == 0:
        sizes = group_sizes(path, len(y))
        qid = np.repeat(np.arange(len(sizes)), sizes)
    if len(qid) != len(y):
        raise ValueError(f"{path} has {len(y)} rows, and {len(qid)} of them name a qid.")
    X = matrix(path, X, form, line_numbers(source))
    return RankingData(X, y, qid, description=f"Read from {path.name}.")
