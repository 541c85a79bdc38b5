"""Rankers as JSON."""

from __future__ import annotations

import json

from ..data.types import ArrayLike, Estimator
from ._document import document_of


def to_json(ranker: Estimator, *, feature_names: ArrayLike | None = None) -> str:
    """Write a ranker of a table, or a linear ranker with the steps before it, as JSON.

    Parameters
    ----------
    ranker : estimator
        A fitted :class:`~skcalrank.TabularRanker`, :class:`~skcalrank.BoostedRanker`, linear
        ranker, stack of these, or a pipeline or search around one. Scalers, logarithms
        (:func:`~skcalrank.preprocessing.signed_log1p`), hinges, splines of degree 1,
        ``SimpleImputer``, ``OneHotEncoder`` and feature selection before a linear ranker are
        written with it, as functions of the features of the pipeline; feature selection alone
        before trees.
    feature_names : list of str, default=None
        Names of the features; None takes the names of the data frame of `fit`.

    Returns
    -------
    text : str
        An object, in format 2.

    Raises
    ------
    ValueError
        If the ranker is neither linear nor made of trees, a step before it cannot be written, or
        names are missing.

    Notes
    -----
    The object holds all that scores follow from: how the columns of a table are read, linear views
    as vectors and tables of levels, trees as arrays, and weights. ``scorer.schema.json`` in the
    package describes it, and :doc:`/exporting` has readers of a hundred lines in Python and
    JavaScript. Scores are those of `predict`, for missing values and levels that `fit` has not seen
    as well; where `predict` refuses a missing value they are NaN. Dates are ISO texts, durations
    are seconds.

    A linear ranker has a view for each kind of curve: numbers, logarithms, hinges. Steps before it
    are folded into the coefficients. None and NaN are the same missing value, while
    ``SimpleImputer`` and ``OneHotEncoder`` distinguish them in columns of objects: scores are those
    of `predict` if it is given the one that `fit` was given.

    Examples
    --------
    >>> import json
    >>> import numpy as np
    >>> from skcalrank import PrecisionRanker
    >>> from skcalrank.export import to_json
    >>> ranker = PrecisionRanker(k=1, alpha=0).fit([[0.0], [4.0]], [0, 1], [0, 0])
    >>> found = json.loads(to_json(ranker, feature_names=["match"]))
    >>> [column["name"] for column in found["columns"]]
    ['match']
    >>> [(view["kind"], np.round(view["coefficients"], 6).tolist()) for view in found["views"]]
    [('linear', [0.25])]
    """
    return json.dumps(document_of(ranker, feature_names), allow_nan=False)
