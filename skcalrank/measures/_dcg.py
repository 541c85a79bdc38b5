"""Discounted cumulative gain, and its share of the best one: DCG and NDCG.

The formulas are from RAT13, section 4, and from CUG13, Table 1.
"""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from ..columns import arrays
from ..columns.types import Bools, Floats, Ints
from ..data import Queries
from ._base import PositionalMeasure
from ._families import Discount, Gain, discounts, gains
from ._options import GainMeasure
from ._positional import share_of


@dataclass(frozen=True, repr=False)
class DCG(GainMeasure, PositionalMeasure):
    r"""Discounted cumulative gain: :math:`\phi(i) = 1(i \le k)/\log_2(1+i)`, :math:`u_i = G(y_i)`.

    The gain is :math:`G(y) = 2^y - 1` ("exponential", as in CUG13, Table 1) or :math:`y`
    ("linear"). Other gains and discounts define other positional measures of the same family
    (DMJ13, eq. 14), for which the same surrogates are calibrated.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1. If None, all positions count.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        Gain of a document of relevance y: ``2^y - 1`` ("exponential"), y ("linear"), ``gain[y]``
        of an array, as in LightGBM's label_gain, or the value of a function of an array of
        grades. The gain must not decrease with the grade.
    discount : array-like, callable or PropensityEstimate, default=None
        Discounts of positions 1, 2, ..., with 0 behind the last, or a function of an array of
        1-based positions. They must not increase: of a
        :class:`~skcalrank.aggregation.PropensityEstimate` the nearest values that do not. If None,
        :math:`1/\log_2(1+i)`. Functions defined in a module can be pickled, lambdas cannot.

    Raises
    ------
    ValueError
        If ``k`` is not an integer >= 1, or ``gain`` or ``discount`` is invalid. When the measure
        is computed, if a label is negative, has no gain, or is above 1000 with the exponential
        gain, which overflows; or if values of a function are not finite, negative or in the wrong
        order.

    See Also
    --------
    NDCG : DCG divided by the ideal DCG of the query.
    skcalrank.metrics.dcg_score : The metric.
    skcalrank.DCGRanker : A ranker for DCG.

    Examples
    --------
    >>> from skcalrank.measures import DCG
    >>> from skcalrank.metrics import measure_score
    >>> y, scores = [2, 0, 1], [0.9, 0.7, 0.3]
    >>> measure_score(DCG(), y, scores), measure_score(DCG(k=2, gain="linear"), y, scores)
    (3.5, 2.0)
    >>> DCG(gain=[0, 1, 10]), round(measure_score(DCG(gain=[0, 1, 10]), y, scores), 3)
    (DCG(k=None, gain=(0.0, 1.0, 10.0)), 10.5)
    >>> round(measure_score(DCG(discount=lambda positions: 1 / positions), y, scores), 4)
    3.3333
    """

    name: ClassVar[str] = "dcg"
    basis_fields: ClassVar[frozenset[str]] = frozenset({"k", "discount"})
    has_gain: ClassVar[bool] = True
    _gain_names: ClassVar[tuple[str, ...]] = ("exponential", "linear")
    gain: Gain = "exponential"
    discount: Discount | None = field(default=None, repr=False)

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return gains(y, self.gain)

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        if self.discount is None:
            return self._up_to_k(1.0 / np.log2(1.0 + positions), positions)
        return self._up_to_k(discounts(positions, self.discount), positions)


@dataclass(frozen=True, repr=False)
class NDCG(DCG):
    r"""DCG divided by the ideal DCG of the query: :math:`u_i = G(y_i)/\mathrm{IDCG}@k(y)`.

    The ideal DCG is the largest DCG that the labels allow (DMJ13, eq. 14, with F = 1/phi). NDCG is
    undefined (0/0) for a query without a document of positive gain, where ``u = 0``.

    Parameters
    ----------
    k : int, default=None
        Last position that counts, at least 1, in the ideal order too. If None, all positions
        count.
    gain : {"exponential", "linear"}, array-like or callable, default="exponential"
        Gain of a document of relevance y: ``2^y - 1`` ("exponential"), y ("linear"), ``gain[y]``
        of an array, as in LightGBM's label_gain, or the value of a function of an array of
        grades. The gain must not decrease with the grade.
    discount : array-like, callable or PropensityEstimate, default=None
        As in :class:`~skcalrank.measures.DCG`; it applies to the ideal order too.

    Raises
    ------
    ValueError
        As in :class:`~skcalrank.measures.DCG`.

    See Also
    --------
    DCG : Discounted cumulative gain.
    skcalrank.metrics.ndcg_score : The metric.
    skcalrank.NDCGRanker : A ranker for NDCG.

    Examples
    --------
    The target of a document depends on the other labels of its query, through the ideal DCG:

    >>> from skcalrank.calibration import LabelDistribution
    >>> from skcalrank.measures import NDCG
    >>> from skcalrank.metrics import measure_score
    >>> round(measure_score(NDCG(k=2), [2, 0, 1], [0.9, 0.7, 0.3]), 4)
    0.8262
    >>> LabelDistribution([[2, 0, 1], [1, 0, 0]]).targets(NDCG(k=2)).round(3)
    array([[0.826, 0.   , 0.275],
           [1.   , 0.   , 0.   ]])
    """

    name: ClassVar[str] = "ndcg"
    largest_value: ClassVar[float] = 1.0
    needs: ClassVar[str] = "a document of positive gain"
    basis_fields: ClassVar[frozenset[str]] = frozenset()
    separable: ClassVar[bool] = False

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        # Exponential and linear gains are 0 for grade 0 only.
        return queries.max(y if isinstance(self.gain, str) else gains(y, self.gain)) == 0

    def targets(self, y: Floats, queries: Queries) -> Floats:
        highest = int(y.max(initial=0.0))
        bits = int(queries.sizes.max()).bit_length()
        # Discounts of a subclass may depend on the size of the query.
        if highest * bits <= 62 and type(self).basis is DCG.basis:
            grades = y.astype(np.intp)
            if (grades == y).all():
                gain = gains(np.arange(highest + 1.0), self.gain)
                if arrays.scale_of(gain[-1]) == 1:
                    return share_of(gain[grades], self._ideal(gain, grades, bits, queries), queries)
        gain = gains(y, self.gain)
        gain = gain / queries.repeat(arrays.scale_of(queries.max(gain)))
        return share_of(gain, self.best(gain, queries), queries)

    def separable_targets(self, y: Floats) -> Floats:
        return gains(y, self.gain)

    def _ideal(self, gain: Floats, grades: Ints, bits: int, queries: Queries) -> Floats:
        """Return IDCG@k, from the number of documents per grade, in half the time of sorting."""
        highest = len(gain) - 1
        # Pack the counts of a query into one integer, with `bits` bits for each grade above 0.
        field = bits * np.arange(highest)
        one = np.append(0, np.left_shift(1, field))
        packed = queries.sum(one[grades])[:, None]
        counts = np.right_shift(packed, field[::-1]) & ((1 << bits) - 1)
        # Best grade first: the number of positions filled by this grade and better ones.
        filled = counts.cumsum(axis=1)
        discount = self.basis(np.arange(1, queries.sizes.max() + 1), queries.sizes)
        summed = np.append(0.0, discount.cumsum())
        # Summation by parts over the grades; every document has at least the gain of grade 0.
        ideal = summed[filled] @ np.diff(gain)[::-1]
        ideal += gain[0] * summed[queries.sizes]
        return ideal
