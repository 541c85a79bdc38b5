r"""Inequalities of six documents that orders satisfy and triangles do not imply.

With :math:`y_{ji} = -y_{ij}` as in :mod:`._triangles`, three documents p of a set T, one document
:math:`v_p` outside of it for each of them, and signs :math:`e_p`, an order satisfies

.. math:: \sum_{p \in T} e_p \Bigl(2 y_{v_p p} - \sum_{q \in T} y_{v_p q}\Bigr)
    + \frac12 \sum_{p < q \in T} (e_p - e_q) y_{pq} \le 5 .

Equal signs give the 3-fences, others the Moebius ladders of six documents. Together with the
triangles these are all facets of the orders of six documents; written for six of r documents, they
are facets of the orders of r documents as well (Grötschel, Jünger and Reinelt 1985, Mathematical
Programming 33; 720 orders are enough to see that they are valid).
"""

from __future__ import annotations

import itertools

import numpy as np

from ..data.types import Floats, Ints
from ._triangles import Pairs

# The right-hand side, and the signs of the documents in T.
SIDE = 5.0
_SIGNS = np.array(list(itertools.product([1.0, -1.0], repeat=3)))

# Numbers held at once, for all T with one smallest document: of larger problems some T are skipped.
_CELLS = 2_000_000

# The pairs within T, by their places in it; and of the pairs (v_p, q), with e_p = 1.
_TAILS, _HEADS = [0, 0, 1], [1, 2, 2]
_LEGS = 2.0 * np.eye(3) - 1.0


def fences(pairs: Pairs, y: Floats, tolerance: float) -> tuple[Ints, Floats]:
    """Return the pairs and coefficients of inequalities that y violates, the most violated first.

    Both are of shape (n, 12), with coefficients of zero. For each T and each choice of signs, the
    best :math:`v_p` are chosen by themselves. If y satisfies the triangle inequalities, as it
    should, no pair within the T of a violated inequality is decided: only such T are looked at.
    """
    before = pairs.matrix(y)
    undecided = np.triu(np.abs(before) < 1.0 - tolerance, 1)
    documents, signs, sizes = [], [], []
    for a in range(pairs.r - 2):
        later = np.flatnonzero(undecided[a])
        b, c = (later[place] for place in np.nonzero(undecided[np.ix_(later, later)]))
        step = 1 + len(b) * pairs.r // _CELLS
        T = np.stack([np.full_like(b, a), b, c])[:, ::step]
        ends, size = _best_ends(before, T)
        row, kind = np.nonzero(size > SIDE + tolerance)
        v = np.where(_SIGNS[kind].T > 0, ends[0][:, row], ends[1][:, row])
        documents.append(np.concatenate([T[:, row], v]).T)
        signs.append(_SIGNS[kind])
        sizes.append(size[row, kind])
    six, sign = np.concatenate(documents), np.concatenate(signs)
    apart = np.flatnonzero((np.diff(np.sort(six, axis=1), axis=1) > 0).all(axis=1))
    first = apart[np.argsort(-np.concatenate(sizes)[apart], kind="stable")]
    return _rows(pairs, six[first], sign[first])


def _best_ends(before: Floats, T: Ints) -> tuple[tuple[Ints, Ints], Floats]:
    """Return the best documents v of T, of shape (3, n), for each sign, and the left-hand sides.

    They are of shape (3, n), and (n, 8) for all choices of signs.
    """
    # Of p in T: 2 y_vp - sum_q y_vq, by rows of y_pv = -y_vp.
    legs = before[T]
    legs = legs.sum(axis=0) - 2.0 * legs
    ends = legs.argmax(axis=2), legs.argmin(axis=2)
    high, low = (np.take_along_axis(legs, v[..., None], axis=2)[..., 0].T for v in ends)
    size = high @ (_SIGNS.T > 0) - low @ (_SIGNS.T < 0)
    inner = before[T[_TAILS], T[_HEADS]].T
    return ends, size + 0.5 * inner @ (_SIGNS[:, _TAILS] - _SIGNS[:, _HEADS]).T


def _rows(pairs: Pairs, six: Ints, signs: Floats) -> tuple[Ints, Floats]:
    """Return the pairs and coefficients of inequalities by their documents and signs."""
    T, v = six[:, :3], six[:, 3:]
    tails = np.column_stack([np.repeat(v, 3, axis=1), T[:, _TAILS]])
    heads = np.column_stack([np.tile(T, 3), T[:, _HEADS]])
    legs = (signs[:, :, None] * _LEGS).reshape(-1, 9)
    inner = 0.5 * (signs[:, _TAILS] - signs[:, _HEADS])
    coefficients = np.column_stack([legs, inner]) * np.where(tails < heads, 1.0, -1.0)
    return pairs.number[tails, heads], coefficients
