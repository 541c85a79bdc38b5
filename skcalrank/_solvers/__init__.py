"""Solvers that fit regressors and linear scorers to the targets of a surrogate."""

from __future__ import annotations

from ._least_squares import SQUARED_LOSSES as SQUARED_LOSSES
from ._least_squares import as_dense as as_dense
from ._least_squares import effective_loss as effective_loss
from ._least_squares import fit_outputs as fit_outputs
from ._least_squares import fit_pooled as fit_pooled
from ._least_squares import fit_regressor as fit_regressor
from ._least_squares import is_affine as is_affine
from ._least_squares import is_closed_form as is_closed_form
from ._least_squares import predict_rows as predict_rows
from ._least_squares import takes_nan as takes_nan
from ._least_squares import takes_sparse as takes_sparse
from ._linear_descent import ScorerFit as ScorerFit
from ._linear_descent import Units as Units
from ._linear_descent import fit_scorer as fit_scorer
from ._linear_descent import penalty_scale as penalty_scale
from ._moments import Moments as Moments
from ._moments import WithinQueries as WithinQueries
from ._moments import check_features as check_features
from ._moments import merge_all as merge_all
from ._moments import pooled_moments as pooled_moments
from ._moments import product_of_rows as product_of_rows
from ._pairs import PAIR_FEATURES as PAIR_FEATURES
from ._pairs import fit_pairs as fit_pairs
from ._passes import fit_centered as fit_centered
from ._passes import fit_pairwise as fit_pairwise
from ._passes import fit_pairwise_outputs as fit_pairwise_outputs
from ._passes import pair_weights as pair_weights
from ._regressors import needs_non_negative as needs_non_negative
from ._ridge import ridge as ridge
from ._ridge import ridge_path as ridge_path
from ._stochastic import AveragedDescent as AveragedDescent
