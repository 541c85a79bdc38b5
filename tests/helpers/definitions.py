"""Measures by their formulas, for one query and one ranking at a time.

Written for being read, and independent of the package: `y` are the labels of a query,
`position` the 1-based positions of its documents; NaN is 0/0.
"""

import math
from itertools import permutations, product

import numpy as np

from skcalrank.data import Queries

NAN = float("nan")


def relevant(y, relevance_level):
    if relevance_level is None:
        return [int(label) for label in y]
    return [int(label >= relevance_level) for label in y]


def gain(label, kind):
    if callable(kind):
        return float(kind(label))
    if isinstance(kind, tuple):
        return kind[int(label)]
    return 2.0**label - 1.0 if kind == "exponential" else float(label)


def first(k, position):
    return k is None or position <= k


def precision(y, position, k=None, relevance_level=None):
    hits = sum(v for v, p in zip(relevant(y, relevance_level), position) if first(k, p))
    return hits / (len(y) if k is None else k)


def recall(y, position, k=None, relevance_level=None):
    y = relevant(y, relevance_level)
    return sum(v for v, p in zip(y, position) if first(k, p)) / sum(y) if sum(y) else NAN


def log_discount(p):
    return 1 / math.log2(1 + p)


def dcg(y, position, k=None, gain_kind="exponential", discount=None):
    discount = discount or log_discount
    gained = [(gain(v, gain_kind), float(p)) for v, p in zip(y, position) if first(k, p)]
    return sum(v * discount(p) for v, p in gained)


def ndcg(y, position, k=None, gain_kind="exponential", discount=None):
    ideal = dcg(sorted(y, reverse=True), range(1, len(y) + 1), k, gain_kind, discount)
    return dcg(y, position, k, gain_kind, discount) / ideal if ideal else NAN


def eru(y, position, k=None, neutral=0.0, half_life=5.0):
    return sum(
        max(v - neutral, 0.0) * 2.0 ** ((1 - p) / (half_life - 1))
        for v, p in zip(y, position)
        if first(k, p)
    )


def auc(y, position, relevance_level=None):
    y = relevant(y, relevance_level)
    pairs = [(p, q) for v, p in zip(y, position) for w, q in zip(y, position) if v > w]
    return sum(p < q for p, q in pairs) / len(pairs) if pairs else NAN


def mid_rank(y, i):
    return sum(v > y[i] for v in y) + (1 + sum(v == y[i] for v in y)) / 2


def spearman(y, position):
    r = len(y)
    squares = sum((p - mid_rank(y, i)) ** 2 for i, p in enumerate(position))
    return 1 - 6 * squares / (r * (r**2 - 1)) if r > 1 else NAN


def average_precision(y, position, k=None, relevance_level=None, divisor="relevant"):
    y = relevant(y, relevance_level)
    found = sorted(p for v, p in zip(y, position) if v)
    n = min(sum(y), k) if k and divisor == "attainable" else sum(y)
    return sum((n + 1) / p for n, p in enumerate(found) if first(k, p)) / n if found else NAN


def reciprocal_rank(y, position, k=None, relevance_level=None):
    found = [p for v, p in zip(relevant(y, relevance_level), position) if v and first(k, p)]
    return 1 / min(found) if found else 0.0


def rbp(y, position, k=None, relevance_level=None, p=0.8):
    y = relevant(y, relevance_level)
    return (1 - p) * sum(v * p ** (i - 1) for v, i in zip(y, position) if first(k, i))


def f1(y, position, k=None, relevance_level=None):
    p, r = (f(y, position, k, relevance_level) for f in (precision, recall))
    return 2 * p * r / (p + r) if sum(relevant(y, relevance_level)) and p + r else 0.0


def r_precision(y, position, relevance_level=None):
    n = sum(relevant(y, relevance_level))
    return precision(y, position, n, relevance_level) if n else NAN


