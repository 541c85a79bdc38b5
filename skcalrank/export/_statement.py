"""A statement of SQL that scores the rows of a table by a compiled scorer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ._scorer import matrix_columns, refuse_kinds, scaled_columns
from ._sql_text import hinge_of, literal, log_of, name_of, number, sum_of

# Name of the steps, which should not be that of a table.
_STEP = "skcalrank_"

# Codes of an unseen and of a missing level, which come before those of known levels.
_UNSEEN, _MISSING = -1, -2

# Scores whose spread in a query is below this share of the largest count as equal.
_ROUNDING = 1e-9


def statement(
    document: dict[str, Any], table: str, qid: str | None, returned: list[str], quote: str
) -> str:
    """Return the statement that scores a table."""
    return _Statement(document, quote).text(table, qid, returned)


class _Statement:
    """Steps of a statement, of which each adds columns to those of the one before.

    The names of their columns are m, the matrix, and what trees read to the right of it; n, its
    numbers with means for missing ones; d, a and z, or e, b and y where missing ones stay missing,
    on the way to numbers scaled within the query; s, the scores of the members, v, u and l
    on the way to their scaled scores; o, what is returned; q, the query.
    """

    def __init__(self, document: dict[str, Any], quote: str) -> None:
        self.document, self.quote = document, quote
        self.steps: list[str] = []
        self.by_query: bool = document["by_query"]
        self.scaled = any(view["kind"] == "scaled" for view in document["views"])

    def text(self, table: str, qid: str | None, returned: list[str]) -> str:
        """Return the statement."""
        if qid is None and (self.scaled or self.by_query or self.document["in_query"]):
            raise ValueError(
                "qid must be the name of the column with the query, because scores depend on the "
                "other documents of the query, got None: pass qid='...'."
            )
        names = [self._name(column) for column in returned]
        first = [f"{name} AS o{k}" for k, name in enumerate(names)]
        first += [] if qid is None else [f"{self._name(qid)} AS q"]
        self.steps = [f"SELECT {', '.join([*first, *self._matrix()])} FROM {table} AS t"]
        document = self.document
        if document["views"] and document["numbers"]:
            filled = zip(document["numbers"], document["means"])
            self._add(f"COALESCE(m{k}, {number(mean)}) AS n{k}" for k, mean in filled)
            if self.scaled:
                self._scale(document["numbers"], *"ndaz")
        beside = scaled_columns(document)
        if beside:
            self._scale([*beside.values()], *"meby")
            self._add(f"ROUND(y{k} * 1.0e4) / 1.0e4 AS m{place}" for place, k in beside.items())
        scores = [*map(self._view, document["views"]), *map(_trees, document["trees"])]
        self._add(f"{score} AS s{k}" for k, score in enumerate(scores))
        selected = [f"o{k} AS {name_of(column, self.quote)}" for k, column in enumerate(returned)]
        selected.append(f"{self._score()} AS score")
        # A database that put the expressions of codes into each tree would compute them for each.
        once = " MATERIALIZED" if self.quote == '"' else ""
        steps = [f"{_STEP}{k} AS{'' if k else once} ({step})" for k, step in enumerate(self.steps)]
        last = f"{_STEP}{len(steps) - 1}"
        return f"WITH {', '.join(steps)} SELECT {', '.join(selected)} FROM {last}"

    def _name(self, column: str) -> str:
        # With the table, as SQLite takes a quoted name that it does not know for a text.
        return f"t.{name_of(column, self.quote)}"

    def _add(self, columns: Iterable[str]) -> None:
        """Add columns to the last step."""
        last = f"{_STEP}{len(self.steps) - 1}"
        text = f"SELECT *, {', '.join(columns)} FROM {last}"
        self.steps.append(f"{text} WINDOW w AS (PARTITION BY q)" if " OVER w" in text else text)

    def _matrix(self) -> Iterator[str]:
        """Yield the columns of the matrix that the members read."""
        what = "numbers or categories, which all databases read in one way"
        refuse_kinds(self.document, ("number", "flag", "category"), what)
        for place, (_, column, is_used) in enumerate(matrix_columns(self.document)):
            if is_used:
                yield f"{self._column(column)} AS m{place}"

    def _column(self, column: dict[str, Any]) -> str:
        name = self._name(column["name"])
        if column["kind"] == "category":
            return self._codes(name, column)
        value = f"CAST({name} AS DOUBLE)"
        return f"{value} - {number(column['offset'])}" if column["offset"] else value

    def _codes(self, name: str, column: dict[str, Any]) -> str:
        kinds = {isinstance(level, str) for level in [*column["levels"], *column["rare"]]}
        if len(kinds) > 1:
            raise ValueError(
                f"Column {column['name']!r} has levels of text and of numbers, and a column of a "
                "database has one type: convert it to text before fit, or use to_json."
            )
        codes = [*enumerate(column["levels"])]
        codes += [(len(column["levels"]), level) for level in column["rare"]]
        whens = [f"WHEN {literal(level, self.quote)} THEN {code}" for code, level in codes]
        known = f"CASE {name} {' '.join(whens)} ELSE {_UNSEEN} END"
        return f"CASE WHEN {name} IS NULL THEN {_MISSING} ELSE {known} END"

    def _scale(self, numbers: list[int], n: str, d: str, a: str, z: str) -> None:
        """Add numbers as they are scaled within the query, NULL where they are, by some names."""
        # Of the differences, so that equal numbers have exactly their mean.
        self._add(f"{n}{k} - MIN({n}{k}) OVER w AS {d}{k}" for k in numbers)
        self._add(f"{d}{k} - AVG({d}{k}) OVER w AS {a}{k}" for k in numbers)
        spread = f"NULLIF(SQRT(AVG({a}{{0}} * {a}{{0}}) OVER w), 0.0e0)"
        # A constant becomes 0, and a difference that is NULL stays so.
        scaled = f"COALESCE({a}{{0}} / {spread}, {a}{{0}} * 0.0e0) AS {z}{{0}}"
        self._add(scaled.format(k) for k in numbers)

    def _view(self, view: dict[str, Any]) -> str:
        """Return the score of a linear view."""
        numbers, kind = self.document["numbers"], view["kind"]
        if kind == "hinges":
            ends = zip(view["features"], view["starts"], view["ends"])
            curves = [hinge_of(f"n{numbers[k]}", start, end) for k, start, end in ends]
        elif kind == "logs":
            curves = [log_of(f"n{k}") for k in numbers]
        else:
            curves = [f"{'z' if kind == 'scaled' else 'n'}{k}" for k in numbers]
        terms = [f"{number(c)} * {curve}" for c, curve in zip(view["coefficients"], curves)]
        terms += map(_of_levels, self.document["categories"], view["levels"])
        return sum_of([number(view["intercept"]), *terms])

    def _score(self) -> str:
        """Return the score, after adding the scaled scores of the members."""
        weights, members = self.document["weights"], range(len(self.document["weights"]))
        if not self.by_query:
            weights = [weight / spread for weight, spread in zip(weights, self.document["spreads"])]
            return sum_of([f"{number(weight)} * s{k}" for k, weight in zip(members, weights)])
        self._add(f"s{k} - AVG(s{k}) OVER w AS v{k}" for k in members)
        self._add(f"SQRT(AVG(v{k} * v{k}) OVER w) AS u{k}" for k in members)
        self._add(f"{number(_ROUNDING)} * MAX(ABS(s{k})) OVER w AS l{k}" for k in members)
        scaled = [f"CASE WHEN u{k} > l{k} THEN v{k} / u{k} ELSE 0.0e0 END" for k in members]
        return sum_of([f"{number(weight)} * {of}" for weight, of in zip(weights, scaled)])


def _of_levels(column: int, values: list[float]) -> str:
    """Return what a code adds to a view."""
    *codes, unseen, missing = values
    branches = [(_MISSING, missing), (_UNSEEN, unseen), *enumerate(codes[:-1])]
    whens = " ".join(f"WHEN {code} THEN {number(value)}" for code, value in branches)
    return f"CASE m{column} {whens} ELSE {number(codes[-1])} END"


def _trees(forests: list[dict[str, Any]]) -> str:
    """Return the score of the trees of a member."""
    return sum_of([_forest(forest) for forest in forests])


def _forest(forest: dict[str, Any]) -> str:
    trees = [_tree(forest, root) for root in forest["roots"]]
    return f"{number(forest['weight'])} * ({sum_of([number(forest['constant']), *trees])})"


def _tree(forest: dict[str, Any], node: int) -> str:
    """Return a tree, nested on the side with fewer leaves, since databases limit the depth."""
    whens = []
    while node >= 0:
        ways = forest["below"][node], forest["above"][node]
        is_below = _n_leaves(forest, ways[0]) <= _n_leaves(forest, ways[1])
        few, node_of_others = ways if is_below else ways[::-1]
        whens.append(f"WHEN {_condition(forest, node, is_below)} THEN {_tree(forest, few)}")
        node = node_of_others
    value = number(forest["values"][-1 - node])
    return f"CASE {' '.join(whens)} ELSE {value} END" if whens else value


def _n_leaves(forest: dict[str, Any], node: int) -> int:
    if node < 0:
        return 1
    return sum(_n_leaves(forest, forest[way][node]) for way in ("below", "above"))


def _condition(forest: dict[str, Any], split: int, is_below: bool) -> str:
    """Return the condition on which a row goes below a split, or above it."""
    value, codes = f"m{forest['features'][split]}", forest["codes"][split]
    missing_below = forest["missing_below"][split]
    if codes is None:
        of_known = f"{value} {'<=' if is_below else '>'} {number(forest['thresholds'][split])}"
        return f"{of_known} OR {value} IS NULL" if missing_below == is_below else of_known
    # Of each code, from that of missing levels on, whether it goes below. DuckDB would make a join
    # of each list of codes.
    others = range(_UNSEEN, max(codes, default=_UNSEEN) + 1)
    below = [missing_below, *(code in codes for code in others)]
    flags = "".join(str(int(flag)) for flag in below)
    return f"SUBSTR('{flags}', {value} + {1 - _MISSING}, 1) {'=' if is_below else '<>'} '1'"
