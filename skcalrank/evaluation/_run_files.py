"""Runs and judgments as dicts of dicts, from sources of many kinds and from arrays."""

from typing import Any

import numpy as np

from ..columns import arrays
from ..columns.types import ArrayLike, Floats, Ints
from ..data import check, qid_array
from ._rank_frame import top_rows
from ._run_kinds import QRELS, RUN, name_of
from ._run_sources import Qrels, Run, Scores, collected, loaded


def load_run(source: Any) -> Run:
    r"""Read a run: the scores of the documents that a system retrieved.

    Parameters
    ----------
    source : str, Path, DataFrame, dict or iterable
        One of

        * a text file, plain, ``.gz``, ``.bz2`` or ``.xz``, whose form is told by what is in it:

          - lines ``query Q0 document rank score tag`` (TREC); ranks, words after the tag and lines
            that begin with ``#`` are ignored;
          - lines ``query document rank`` (MS MARCO) or ``query document score``. Whole numbers
            that count from 1 in each query are ranks; those that fall, and all others, are scores;
            where neither is sure, the error says how to tell;
          - a header and rows separated by tabs, commas, semicolons or blanks;
          - JSON or JSON lines of any of the objects below, such as
            ``{"q1": {"d1": 0.9, "d2": 0.8}}`` or ``{"query": "q1", "docid": "d1", "score": 0.9}``;

        * a table ``.parquet``, a DataFrame or a table of pyarrow. Columns, here and in a header,
          are the query (``qid``, ``query_id``, ``query-id``, ``q_id``, ``query``, ``user_id``), the
          document (``docid``, ``doc_id``, ``docno``, ``pid``, ``corpus-id``, ``item_id``) and
          ``score``, or else ``rank``, as in ranx, ir_measures, PyTerrier, BEIR and RecTools (in
          text, NA and null are names);
        * a dict of dicts, or of lists of documents, best first; or an object with ``to_dict``,
          such as ``ranx.Run``;
        * tuples ``(query, document, score)``, objects with ``query_id``, ``doc_id`` and ``score``,
          such as ``ir_measures.ScoredDoc``, or dicts with the names of columns.

        The score of a rank, or of a place in a list, is minus the rank.

    Returns
    -------
    run : Run
        A dict of scores by query and document, with strings as keys: the form that ``ranx.Run``,
        ``ir_measures`` and ``pytrec_eval`` take. The names 11, 11.0 and ``b"11"`` are all
        ``"11"``; text, in files too, stays as it is.

    Raises
    ------
    ValueError
        If a line, name or value cannot be read, or a document appears twice in a query. The error
        names the place. Also if a name is a float that is too large to hold all its digits.

    See Also
    --------
    load_qrels : Read judgments.
    evaluate_run : Evaluate a run against judgments.
    to_run : Make a run from arrays.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank.evaluation import load_run
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "run.txt")
    ...     _ = file.write_text("7 Q0 a 1 0.5 bm25\n7 Q0 b 2 0.25 bm25\n")
    ...     load_run(file)
    {'7': {'a': 0.5, 'b': 0.25}}
    """
    return Run(loaded(source, RUN))


def load_qrels(source: Any) -> Qrels:
    """Read judgments: the relevances of documents.

    Parameters
    ----------
    source : str, Path, DataFrame, dict or iterable
        As in :func:`load_run`, except lists. Lines are ``query 0 document relevance`` (TREC, MS
        MARCO), ``query document relevance`` (BEIR), or those of a judgment list or of LETOR,
        ``relevance qid:Q ... # document`` or ``... # docid = document``. The column of values is
        ``relevance``, ``rel``, ``label``, ``score``, ``grade`` or ``rating`` (Quepid).

    Returns
    -------
    qrels : Qrels
        A dict of relevances by query and document, with strings as keys; whole numbers are ``int``.

    Raises
    ------
    ValueError
        As in :func:`load_run`.

    See Also
    --------
    load_run : Read a run.
    evaluate_run : Evaluate a run against judgments.
    to_qrels : Make judgments from arrays.

    Examples
    --------
    >>> from skcalrank.evaluation import load_qrels
    >>> load_qrels({7: {"a": 1.0, "b": 0}})
    {'7': {'a': 1, 'b': 0}}
    """
    return Qrels(
        {
            query: {d: int(v) if v.is_integer() else v for d, v in documents.items()}
            for query, documents in loaded(source, QRELS).items()
        }
    )


