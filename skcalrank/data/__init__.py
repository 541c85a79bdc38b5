"""Rows grouped by query: their targets, their door and its checks, errors and warnings.

Names in ``__all__`` are public. The others, and the modules ``check`` and ``limits``, are for use
within skcalrank: subpackages import them from here, and never from a private module of this
subpackage. Targets of other judgments than grades are public here and live in
`skcalrank.judgments`, which is loaded when one of them is asked for.
"""

import sys
from typing import TYPE_CHECKING, Any

from .._dask import in_memory, is_lazy, lazy_aware, lazy_transformer, refuse_lazy, results_of_blocks
from .._lazy import ROOMS
from .._threads import each, one_blas_thread, openmp, openmp_threads
from ._equality import are_alike
from ._eval_sets import EvalSet, eval_sets, naming_eval_set, takes_eval_set
from ._exceptions import (
    CutQueriesWarning,
    EqualLabelsWarning,
    LostWorkerError,
    MissingQidError,
    NotAMeanWarning,
    NotGradesWarning,
    OneQueryWarning,
    OutOfRangeError,
    SingleDocumentsWarning,
    UnseenLevelsWarning,
    is_settled,
    keeping_warnings,
    settle,
    warn,
    warning_once,
    warning_once_in_jobs,
)
from ._fit_decorators import all_or_nothing, fitting
from ._forks import apart, is_forked
from ._progress import say, timed
from ._properties import available_if, lazy_property
from ._queries import Bucket, Queries, check_own_qid, check_qid, factorized, plain, qid_array
from ._query_sizes import QuerySizes
from ._ranked import TIES, Block, Ranked, mean_of_runs, positions, runs
from ._routing import call_step, handed_to, has_method, inside, transform_rows
from ._rows import QUERY_WEIGHTS, Rows, query_factors, seed_of
from ._suspects import (
    SHORTEST_RUN,
    LabelOrder,
    are_whole,
    holds_qid,
    warn_of_label,
    warn_of_leaks,
    warn_of_row_numbers,
)
from ._targets import Judgments, Origin, RankingTarget, Target, chosen_rows
from ._workers import ALONE, Workers, among, workers_of_fit

__all__ = [
    "ClickCounts",
    "ClickSessions",
    "CutQueriesWarning",
    "EqualLabelsWarning",
    "MissingQidError",
    "MultiLabelTarget",
    "NotAMeanWarning",
    "NotGradesWarning",
    "OneQueryWarning",
    "PreferenceTarget",
    "RankingTarget",
    "SingleDocumentsWarning",
    "UnseenLevelsWarning",
]

# Pickles name the modules that these targets were in before they had a room of their own.
for _module in ("_click_counts", "_clicks", "_multilabel", "_preferences"):
    sys.modules[f"{__name__}.{_module}"] = sys.modules[__name__]

if TYPE_CHECKING:
    from ..judgments import ClickCounts, ClickSessions, MultiLabelTarget, PreferenceTarget
else:  # A type checker would believe that every name exists.

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(ROOMS["judgments"](), name)
        return value

    def __dir__() -> Any:
        return sorted({*globals(), *__all__})
