"""Solvers that fit regressors and linear scorers to the targets of a surrogate."""

from ._bilinear import DocumentPairs
from ._known_outputs import SummedPairs, fit_known_outputs
from ._least_squares import (
    SQUARED_LOSSES,
    as_dense,
    fit_outputs,
    fit_pooled,
    fit_regressor,
    fit_rows,
    fits_in_closed_form,
    is_affine,
    is_closed_form,
    predict_rows,
    takes_nan,
    takes_sparse,
    transformed,
    with_ties,
)
from ._linear_descent import ScorerFit, Units, fit_scorer, offsets
from ._moments import (
    Moments,
    WithinQueries,
    check_features,
    merge_all,
    pooled_moments,
    product_of_rows,
)
from ._pairs import PAIR_FEATURES, fit_pairs
from ._passes import fit_centered, fit_pairwise, fit_pairwise_outputs, pair_weights
from ._regressors import needs_non_negative, why_not_a_mean
from ._ridge import ridge, ridge_path
from ._stochastic import AveragedDescent