def to_run(
    y_score: ArrayLike, qid: ArrayLike, ids: ArrayLike | None = None, *, k: int | None = None
) -> Run:
    """Make a run from arrays, for the measures of other packages.

    Parameters
    ----------
    y_score : array-like of shape (n_rows,)
        Scores, higher is better.
    qid : array-like of shape (n_rows,)
        Query of each row.
    ids : array-like of shape (n_rows,), default=None
        Name of each document. If None, the row number, from 0.
    k : int, default=None
        Number of documents to keep in each query. If None, all.

    Returns
    -------
    run : Run
        A dict of scores by query and document, with strings as keys, best document first; equal
        scores are in row order.

    Raises
    ------
    ValueError
        If lengths differ, a name or value is missing, or different scores are equal in double
        precision.

    See Also
    --------
    to_qrels : Make judgments from arrays.
    rank_frame : The rankings of a model as a DataFrame.

    Examples
    --------
    >>> from skcalrank.evaluation import to_run
    >>> to_run([0.5, 0.75, 0.25], ["a", "a", "b"], ["d1", "d2", "d1"])
    {'a': {'d2': 0.75, 'd1': 0.5}, 'b': {'d1': 0.25}}
    """
    check.row_order(y_score=y_score, qid=qid, ids=ids)
    scores = check.scores(y_score, np.shape(y_score)[:1])
    arrays.refuse_rounding(y_score, "y_score")
    queries = check.queries(qid, len(scores))
    rows, _ = top_rows(scores, queries, k)
    return Run(_by_query(scores, queries, ids, rows))


def to_qrels(
    y_true: ArrayLike, qid: ArrayLike | None = None, ids: ArrayLike | None = None
) -> Qrels:
    """Make judgments from arrays, for the measures of other packages.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Relevances; may carry the queries.
    qid : array-like of shape (n_rows,), default=None
        Query of each row. If None, the queries that `y_true` carries.
    ids : array-like of shape (n_rows,), default=None
        Name of each document. If None, the row number, from 0.

    Returns
    -------
    qrels : Qrels
        A dict of relevances by query and document, with strings as keys; whole numbers are ``int``.

    Raises
    ------
    ValueError
        If there are no queries, lengths differ, or a name or value is missing.

    See Also
    --------
    to_run : Make a run from arrays.

    Examples
    --------
    >>> from skcalrank.evaluation import to_qrels
    >>> to_qrels([0, 2, 1], ["a", "a", "b"])
    {'a': {'0': 0, '1': 2}, 'b': {'2': 1}}
    """
    check.row_order(y_true=y_true, qid=qid, ids=ids)
    y, queries = check.target(y_true, qid, name="y_true")
    if queries.names is None:
        raise ValueError("to_qrels needs the queries of the rows: pass qid, or a RankingTarget.")
    return load_qrels(_by_query(queries.ungroup(y), queries, ids, np.arange(len(y))))


def _by_query(values: Floats, queries: Any, ids: Any, rows: Ints) -> Scores:
    ids = np.arange(len(values)) if ids is None else qid_array(ids, "ids")
    if ids.shape != values.shape:
        raise ValueError(f"ids must have one name per row, got shape {ids.shape}.")
    names, codes = [name_of(name, "qid") for name in queries.names], queries.codes
    triples = (
        (names[codes[row]], str(name_of(ids[row], f"ids[{row}]")), values[row].item())
        for row in rows
    )
    return collected(triples, "qid and ids")