def hit(y, position, k=None, relevance_level=None):
    return float(any(v and first(k, p) for v, p in zip(relevant(y, relevance_level), position)))


def err(y, position, k=None, max_grade=None, gain_kind="exponential", discount=None):
    highest = max(y) if max_grade is None else max_grade
    value, reads_on = 0.0, 1.0
    for p, label in sorted(zip(position, y)):
        stops = gain(label, gain_kind) / (2.0**highest if gain_kind == "exponential" else 1)
        part = reads_on * stops * (discount(float(p)) if discount else 1 / p)
        value += part if first(k, p) else 0.0
        reads_on *= 1 - stops
    return value


def kendall(y, position, variant="a"):
    r = len(y)
    agree = sum(
        np.sign(y[i] - y[j]) * np.sign(position[j] - position[i])
        for i in range(r)
        for j in range(i)
    )
    pairs = r * (r - 1) / 2
    # Positions are without ties.
    untied = sum(a > b for a in y for b in y) if variant == "b" else pairs
    return agree / np.sqrt(pairs * untied) if pairs * untied else NAN


def preferences(y, weights="difference"):
    """The matrix ``y_ij`` of relevances."""
    gaps = [[max(a - b, 0.0) for b in y] for a in y]
    return np.array(gaps) if weights == "difference" else (np.array(gaps) > 0) * 1.0


def disagreement(matrix, position):
    r = len(position)
    return sum(matrix[i][j] for i in range(r) for j in range(r) if position[i] > position[j])


def neg_pairwise_disagreement(y, position, weights="difference", normalize=False):
    matrix = preferences(y, weights)
    total = matrix.sum() if normalize else 1.0
    return -disagreement(matrix, position) / total if total else 0.0


DEFINITIONS = {
    "precision": precision,
    "recall": recall,
    "dcg": dcg,
    "ndcg": ndcg,
    "eru": eru,
    "auc": auc,
    "spearman": spearman,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "rbp": rbp,
    "f1": f1,
    "r_precision": r_precision,
    "hit": hit,
    "err": err,
    "kendall": kendall,
    "neg_pairwise_disagreement": neg_pairwise_disagreement,
}


def definition(measure, y, position):
    """Value of a measure object by its formula."""
    options = dict(vars(measure))
    if "gain" in options:
        options["gain_kind"] = options.pop("gain")
    if measure.name not in DEFINITIONS:
        return by_the_law(measure, np.asarray(y, dtype=float), np.asarray(position))
    return DEFINITIONS[measure.name](list(y), list(position), **options)


def by_the_law(measure, y, position):
    """offset + <targets, basis> of one query, for a measure without a definition of its own."""
    query = Queries.equal(1, len(y))
    y = measure.labels(y)
    if measure.undefined(y, query)[0]:
        return NAN
    if measure.shape == "documents":
        product = measure.targets(y, query) * measure.basis(position, len(y))
    else:
        product = measure.pair_targets(y) * measure.pair_basis(position)
    return float(measure.offset(y, query)[0] + product.sum())


def all_positions(r):
    """Every ranking of r documents, of shape (r!, r)."""
    return np.array(list(permutations(range(1, r + 1))))


def orders_of_ties(scores):
    """Positions by decreasing score, for every breaking of the ties."""
    scores = np.asarray(scores)
    blocks = [np.flatnonzero(scores == s) for s in sorted(set(scores.tolist()), reverse=True)]
    for parts in product(*(permutations(block) for block in blocks)):
        position = np.empty(len(scores), dtype=int)
        position[[i for part in parts for i in part]] = np.arange(1, len(scores) + 1)
        yield position


def stable_positions(scores, *, last_first=False):
    """Positions by decreasing score, equal ones in row order, or in the reverse of it."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], -i if last_first else i))
    position = np.empty(len(scores), dtype=int)
    position[order] = np.arange(1, len(scores) + 1)
    return position
