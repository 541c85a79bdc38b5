"""Scores as SQL: an expression of one document, or a statement that scores a table."""

from collections.abc import Sequence

from ..columns.types import ArrayLike, Estimator
from ._score_document import document_of, reads_queries
from ._score_tree import unwrapped
from ._sql_printer import Expression, Statement


def to_sql(
    ranker: Estimator,
    *,
    table: str | None = None,
    qid: str | None = None,
    keep: Sequence[str] = (),
    feature_names: ArrayLike | None = None,
    quote: str = '"',
) -> str:
    """Write a ranker as SQL: a statement that scores a table, or an expression to order by.

    Parameters
    ----------
    ranker : estimator
        For an expression, a linear ranker with the steps before it, as in :func:`to_json`; for a
        statement whatever :func:`to_json` writes, without columns of dates, durations and text.
    table : str, default=None
        Table to score: its name as SQL has it, or a query in parentheses. None writes an
        expression.
    qid : str, default=None
        Column with the query of a row, which the statement returns. It must be given if scores
        depend on the other documents of the query.
    keep : sequence of str, default=()
        Further columns that the statement returns, such as the id of the document.
    feature_names : list of str, default=None
        Names of the columns; None takes the names of the data frame of `fit`.
    quote : str, default='"'
        Character around names of columns: ``"`` in the standard, a backtick in MySQL, BigQuery
        and Spark. Quotes in categories are doubled, as in the standard; with a backtick, quotes and
        backslashes are escaped by backslashes, as these dialects read them.

    Returns
    -------
    text : str
        With `table` a statement that selects `qid`, the columns of `keep` and ``score``, in this
        order; its rows come in any order. Else an expression to order by, descending.

    Raises
    ------
    ValueError
        As in :func:`to_json`; if a column is read in a way that SQL has not, `qid` is missing,
        `qid` or `keep` is given without `table`, or `quote` is not one character.

    Notes
    -----
    The statement is tested in SQLite and DuckDB. Codes of categories are made once, trees are
    ``CASE`` over them, and what is scaled within a query is a window function. Missing values must
    be NULL: NaN is a number in some databases. Scores are those of `predict`, up to rounding; those
    of XGBoost, which adds its trees in single precision, only up to 1e-6 of their size.

    The expression consists of numbers, columns, ``+``, ``-``, ``*``, ``/``, ``CASE``, ``COALESCE``
    and, for logarithms, ``ABS`` and ``LN``. Where a column is NULL the score is NULL, unless a step
    of the pipeline fills or encodes missing values.
    Columns of truth values must be numbers, as ``CAST(sold AS INTEGER)`` makes them.

    Examples
    --------
    >>> from skcalrank import PrecisionRanker
    >>> from skcalrank.export import to_sql
    >>> ranker = PrecisionRanker(k=1, alpha=0).fit([[0.0], [4.0]], [0, 1], [0, 0])
    >>> to_sql(ranker, feature_names=["match"]).split(" * ")[1]
    '"match"'
    """
    if not isinstance(quote, str) or len(quote) != 1:
        raise ValueError(f"quote must be one character, got {quote!r}.")
    if isinstance(keep, str):
        raise ValueError(f"keep must be a list of names of columns, got {keep!r}: [{keep!r}].")
    if table is None and (qid is not None or keep):
        raise ValueError(
            f"qid and keep are columns of a table, got qid={qid!r} and keep={list(keep)!r} for an "
            "expression: pass table=... too, or leave them out."
        )
    document = document_of(ranker, feature_names)
    if table is None and (document["trees"] or reads_queries(document)):
        raise ValueError(
            f"Scores of {type(unwrapped(ranker)).__name__} are no single expression of SQL, but a "
            "statement: pass table='...', the table to score, and qid='...', its column with the "
            "query."
        )
    if table is None:
        return Expression(document, quote).text()
    if qid is None and reads_queries(document):
        raise ValueError(
            "qid must be the name of the column with the query, because scores depend on the "
            "other documents of the query, got None: pass qid='...'."
        )
    return Statement(document, quote).of(table, qid, [*([] if qid is None else [qid]), *keep])
