"""Scores as SQL: an expression of one document, or a statement that scores a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..data.types import ArrayLike, Estimator
from ..stacking import scorer_of
from ._folding import folded
from ._score_tree import unwrapped
from ._scorer import scorer_document
from ._sql_text import hinge_of, literal, log_of, name_of, number, sum_of
from ._statement import statement

if TYPE_CHECKING:
    from ._additive import Value


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
        For an expression, a linear ranker with the steps before it, as in :func:`to_json`. For a
        statement also a :class:`~skcalrank.TabularRanker`, a :class:`~skcalrank.BoostedRanker`
        without `start`, or a stack of these, without columns of dates, durations and text.
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

    The expression consists of numbers, columns, ``+``, ``-``, ``*``, ``/``, ``CASE`` and, for
    logarithms, ``LN``. Its values are scores up to a constant, which ranks nothing. Where a column
    is NULL the score is NULL, unless a step of the pipeline fills or encodes missing values.
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
    if table is None:
        _refuse_columns(qid, keep)
        _refuse_statements(ranker)
        return _expression(ranker, feature_names, quote)
    document = scorer_document(ranker, feature_names)
    returned = [*([] if qid is None else [qid]), *keep]
    if document is not None:
        return statement(document, table, qid, returned, quote)
    names = "".join(f"t.{name_of(column, quote)}, " for column in returned)
    score = _expression(ranker, feature_names, quote)
    return f"SELECT {names}{score} AS score FROM {table} AS t"


def _refuse_columns(qid: str | None, keep: Sequence[str]) -> None:
    if qid is not None or keep:
        raise ValueError(
            f"qid and keep are columns of a table, got qid={qid!r} and keep={list(keep)!r} for an "
            "expression: pass table=... too, or leave them out."
        )


def _refuse_statements(ranker: Any) -> None:
    """Raise for a ranker whose scores are no expression of a row, but are a statement."""
    model = unwrapped(ranker)
    scorer = scorer_of(model)
    if scorer is not None and (scorer.trees or scorer.reads_queries):
        raise ValueError(
            f"Scores of {type(model).__name__} are no single expression of SQL, but a statement: "
            "pass table='...', the table to score, and qid='...', its column with the query."
        )


def _expression(ranker: Any, feature_names: Any, quote: str) -> str:
    """Return the score of a row as a sum of functions of its columns."""
    score = folded(ranker, feature_names)
    if score.trees:
        raise ValueError(
            "Boosted trees behind other steps, or that begin at a ranker, have no form in to_sql: "
            "use to_json or to_onnx."
        )
    terms: defaultdict[str, list[str]] = defaultdict(list)
    for value, weight in score.slopes.items():
        terms[value.feature].append(f"{number(weight)} * {_value(value, quote)}")
    for hinge, weight in score.hinges.items():
        height = hinge_of(_value(hinge.value, quote), hinge.start, hinge.end)
        terms[hinge.value.feature].append(f"{number(weight)} * {height}")
    cases: defaultdict[str, dict[Any, float]] = defaultdict(dict)
    for category, weight in score.categories.items():
        cases[category.feature][category.value] = weight
    for feature, weights in cases.items():
        terms[feature].append(_cases(feature, weights, quote))
    features = dict.fromkeys([*terms, *score.missing])
    summands = [_summand(name_of(f, quote), terms[f], score.missing.get(f)) for f in features]
    return sum_of([number(score.constant), *summands])


def _cases(feature: str, weights: dict[Any, float], quote: str) -> str:
    """Return the weight of the category of a column, NULL where the column is NULL."""
    column = name_of(feature, quote)
    # A comparison with NULL is not true, and the last branch is for the other categories.
    whens = [f"WHEN {literal(c, quote)} THEN {number(w)}" for c, w in weights.items()]
    cases = f"CASE {column} {' '.join(whens)} ELSE 0.0e0 END"
    return f"(CASE WHEN {column} IS NULL THEN NULL ELSE {cases} END)"


def _summand(column: str, terms: list[str], missing: float | None) -> str:
    added = sum_of(terms)
    if missing is None:
        return added
    return f"(CASE WHEN {column} IS NULL THEN {number(missing)} ELSE {added} END)"


def _value(value: Value, quote: str) -> str:
    column = name_of(value.feature, quote)
    return log_of(column) if value.log else column
