"""Scores with a unit, and cut-offs with a promise on average over queries.

Nothing here is about losses: :mod:`skcalrank.calibration` is. Provisional: names may change
between minor versions, with an entry in the changelog.
"""

from ._calibrated import CalibratedRankerCV, observed
from ._cutoff import GuaranteedCutoff
from ._halves import on_halves
from ._masses import LOSSES, Judged
from ._stability import rank_stability

__all__ = ["CalibratedRankerCV", "GuaranteedCutoff", "rank_stability"]
