"""A decorator that computes losses part by part, on several threads."""

from __future__ import annotations

from functools import wraps

import numpy as np

from ..data import each

# Number of documents of a part, such that temporary arrays stay in cache.
_PART_ROWS = 1 << 15


def in_parts(*kinds, long=False):
    """Decorate a method of a loss so that it is called for parts of the queries.

    The method must take targets, scores, queries and weights. `kinds` describes its results: an
    array over ``"queries"`` or ``"documents"``, or a number that is added up, ``"sum"``. `long` is
    passed to :func:`each`.
    """

    def decorate(method):
        @wraps(method)
        def call(self, v, s, queries, weight=None):
            parts = queries.kept_parts(_PART_ROWS)
            length = {"queries": queries.n_queries, "documents": queries.n_rows, "sum": len(parts)}
            out = [np.empty(length[kind]) for kind in kinds]

            def work(number):
                ids, rows, those = parts[number]
                shares = None if weight is None else weight[rows]
                found = method(self, v[rows], s[rows], those, shares)
                place = {"queries": ids, "documents": rows, "sum": number}
                found = found if len(kinds) > 1 else (found,)
                for kind, whole, values in zip(kinds, out, found):
                    whole[place[kind]] = values

            each(work, range(len(parts)), long=long)
            out = [float(a.sum()) if kind == "sum" else a for kind, a in zip(kinds, out)]
            return out[0] if len(kinds) == 1 else tuple(out)

        return call

    return decorate
