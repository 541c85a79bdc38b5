"""The printer of SQL: a statement that scores the rows of a table, or an expression of one row."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._score_document import ROUNDING, matrix_columns, scaled_columns, weights_of

# Name of the steps, which should not be that of a table.
_STEP = "skcalrank_"

# Codes of an unseen and of a missing level, which come before those of known levels.
_UNSEEN, _MISSING = -1, -2

# In texts of MySQL, BigQuery and Spark. BigQuery has no doubled quotes, and texts of one line.
_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r"})

# Databases limit how deep expressions are nested, in which each plus counts.
_MOST_TERMS = 50


class Expression:
    """The score of a row by its columns, without trees and other rows.

    * `used`: the columns of the matrix that members read, with what they are read from.
    * `beside`: the columns to the right of it, with the numbers that they scale.
    """

    prefix = ""

    def __init__(self, document: dict[str, Any], quote: str) -> None:
        what = "numbers or categories, which all databases read in one way"
        columns = matrix_columns(document, ("number", "flag", "category"), what)
        self.document, self.quote = document, quote
        self.used = {place: of for place, (_, of, is_used) in enumerate(columns) if is_used}
        self.beside = scaled_columns(document, len(columns))
        self.means = dict(zip(document["numbers"], document["means"]))

    def text(self) -> str:
        """Return the expression."""
        return self.score(list(map(self.view, self.document["views"])))

    def name(self, column: str) -> str:
        """Return the name of a column of the table."""
        return self.prefix + name_of(column, self.quote)

    def number(self, column: dict[str, Any]) -> str:
        """Return a number as the matrix has it."""
        name, offset = self.name(column["name"]), column["offset"]
        value = f"CAST({name} AS DOUBLE)" if self.prefix else name
        return f"({value} - {number(offset)})" if offset else value

    def filled(self, place: int, value: str) -> str:
        """Return a number of the views, with its mean where it is missing."""
        mean = self.means[place]
        return value if mean is None else f"COALESCE({value}, {number(mean)})"

    def value(self, place: int, is_scaled: bool) -> str:
        """Return a number that a view reads."""
        del is_scaled  # which no expression is
        return self.filled(place, self.number(self.used[place]))

    def view(self, view: dict[str, Any]) -> str:
        """Return the score of a linear view."""
        numbers, kind = self.document["numbers"], view["kind"]
        values = [self.value(place, kind == "scaled") for place in numbers]
        curves = list(map(log_of, values)) if kind.startswith("log") else values
        if "hinges" in kind:
            ends = zip(view["features"], view["starts"], view["ends"])
            curves = [hinge_of(curves[k], start, end) for k, start, end in ends]
        terms = [f"{number(c)} * {curve}" for c, curve in zip(view["coefficients"], curves) if c]
        for place, values in zip(self.document["categories"], view["levels"]):
            texts = ["NULL" if value is None else number(value) for value in values]
            terms += [self.level(place, texts)] if any(value != 0 for value in values) else []
        return sum_of([number(view["intercept"]), *terms])

    def level(self, place: int, values: list[str]) -> str:
        """Return what the level of a category adds to a view."""
        return self.case(self.used[place], values)

    def case(self, column: dict[str, Any], values: list[str]) -> str:
        """Return the value of a level; the last values are of an unseen and of a missing one."""
        if len({isinstance(level, str) for level in [*column["levels"], *column["rare"]]}) > 1:
            raise ValueError(
                f"Column {column['name']!r} has levels of text and of numbers, and a column of a "
                "database has one type: convert it to text before fit, or use to_json."
            )
        *known, unseen, missing = values
        name, others = self.name(column["name"]), [(level, known[-1]) for level in column["rare"]]
        pairs = [*zip(column["levels"], known), *others]
        whens = " ".join(f"WHEN {literal(x, self.quote)} THEN {value}" for x, value in pairs)
        of_known = f"CASE {name} {whens} ELSE {unseen} END" if pairs else unseen
        return f"(CASE WHEN {name} IS NULL THEN {missing} ELSE {of_known} END)"

    def score(self, members: list[str]) -> str:
        """Return the score of the members."""
        return sum_of(list(map(_times, weights_of(self.document), members)))


class Statement(Expression):
    """A statement that scores a table, of steps of which each changes or adds columns.

    The names of their columns are m, the matrix, and what trees read to the right of it; n, its
    numbers with means for missing ones; z, numbers scaled within the query, or y, where missing
    ones stay missing; s, the scores of the members; v, the scaled ones, and l, below which spreads
    count as none; o, what is returned; q, the query.
    """

    prefix = "t."  # as SQLite takes a quoted name that it does not know for a text

    def of(self, table: str, qid: str | None, returned: list[str]) -> str:
        """Return the statement of a table."""
        document, self.columns = self.document, list[str]()
        first = {f"o{k}": self.name(column) for k, column in enumerate(returned)}
        first |= {} if qid is None else {"q": self.name(qid)}
        first |= {f"m{place}": self._cell(column) for place, column in self.used.items()}
        self.steps = [self._selected(first, f"{table} AS t")]
        if document["views"] and document["numbers"]:
            self._add({f"n{k}": self.filled(k, f"m{k}") for k in document["numbers"]})
            if any(view["kind"] == "scaled" for view in document["views"]):
                self._scale({f"z{k}": f"n{k}" for k in document["numbers"]})
        if self.beside:
            self._scale({f"y{place}": f"m{k}" for place, k in self.beside.items()})
            rounded = {f"m{place}": f"ROUND(y{place} * 1.0e4) / 1.0e4" for place in self.beside}
            self._add(rounded, without={f"y{place}" for place in self.beside})
        trees = (sum_of(list(map(_forest, forests))) for forests in document["trees"])
        scores = [*map(self.view, document["views"]), *trees]
        self._add({f"s{k}": score for k, score in enumerate(scores)}, without=self.columns)
        members = [f"s{k}" for k in range(len(scores))]
        if document["by_query"]:
            scaled = {f"v{member}": member for member in members}
            self._scale(scaled, ROUNDING)
            members = list(scaled)
        selected = [f"o{k} AS {name_of(column, self.quote)}" for k, column in enumerate(returned)]
        selected.append(f"{self.score(members)} AS score")
        # A database that put the expressions of codes into each tree would compute them for each.
        once = " MATERIALIZED" if self.quote == '"' else ""
        steps = [f"{_STEP}{k} AS{'' if k else once} ({step})" for k, step in enumerate(self.steps)]
        last = f"{_STEP}{len(steps) - 1}"
        return f"WITH {', '.join(steps)} SELECT {', '.join(selected)} FROM {last}"

    def _cell(self, column: dict[str, Any]) -> str:
        """Return a column of the matrix: a number, or the code of a level."""
        if column["kind"] != "category":
            return self.number(column)
        codes = range(len(column["levels"]) + bool(column["rare"]))
        return self.case(column, [*map(str, codes or [0]), str(_UNSEEN), str(_MISSING)])

    def _add(self, columns: dict[str, str], without: Iterable[str] = ()) -> None:
        """Add a step with columns of some names, and with those of the last step but some.

        A query and what is returned are in all steps, and databases limit the number of columns.
        """
        left = {name for name in without if name[0] not in "oq"}
        kept = {name: name for name in self.columns if name not in left}
        text = self._selected(kept | columns, f"{_STEP}{len(self.steps) - 1}")
        self.steps.append(f"{text} WINDOW w AS (PARTITION BY q)" if " OVER w" in text else text)

    def _selected(self, columns: Mapping[str, str], table: str) -> str:
        self.columns = list(columns)
        named = [x if x == name else f"{x} AS {name}" for name, x in columns.items()]
        return f"SELECT {', '.join(named)} FROM {table}"

    def _scale(self, sources: Mapping[str, str], least: float = 0.0) -> None:
        """Add columns as they are scaled within the query, NULL where they are, by some names.

        Those that vary by less than a share of the largest value are 0, as constants are.
        """
        # Differences, so that equal numbers have exactly their mean. Halves do not overflow.
        low, high = (f"{end}({{0}}) OVER w * 0.5e0" for end in ("MIN", "MAX"))
        width = f"NULLIF({high} - {low}, 0.0e0)"
        shares = {z: f"({{0}} * 0.5e0 - {low}) / {width}".format(x) for z, x in sources.items()}
        bound = f"{number(least / 2)} * MAX(ABS({{0}})) OVER w / {width}"
        bounds = {f"l{z}": bound.format(x) for z, x in sources.items()} if least else {}
        self._add(shares | bounds)
        self._add({z: f"{z} - AVG({z}) OVER w" for z in sources})
        unit = "SQRT(AVG({0} * {0}) OVER w)"
        unit = f"CASE WHEN {unit} > l{{0}} THEN {unit} END" if least else f"NULLIF({unit}, 0.0e0)"
        # A constant becomes 0, and what is NULL stays so.
        scaled = f"COALESCE({{0}} / {unit}, {{1}} * 0.0e0)"
        self._add({z: scaled.format(z, x) for z, x in sources.items()})

    def value(self, place: int, is_scaled: bool) -> str:
        """Return the name of a number that a view reads."""
        return f"{'z' if is_scaled else 'n'}{place}"

    def level(self, place: int, values: list[str]) -> str:
        """Return what a code adds to a view."""
        *codes, unseen, missing = values
        branches = [(_MISSING, missing), (_UNSEEN, unseen), *enumerate(codes[:-1])]
        whens = " ".join(f"WHEN {code} THEN {value}" for code, value in branches)
        return f"CASE m{place} {whens} ELSE {codes[-1]} END"


def name_of(column: str, quote: str) -> str:
    """Return the name of a column between quotes."""
    return quote + column.replace(quote, quote * 2) + quote


def literal(value: Any, quote: str) -> str:
    """Return a text, a truth value or a number."""
    if isinstance(value, str):
        escaped = value.translate(_ESCAPES) if quote == "`" else value.replace("'", "''")
        return f"'{escaped}'"
    if isinstance(value, int):
        # TRUE and FALSE are integers of Python, and floats do not hold all large integers.
        text = str(value).upper()
        return f"({text})" if text.startswith("-") else text
    return number(value)


def number(value: float) -> str:
    """Return a number in floating point."""
    # An exponent makes a number one in floating point, and not a decimal.
    text = repr(float(value))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if text[0] == "-" else text


def sum_of(terms: Sequence[str]) -> str:
    """Return the sum of expressions, in parentheses where there are many."""
    if len(terms) <= _MOST_TERMS:
        return " + ".join(terms) or "0.0e0"
    parts = [terms[k : k + _MOST_TERMS] for k in range(0, len(terms), _MOST_TERMS)]
    return sum_of([f"({sum_of(part)})" for part in parts])


def log_of(value: str) -> str:
    """Return the signed logarithm of an expression."""
    size = f"ABS({value})"
    # LN alone would lose what adding 1 rounds off, which is all of small values.
    log = f"LN(1.0e0 + {size}) * ({value} / ((1.0e0 + {size}) - 1.0e0))"
    return f"(CASE WHEN 1.0e0 + {size} = 1.0e0 THEN {value} ELSE {log} END)"


def hinge_of(value: str, start: float, end: float) -> str:
    """Return the hinge of an expression: 0 up to a start, 1 from an end."""
    low, high = number(start), number(end)
    # Differences of halved values cannot overflow.
    rise = f"({value} * 0.5e0 - {number(start / 2)}) / {number(end / 2 - start / 2)}"
    # A comparison with NULL is not true, and the last branch is NULL then.
    ends = f"WHEN {value} <= {low} THEN 0.0e0 WHEN {value} >= {high} THEN 1.0e0"
    return f"(CASE {ends} ELSE {rise} END)"


def _times(weight: float, member: str) -> str:
    if weight == 1.0:
        return member
    return f"{number(weight)} * {member if member.isalnum() else f'({member})'}"


def _forest(forest: dict[str, Any]) -> str:
    """Return the sum of the trees of a forest."""
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
