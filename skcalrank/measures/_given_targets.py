"""A measure of targets that stand in place of labels."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..columns.types import Bools, Floats, Ints
from ..data import Queries
from ._base import PositionalMeasure


@dataclass(frozen=True, eq=False, repr=False)
class OfTargets(PositionalMeasure):
    r"""The part :math:`\sum_i u_i \phi(\sigma(i))` of a positional measure, as its labels are u.

    It differs from the measure by :math:`b(y)`, which no ranking changes, and is linear in the
    targets: with unbiased targets it is, up to this constant, an unbiased value of the measure.
    """

    name: ClassVar[str] = "targets"
    measure: PositionalMeasure

    @property
    def cutoff(self) -> int | None:
        return self.measure.cutoff

    @property
    def full_name(self) -> str:
        return self.measure.full_name

    def undefined(self, y: Floats, queries: Queries) -> Bools:
        # Where the measure is undefined its targets are 0.
        nothing = queries.max(np.abs(y)) == 0
        return nothing & self.measure.undefined(np.zeros_like(y), queries)

    def targets(self, y: Floats, queries: Queries) -> Floats:
        return y

    def separable_targets(self, y: Floats) -> Floats:
        return y

    def basis(self, positions: Ints, sizes: Ints) -> Floats:
        return self.measure.basis(positions, sizes)
