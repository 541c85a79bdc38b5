"""Scores, contributions and importances of a fitted BoostedRanker."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data import Floats, Matrix, refuse_lazy
from ..rankers import BaseRanker
from ._engines import ENGINES
from ._models import Model
from ._tables import with_numbers

# Lists with one element for each model if there are several models.
_OF_MODELS = ("booster_", "best_iteration_", "validation_scores_", "start_", "start_scale_")


class FittedTrees(BaseRanker):
    """Base class of :class:`BoostedRanker`: prediction, importances and pickling."""

    def _keep(self, found):
        """Set the fitted attributes from the models that were grown."""
        of_models = [(*each.grown, each.start, each.scale) for each in found]
        for name, values in zip(_OF_MODELS, zip(*of_models)):
            setattr(self, name, list(values) if len(found) > 1 else values[0])

    def _check_rows(self, X, qid, method):
        check_is_fitted(self)
        refuse_lazy(type(self).__name__, X=X, qid=qid)
        return replace(super()._check_rows(with_numbers(self, X), qid, method), table=X)

    def _models(self):
        """Return the fitted models."""
        columns = [self.booster_, self.start_, self.start_scale_]
        if len(self.model_weights_) == 1:
            columns = [[column] for column in columns]
        return [Model(*each) for each in zip(*columns, self.model_weights_)]

    def _scores_of(self, model, part):
        """Return the scores of one model for some of the rows of fit."""
        engine, queries = ENGINES[self.engine_], part.queries
        kinds, given = self.categorical_features_, None if model.start is None else part.given()
        return model.scores(engine, part.X, kinds, self.n_jobs, given, queries.codes)

    def _scores(self, rows):
        engine, kinds = ENGINES[self.engine_], self.categorical_features_
        qid = rows.codes if rows.named else None
        scores = [
            model.scores(engine, rows.X, kinds, self.n_jobs, rows.table, qid)
            for model in self._models()
        ]
        return np.sum(scores, axis=0)

    def contributions(self, X: Matrix) -> Floats:
        """Return the scores as exact sums over the features, which are SHAP values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)

        Returns
        -------
        parts : ndarray of shape (n_rows, d + 1)
            What each feature adds to the score of each row; the last column is a constant. Rows
            sum to :meth:`decision_function`, up to the precision that the engine computes in.

        Raises
        ------
        ValueError
            If `start_` is not linear in the features.
        """
        rows = self._check_rows(X, None, "contributions")
        engine, kinds = ENGINES[self.engine_], self.categorical_features_
        parts = [model.contributions(engine, rows.X, kinds) for model in self._models()]
        return np.sum(parts, axis=0)  # type: ignore[no-any-return]

    @property
    def feature_importances_(self) -> Floats:
        """Decrease of the loss by splits on each feature, normalized to sum 1."""
        check_is_fitted(self)
        return np.mean([self._importances(model.booster) for model in self._models()], axis=0)

    def _importances(self, booster):
        found = ENGINES[self.engine_].importances(booster, self.n_features_in_)
        total = found.sum()
        return found / total if total > 0 else found

    def __getstate__(self):
        state = super().__getstate__()
        if "booster_" in state:
            dump = ENGINES[self.engine_].dump
            state = {**state, "booster_": _each(dump, self.booster_)}
        return state

    def __setstate__(self, state):
        if "booster_" in state:
            load = ENGINES[state["engine_"]].load
            state = {**state, "booster_": _each(load, state["booster_"])}
        super().__setstate__(state)


def _each(call, booster):
    """Return ``call(booster)``, or the list of these if there are several boosters."""
    return list(map(call, booster)) if isinstance(booster, list) else call(booster)
