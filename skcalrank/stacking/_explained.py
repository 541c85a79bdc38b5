"""The scores of a stack as sums over the columns of the table."""

from typing import Any

import numpy as np

from ..boosting import scores_of
from ..columns.types import Floats, Ints
from ..data import Rows, has_method
from ..inspection import parts_of
from ..linear_model import GramRidge, settled, variances
from ..preprocessing import by_column
from ..rankers import keeps_statistics
from ..trees import naming_ranker
from ._compiled import CompiledScorer, View, view_of
from ._members import units_within
from ._views import LinearView, ranker_behind, rows_for, trees_behind


def contributions_of_members(stack: Any, rows: Rows) -> Floats:
    """Return what the rankers of a stack add to the scores of rows, within each query.

    Returns `parts` (n_rows, n_features_in): rows sum to the score minus its mean over the query.
    """
    out = np.zeros((rows.n_rows, stack.n_features_in_))
    members = zip(stack.names_, stack.rankers_, stack.weights_, stack.spreads_)
    for name, ranker, weight, spread in members:
        if weight > 0:
            unit, parts = _of_member(name, ranker, rows, stack)
            out += (weight / (spread if unit is None else unit))[..., None] * parts
    return rows.queries.centered(out)


def _of_member(name: str, ranker: Any, rows: Rows, stack: Any) -> tuple[Floats | None, Floats]:
    """Return the units of the scores of a member in each query, if any, and their parts."""
    view, queries = view_of(ranker), rows.queries
    X, named = rows_for(ranker, rows), rows.named or not stack.record_.has_qid
    scores = scores_of(ranker, X, queries, named)
    if view is not None and isinstance(rows.X, np.ndarray):
        one = np.ones(1)
        alone = CompiledScorer([view], [], one, one, False)
        if not np.allclose(alone.scores(rows.X, queries, []), scores, rtol=1e-6):
            raise ValueError(
                f"The score of {name!r} must be linear in its columns for contributions, got "
                f"{ranker[-1]!r}: sklearn.inspection.permutation_importance takes any."
            )
        parts = by_column(alone.contributions(rows.X, queries, []), stack.encoder_)
    else:
        boosted = trees_behind(ranker)
        if boosted not in (None, ranker):
            X, ranker = ranker[:-1].transform(X, queries.codes if named else None), boosted
        with naming_ranker(name):
            parts = parts_of(ranker, X, scores, queries.codes if named else None)
    return (units_within(scores, queries) if stack.normalize_ == "query" else None), parts


def importances_of(stack: Any) -> Floats:
    """Return the importances of the columns of the table, which sum to 1 or are all 0.

    They are the means of those of the rankers, weighted by the spreads of their scores in the sum.
    """
    out = np.zeros(stack.n_features_in_)
    for name, ranker, weight in zip(stack.names_, stack.rankers_, stack.weights_):
        if weight > 0:
            importances = _importances(ranker, stack)
            if np.shape(importances) != out.shape:
                raise AttributeError(
                    f"feature_importances_ needs a GramRidge or importances of the columns of X, "
                    f"which {name!r} ({type(ranker).__name__}) does not have. Use "
                    "sklearn.inspection.permutation_importance."
                )
            out += weight * _shares(importances)
    return _shares(out)


def _shares(sizes: Floats) -> Floats:
    total = np.sum(sizes)
    return sizes / total if total > 0 else sizes


def _importances(ranker: Any, stack: Any) -> Any:
    """Return the importances of the columns in a member; None if they are not known."""
    groups, view = np.arange(stack.n_features_in_), view_of(ranker)
    if view is not None:
        groups, ranker = _columns_of(view, ranker), ranker.steps[-1][1]
    ranker = trees_behind(ranker) or ranker
    model = getattr(ranker, "estimator_", None)
    if type(model) is not GramRidge:
        return getattr(ranker, "feature_importances_", getattr(model, "variances_", None))
    is_of_columns = len(groups) == model.n_features_in_
    return variances(model, groups, stack.n_features_in_) if is_of_columns else None


def _columns_of(view: View, ranker: Any) -> Ints:
    """Return the column of the table from which each feature of a linear view is made."""
    columns = ranker.steps[0][1]
    widths = [indicators.width for indicators in columns.indicators_]
    groups = np.append(np.repeat(view.categories, widths), view.numbers[view.features])
    return groups if columns.encoder_ is None else columns.encoder_.sources_[groups]


def settle_views(stack: Any, rows: Rows) -> None:
    """Drop what linear views of a stack would need to learn further rows.

    Where there are fewer rows than columns they have no moments, and the variances of what columns
    add to the scores are computed from the rows.
    """
    for name, ranker in zip(stack.names_, stack.rankers_):
        last = ranker_behind(ranker)
        if has_method(last, "merge") and not keeps_statistics(last):
            # Rows that are taken have a matrix, of columns that are read now.
            parts = _of_member(name, ranker, rows.take(np.arange(rows.n_rows)), stack)[1]
            sizes = rows.queries.sizes[rows.codes]  # the weights of the loss
            last.estimator_.variances_ = sizes @ rows.queries.centered(parts) ** 2 / sizes.sum()
        view = view_of(ranker) if type(ranker) is LinearView else None
        if view is not None and type(ranker.steps[-1][1].estimator_) is GramRidge:
            last, groups = ranker.steps[-1][1], _columns_of(view, ranker)
            last.estimator_ = settled(last.estimator_, groups, stack.n_features_in_)
