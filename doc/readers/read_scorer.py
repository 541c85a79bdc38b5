"""Scores of documents by the JSON of skcalrank.export.to_json, without skcalrank or numpy."""

import math
import re
import struct
from datetime import datetime, timedelta, timezone


def scores(model, rows):
    """Return the scores of the documents of one query, dicts of values by column."""
    if not rows:
        return []
    matrix = [[x for c in model["columns"] for x in read(c, row.get(c["name"]))] for row in rows]
    filled = list(zip(model["numbers"], with_nan(model["means"])))
    numbers = [[m if math.isnan(row[k]) else row[k] for k, m in filled] for row in matrix]
    levels = [[row[k] for k in model["categories"]] for row in matrix]
    if model["in_query"]:
        beside = [scaled([row[k] for row in matrix]) for k in model["numbers"]]
        matrix = [[*row, *(round(x, 4) for x in z)] for row, z in zip(matrix, zip(*beside))]
    members = []
    for view in model["views"]:
        curves = CURVES[view["kind"]](view, numbers)
        of_levels = [sum(map(value_of_level, view["levels"], row)) for row in levels]
        of_curves = [sum(map(float.__mul__, view["coefficients"], row)) for row in curves]
        members.append([view["intercept"] + a + b for a, b in zip(of_levels, of_curves)])
    for forests in model["trees"]:
        members.append([sum(forest_score(forest, row) for forest in forests) for row in matrix])
    if model["by_query"]:
        members = [scaled(member, 1e-9) for member in members]
    else:
        members = [[x / s for x in member] for member, s in zip(members, model["spreads"])]
    return [sum(w * x for w, x in zip(model["weights"], row)) for row in zip(*members)]


def read(column, value):
    """Return the numbers of a value in a column."""
    return with_nan(READERS[column["kind"]](column, None if value != value else value))


def with_nan(numbers):
    return [math.nan if x is None else float(x) for x in numbers]


def read_number(column, value):
    if isinstance(value, str) and not column["from_text"]:
        raise ValueError(f"{column['name']} must be a number, got {value!r}")
    return [None if value is None else float(value) - column["offset"]]


def read_category(column, value):
    if value is None or value in column["levels"]:
        return [None if value is None else column["levels"].index(value)]
    return [len(column["levels"]) if value in column["rare"] else -1]


def read_date(column, value):
    if value is None:
        return [None] * (1 + len(column["parts"]))
    moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
    moment = moment.astimezone(timezone.utc).replace(tzinfo=None) if moment.tzinfo else moment
    since = (moment - datetime(1970, 1, 1)) // timedelta(microseconds=1) - column["first"]
    parts = {"weekday": moment.weekday(), "dayofyear": moment.timetuple()[7], "hour": moment.hour}
    return [since / 86_400_000_000, *(parts[part] for part in column["parts"])]


def read_text(column, value):
    width = len(column["table"][0]) if column["words"] else 1
    codes = read_category(column, value) if "levels" in column else []
    if value is None:
        return codes + [None] * (column["n_flags"] + width - 1)
    split = dict.fromkeys(re.findall(r"[^\W_]+", value.lower()))
    if column["by_letters"]:
        split = {w[i : i + n]: 0 for n in (2, 3) for w in split for i in range(len(w) - n + 1)}
    place = {word: k for k, word in enumerate(column["words"])}
    known = [place[word] for word in split if word in place]
    *sums, squares = (sum(column["table"][k][j] for k in known) for j in range(width))
    norm = math.sqrt(squares) if squares > 0 else 1.0
    return codes + [k in known for k in range(column["n_flags"])] + [x / norm for x in sums]


def scaled(values, least=0.0):
    """Return values with mean 0 and standard deviation 1, or 0 where they are constant."""
    known = [x / 2 for x in values if not math.isnan(x)] or [0.0]  # differences may overflow
    low, width = min(known), max(known) - min(known) or 1.0
    mean = sum((x - low) / width for x in known) / len(known)
    unit = math.sqrt(sum(((x - low) / width - mean) ** 2 for x in known) / len(known))
    unit = unit if unit * width > least * max(map(abs, known)) else math.inf
    return [((x / 2 - low) / width - mean) / unit for x in values]


def scaled_columns(view, numbers):
    columns = [scaled(column) for column in zip(*numbers)]
    return [[column[i] for column in columns] for i in range(len(numbers))]


def hinges(view, numbers):
    places = zip(view["features"], view["starts"], view["ends"])
    ends = [(k, a / 2, b / 2) for k, a, b in places]
    return [[min(max((row[k] / 2 - a) / (b - a), 0), 1.0) for k, a, b in ends] for row in numbers]


def logs(view, numbers):
    return [[math.copysign(math.log1p(abs(x)), x) for x in row] for row in numbers]


def value_of_level(values, code):
    """Return what a code adds; the last values are those of an unseen and of a missing level."""
    place = -1 if math.isnan(code) else -2 if code < 0 else min(int(code), len(values) - 3)
    return with_nan([values[place]])[0]


def forest_score(forest, row):
    total = 0.0
    for node in forest["roots"]:
        while node >= 0:
            x, codes = row[forest["features"][node]], forest["codes"][node]
            below = x <= forest["thresholds"][node] if codes is None else x in codes
            if math.isnan(x):
                below = forest["missing_below"][node]
            node = forest["below" if below else "above"][node]
        total += forest["values"][-1 - node]
        if forest["single"]:  # XGBoost adds in single precision
            [total] = struct.unpack("f", struct.pack("f", total))
    return forest["weight"] * (forest["constant"] + total)


READERS = dict.fromkeys(("number", "flag", "duration"), read_number)
READERS |= {"category": read_category, "date": read_date, "text": read_text}
READERS |= dict.fromkeys(("constant", "identifier", "drop"), lambda column, value: [])
CURVES = {"linear": lambda _, rows: rows, "scaled": scaled_columns, "logs": logs, "hinges": hinges}
CURVES["log_hinges"] = lambda view, rows: hinges(view, logs(view, rows))
