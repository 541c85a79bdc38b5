"""Scores of rows as sums over the features."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns import tables
from ..columns.types import ArrayLike, Estimator, Floats, Matrix
from ..data import MissingQidError
from ._parts import Explained, adds_parts, parts_of


@dataclass(frozen=True, eq=False, repr=False)
class ScoreExplanation:
    """Scores of the documents of queries as sums over the features.

    Attributes
    ----------
    feature_names : ndarray of str of shape (d,)
        Names of the features.
    contributions : ndarray of shape (n_rows, d)
        What each feature adds to the score of each row, less the mean of this over the query.
    levels : ndarray of shape (n_rows,)
        Mean score of the query of each row.
    labels : Index of shape (n_rows,) or None
        Labels of the rows of a pandas DataFrame; None if rows are numbers.

    See Also
    --------
    explain_scores : Makes an explanation of scores.
    Explanation : Difference of two scores.
    """

    feature_names: np.ndarray
    contributions: Floats
    levels: Floats
    labels: Any = None

    @property
    def scores(self) -> Floats:
        """Scores of the rows, of shape (n_rows,): the sums of contributions and levels."""
        return self.contributions.sum(axis=1) + self.levels

    @property
    def importances(self) -> Floats:
        """Mean absolute contribution of each feature, of shape (d,), in the unit of the score."""
        return np.abs(self.contributions).sum(axis=0) / max(len(self.contributions), 1)

    def to_frame(self) -> Any:
        """Return the contributions as a pandas DataFrame.

        Returns
        -------
        frame : DataFrame
            A row for each document and a column for each feature.
        """
        import pandas as pd

        return pd.DataFrame(self.contributions, index=self.labels, columns=self.feature_names)

    def __repr__(self) -> str:
        """Return the numbers of rows and features."""
        n_rows, n_features = self.contributions.shape
        return f"ScoreExplanation({n_rows} rows, {n_features} features)"


def explain_scores(
    ranker: Estimator,
    X: Matrix,
    qid: ArrayLike | None = None,
    *,
    feature_names: ArrayLike | None = None,
) -> ScoreExplanation:
    """Explain why documents have their scores: how far each feature moves them within their query.

    The contributions of a row sum to its score minus the mean score of its query. They are those
    of :func:`explain_order` without a second document, of all rows at once.

    Parameters
    ----------
    ranker : fitted ranker, or a pipeline, search or host of a ranker
        A ranker that :func:`explain_order` explains, fitted to documents.
    X : array-like or sparse matrix of shape (n_rows, d)
        Documents of whole queries.
    qid : array-like of shape (n_rows,) or scalar, default=None
        Query of each row; a scalar means that all rows are one query. Required if the ranker was
        fitted with a qid, unless a :class:`~skcalrank.pipeline.HostedRanker` finds it in X.
    feature_names : array-like of str of shape (d,), default=None
        Names of the columns of X, as in :func:`explain_order`.

    Returns
    -------
    explanation : ScoreExplanation

    Raises
    ------
    ValueError
        If the score is neither linear nor a sum of trees that can be explained, or the ranker was
        fitted in the label-ranking form.
    MissingQidError
        If the ranker was fitted with a qid and gets none.

    See Also
    --------
    explain_order : Explains the order of two documents, with the values of their features.
    skcalrank.displays.ImportanceDisplay : Plots the mean absolute contributions.
    skcalrank.displays.TopContributionsDisplay : Plots those of the best documents of a query.

    Examples
    --------
    >>> import numpy as np
    >>> from skcalrank import NDCGRanker
    >>> from skcalrank.inspection import explain_scores
    >>> X, y, qid = [[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [3.0, 5.0]], [0, 1, 0, 1], [0, 0, 1, 1]
    >>> ranker = NDCGRanker().fit(X, y, qid)
    >>> explanation = explain_scores(ranker, X, qid)
    >>> bool(np.allclose(explanation.scores, ranker.predict(X)))
    True
    >>> explanation.importances.round(3)
    array([0.151, 0.049])
    """
    explained = Explained.of(ranker, X, qid, feature_names)
    ranker = explained.ranker
    adds_parts(ranker)
    if ranker.n_items_ is not None:
        raise ValueError(
            "ranker must rank documents, got one that was fitted in the label-ranking form. "
            "explain_order(ranker, X, item, instance=row) explains the place of an item."
        )
    if explained.qid is None and ranker.record_.has_qid:
        raise MissingQidError(
            "qid must be given to compare rows with their queries, since the ranker was fitted "
            "with a qid, got None. Pass qid=qid, or qid=0 if all rows are one query."
        )
    queries, labels = explained.queries, tables.labels_of(X)
    if not queries.n_rows:
        names = explained.features(ranker.n_features_in_)
        return ScoreExplanation(names, np.zeros((0, len(names))), np.zeros(0), labels)
    codes = None if explained.qid is None else queries.codes
    table = explained.rows(np.arange(queries.n_rows))
    scores = ranker.predict(table, codes)
    parts = queries.centered(parts_of(ranker, table, scores, codes))
    names = explained.features(parts.shape[1])
    return ScoreExplanation(names, parts, queries.levels(scores), labels)
