"""Files in the format of LETOR, MSLR-WEB and svmlight."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict, overload

import numpy as np
from numpy.typing import DTypeLike

from ...columns.types import Unpack
from ...data import check
from .._container import RankingData
from ._chunks import group_file, read_chunks
from ._lines import Form, document_of, is_row


class _Options(TypedDict, total=False):
    """What the overloads of the function below have in common, for type checkers."""

    n_features: int | None
    dtype: DTypeLike
    sparse: bool
    zero_based: bool | str


@overload
def load_letor(
    path: str | Path, *, chunk_rows: None = ..., **options: Unpack[_Options]
) -> RankingData: ...
@overload
def load_letor(
    path: str | Path, *, chunk_rows: int, **options: Unpack[_Options]
) -> Iterator[RankingData]: ...
def load_letor(
    path: str | Path,
    *,
    n_features: int | None = None,
    dtype: DTypeLike = np.float64,
    sparse: bool = False,
    zero_based: bool | str = "auto",
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
    zero_based : bool or "auto", default="auto"
        Whether features are numbered from 0, as by ``sklearn.datasets.dump_svmlight_file``, and not
        from 1, as in LETOR. ``"auto"`` is True if some row has a feature 0. Of a training and a
        test file only one may have it: say which it is where values of 0 are left out.
    chunk_rows : int, default=None
        Read the file in chunks of about so many rows, each up to where a query ends, in the
        memory of one chunk, as ``partial_fit`` of a ranker takes them. All rows of a query must
        then be adjacent. All chunks have the same features: with ``n_features=None`` the file
        is first scanned for its largest feature. None reads the whole file.

    Returns
    -------
    data : RankingData, or iterator of RankingData
        Unpacks to ``X, y, qid``; a value ``NULL`` or ``nan`` is missing (NaN). ``data.ids`` are the
        documents that the comments name, by ``docid = NAME`` or the first word, if all rows name
        one and no query one twice; else None. With `chunk_rows`, an iterator over chunks, which
        together are the whole file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is damaged, a line cannot be read, a label is not finite, a feature is infinite
        or does not fit `dtype`, there are neither qid nor group sizes, or the sizes do not add up;
        if no row has a feature, as in a judgment list, which
        :func:`~skcalrank.evaluation.load_qrels` reads; if a carriage return ends a line;
        if one line has a feature so large that the rows would be gigabytes of zeros. With
        `chunk_rows` also if a query of an earlier chunk comes again; a bad line raises
        when the iterator reaches it.

    See Also
    --------
    skcalrank.evaluation.load_qrels : Judgments, also of such lines.
    skcalrank.linear_model.GramRidge : Learns from chunks what it would from all rows at once.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank.datasets import load_letor
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "train.txt")
    ...     _ = file.write_text("2 qid:7 1:0.5 2:1 # a\n0 qid:7 2:0.25 # b\n1 qid:8 1:3 # c\n")
    ...     X, y, qid = data = load_letor(file)
    ...     chunks = list(load_letor(file, chunk_rows=1))
    >>> X
    array([[0.5 , 1.  ],
           [0.  , 0.25],
           [3.  , 0.  ]])
    >>> data.ids.tolist()
    ['a', 'b', 'c']
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
    is_said = isinstance(zero_based, (bool, np.bool_))
    if not is_said and zero_based != "auto":
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}.")
    form = Form(n_features, dtype, sparse, zero_based=bool(zero_based) if is_said else "auto")
    if chunk_rows is not None:
        check.count("chunk_rows", chunk_rows, "or None to read the whole file")
        return (data for data, _ in read_chunks(path, form, chunk_rows))
    data, _ = next(read_chunks(path, form, sys.maxsize))
    return data
