"""Judgments beside grades: preferences, clicks and their counts, and several labels a document.

The targets are public in `skcalrank.data`, whose door loads them from here.
"""

from typing import TYPE_CHECKING

from .._lazy import lazily

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = lazily(__name__)
else:  # names for use inside the package
    from ._click_counts import ClickCounts, check_clicks
    from ._click_log import identifiers
    from ._clicks import ClickSessions, refuse_clicks_alone, warn_of_cut_lists
    from ._multilabel import MultiLabelTarget
    from ._position_model import PositionModel, check_probabilities
    from ._preferences import PREFERENCE_WEIGHTS, PreferenceTarget
    from ._ranked_items import RankedItems
    from ._votes import Votes, finite_numbers
