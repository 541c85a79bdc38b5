"""Foundations shared by all subpackages: rows grouped by query, targets, validation, errors.

Names in ``__all__`` are public. The other names are for use within skcalrank: subpackages import
them from here, and never from a private module of this subpackage.
"""

from __future__ import annotations

from .._dask import in_memory as in_memory
from .._dask import is_lazy as is_lazy
from .._dask import lazy_aware as lazy_aware
from .._dask import refuse_lazy as refuse_lazy
from ._arrays import along_rows as along_rows
from ._arrays import as_array as as_array
from ._arrays import checked_array as checked_array
from ._arrays import exact_ranks as exact_ranks
from ._arrays import naming as naming
from ._arrays import refuse_masked as refuse_masked
from ._arrays import refuse_no_numbers as refuse_no_numbers
from ._arrays import refuse_rounding as refuse_rounding
from ._arrays import safe_divide as safe_divide
from ._arrays import scale_of as scale_of
from ._clicks import ClickSessions
from ._exceptions import CutQueriesWarning, MissingQidError, NotAMeanWarning, OneQueryWarning
from ._exceptions import warn as warn
from ._failed_fit import all_or_nothing as all_or_nothing
from ._hash import first_equal_rows as first_equal_rows
from ._hash import hash_cells as hash_cells
from ._hash import hash_keys as hash_keys
from ._hash import hash_names as hash_names
from ._hash import hash_rows as hash_rows
from ._memory import CACHE_CELLS as CACHE_CELLS
from ._memory import CHUNK_ROWS as CHUNK_ROWS
from ._memory import KEPT_CELLS as KEPT_CELLS
from ._memory import MOST_CELLS as MOST_CELLS
from ._memory import PART_CELLS as PART_CELLS
from ._memory import WHOLE_BYTES as WHOLE_BYTES
from ._missing import is_missing as is_missing
from ._multilabel import MultiLabelTarget
from ._params import AT_LEAST_ONE as AT_LEAST_ONE
from ._params import FINITE as FINITE
from ._params import NON_NEGATIVE as NON_NEGATIVE
from ._params import OWN_ERROR as OWN_ERROR
from ._params import POSITIVE as POSITIVE
from ._params import REGRESSOR as REGRESSOR
from ._params import Integers as Integers
from ._params import Interval as Interval
from ._params import check_params as check_params
from ._params import check_regressor as check_regressor
from ._params import default_of as default_of
from ._params import one_of as one_of
from ._params import refuse_second_penalty as refuse_second_penalty
from ._params import refuse_unread as refuse_unread
from ._preferences import PREFERENCE_WEIGHTS as PREFERENCE_WEIGHTS
from ._preferences import PreferenceTarget
from ._preferences import check_preference_weights as check_preference_weights
from ._preferences import is_acyclic as is_acyclic
from ._properties import available_if as available_if
from ._properties import lazy_property as lazy_property
from ._queries import Bucket as Bucket
from ._queries import Queries as Queries
from ._queries import check_qid as check_qid
from ._queries import join_qids as join_qids
from ._queries import plain as plain
from ._queries import qid_array as qid_array
from ._query_weight import QUERY_WEIGHTS as QUERY_WEIGHTS
from ._query_weight import query_factors as query_factors
from ._ranked import TIES as TIES
from ._ranked import Block as Block
from ._ranked import Ranked as Ranked
from ._ranked import positions as positions
from ._rows import Rows as Rows
from ._tables import as_numbers as as_numbers
from ._tables import category_columns as category_columns
from ._tables import empty_columns as empty_columns
from ._tables import is_frame as is_frame
from ._tables import is_single as is_single
from ._tables import objects_of as objects_of
from ._tables import refuse_constant as refuse_constant
from ._tables import refuse_dates as refuse_dates
from ._tables import refuse_mixed_types as refuse_mixed_types
from ._tables import rows_as_numbers as rows_as_numbers
from ._tables import with_columns_of as with_columns_of
from ._targets import Judgments as Judgments
from ._targets import RankingTarget
from ._targets import Target as Target
from ._threads import each as each
from ._threads import one_blas_thread as one_blas_thread
from ._types import Array as Array
from ._types import ArrayLike as ArrayLike
from ._types import Bools as Bools
from ._types import Floats as Floats
from ._types import Ints as Ints
from ._types import Labels as Labels
from ._types import Matrix as Matrix
from ._types import Seed as Seed
from ._validation import Reads as Reads
from ._validation import carried_qid as carried_qid
from ._validation import check_alpha as check_alpha
from ._validation import check_count as check_count
from ._validation import check_cutoff as check_cutoff
from ._validation import check_labels as check_labels
from ._validation import check_one_form as check_one_form
from ._validation import check_option as check_option
from ._validation import check_queries as check_queries
from ._validation import check_sample_weight as check_sample_weight
from ._validation import check_scores as check_scores
from ._validation import check_target as check_target
from ._validation import checked_features as checked_features
from ._validation import query_weights as query_weights
from ._validation import warn_of_cut_queries as warn_of_cut_queries
from ._validation import warn_of_one_query as warn_of_one_query
from ._validation import with_index_of as with_index_of

__all__ = [
    "ClickSessions",
    "CutQueriesWarning",
    "MissingQidError",
    "MultiLabelTarget",
    "NotAMeanWarning",
    "OneQueryWarning",
    "PreferenceTarget",
    "RankingTarget",
]
