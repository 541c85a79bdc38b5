"""The base of rankers with a surrogate on documents and one on pairs of documents."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from functools import partial
from typing import ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_is_fitted

from .._base import ScoreRanker
from .._validation import check_alpha, check_option, check_queries
from ..solvers import PAIR_FEATURES, as_dense, fit_outputs, fit_pairs

__all__ = ["PairRanker"]


class PairRanker(ScoreRanker):
    """A ranker with a surrogate on documents ("score") and one on pairs ("pairwise")."""

    # Of a subclass: prediction maps by name, and whether pairs (i, i) are regressed.
    _preds: ClassVar[dict] = {}
    _diagonal = False

    def __init__(self, estimator, *, surrogate, pred, pair_features, alpha, loss, n_jobs, verbose):
        super().__init__(estimator, loss=loss)
        self.surrogate = surrogate
        self.pred = pred
        self.pair_features = pair_features
        self.alpha = alpha
        self.n_jobs = n_jobs
        self.verbose = verbose

    # Of a subclass: targets of pairs of documents in grouped order, pairs of items that are
    # regressed in the label-ranking form, and the matrices that they make.

    @abstractmethod
    def _pair_values(self, problem): ...

    @abstractmethod
    def _item_pairs(self, r): ...

    @abstractmethod
    def _matrices_of_items(self, u, r): ...

    def _pred_options(self):
        return {}

    def _pred_name(self):
        return "auto" if self.pred is None else self.pred

    def fit(self, X, y, qid=None, sample_weight=None):
        """Regress the targets of the measure, of documents or of pairs.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`NDCGRanker.fit`; y may be a :class:`PreferenceTarget` where the ranker
            is one of preferences. A pair weighs the product of its documents' weights over the
            mean weight of the query.

        Returns
        -------
        self
        """
        self._check_params()
        if self.surrogate == "score":
            return super().fit(X, y, qid, sample_weight)
        check_alpha(self.alpha)
        if not callable(self.pair_features):
            check_option("pair_features", self.pair_features, PAIR_FEATURES)
        vars(self).pop("n_iter_", None)
        problem = self._check_problem(X, y, qid, sample_weight)
        fit = self._fit_items if problem.n_items else self._fit_documents
        self.estimator_ = fit(problem, self._pair_values(problem))
        self.surrogate_ = "pairwise"
        return self

    def _check_params(self):
        check_option("surrogate", self.surrogate, ("score", "pairwise"))
        if self.pred is not None:
            check_option("pred", self.pred, self._preds)
        if self.surrogate == "score":
            super()._check_params()
            if self.pred is not None:
                raise ValueError(
                    f"pred={self.pred!r} is a map of pairs, and surrogate='score' sorts: leave "
                    "pred=None, or set surrogate='pairwise'."
                )

    def _can_add_chunks(self):
        return self.surrogate == "score" and super()._can_add_chunks()

    def _regress(self, regressor, problem, method):
        self.surrogate_ = "score"
        return super()._regress(regressor, problem, method)

    def _fit_items(self, problem, values):
        """Label-ranking form: a regression with one output per pair of items."""
        r = problem.n_items
        i, j = self._item_pairs(r)
        start = np.arange(problem.queries.n_queries)[:, None] * r
        targets = values((start + i).ravel(), (start + j).ravel()).reshape(-1, len(i))
        # An ensemble that is not fitted has no truth value, so None is asked for by name.
        regressor = Ridge(self.alpha) if self.estimator is None else self._regressor()
        return fit_outputs(regressor, problem.X, targets, problem.weight)

    def _fit_documents(self, problem, values):
        queries = problem.queries
        weight = None if problem.weight is None else queries.group(problem.weight)
        model = fit_pairs(
            queries.group(as_dense(problem.X)),
            queries,
            values,
            self.pair_features,
            self._regressor(),
            alpha=self.alpha,
            diagonal=self._diagonal,
            weight=weight,
            verbose=self.verbose,
        )
        if hasattr(model, "n_iter_"):
            self.n_iter_ = model.n_iter_
        return model

    def _regressor(self):
        return None if self.estimator is None else clone(self.estimator)

    def decision_function(self, X, qid=None):
        """Surrogate values: scores of documents, or matrices of pairs.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        qid : array-like of shape (n_rows,), default=None
            Query of each row; needed by the pairwise surrogate.

        Returns
        -------
        u : ndarray of shape (n_rows,) or (n, r), or for ``surrogate="pairwise"`` a list of
            ndarray of shape (r_q, r_q), one per query in order of first appearance, and in the
            label-ranking form an ndarray of shape (n, r, r)
        """
        if self._fitted_surrogate() == "score":
            return super().decision_function(X, qid)
        X, queries = self._check_pairs(X, qid, "decision_function")
        matrices = list(self._matrices(X, queries))
        return matrices if self.n_items_ is None else np.array(matrices)

    def _check_pairs(self, X, qid, method):
        X, queries = self._check_rows(X, qid)
        self._require_qid(qid, method)
        return X, queries

    def _matrices(self, X, queries):
        if self.n_items_ is None:
            return self.estimator_.matrices(queries.group(as_dense(X)), queries)
        u = self.estimator_.predict(X).reshape(X.shape[0], -1)
        return self._matrices_of_items(u, self.n_items_)

    def predict(self, X, qid=None):
        """Score the documents: sorting by decreasing score is the predicted ranking.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        qid : array-like of shape (n_rows,), default=None
            Query of each row; needed by the pairwise surrogate.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n, r)
            Under ``surrogate="pairwise"`` minus the position.

        Raises
        ------
        MissingQidError
            If the ranker is pairwise, was fitted with a qid and gets none.
        """
        if self._fitted_surrogate() == "score":
            return super().predict(X, qid)
        check_is_fitted(self)
        self._require_qid(qid, "predict")
        results = self.solve(X, qid)
        scores = -np.concatenate([result.positions for result in results]).astype(float)
        if self.n_items_ is not None:
            return scores.reshape(-1, self.n_items_)
        return check_queries(qid, len(scores)).ungroup(scores)

    def solve(self, X, qid=None):
        """Run the prediction map of the pairwise surrogate on every query.

        Parameters
        ----------
        X : array-like of shape (n_rows, d)
        qid : array-like of shape (n_rows,), default=None

        Returns
        -------
        results : list of PredResult
            One per query in order of first appearance, or per row in the label-ranking form:
            positions, value, bound, whether they are proven best, and the method used.
        """
        if self._fitted_surrogate() == "score":
            raise ValueError("solve runs the map of pairs: set surrogate='pairwise'.")
        X, queries = self._check_pairs(X, qid, "solve")
        solver = partial(self._preds[self._pred_name()], **self._pred_options())
        n_queries = queries.n_queries if self.n_items_ is None else X.shape[0]
        matrices = self._matrices(X, queries)
        results = list(self._run(solver, matrices, n_queries))
        self._warn_of_gaps(results)
        return results

    def _run(self, solver, matrices, n_queries):
        if effective_n_jobs(self.n_jobs) > 1 and n_queries > 1:
            jobs = (delayed(solver)(matrix) for matrix in matrices)
            results = Parallel(self.n_jobs)(jobs)
        else:
            results = map(solver, matrices)
        step = max(1, n_queries // 10)
        for number, result in enumerate(results, start=1):
            if self.verbose and (number % step == 0 or number == n_queries):
                print(f"[{type(self).__name__}] ranked {number}/{n_queries} queries", flush=True)
            yield result

    def _warn_of_gaps(self, results):
        gaps = [result.gap for result in results if result.method == "exact" and not result.proven]
        if gaps:
            warnings.warn(
                f"The time limit was hit on {len(gaps)} of {len(results)} queries; their orders "
                f"are not proven best, the largest gap is {max(gaps):.3g}.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fitted_surrogate(self):
        check_is_fitted(self)
        return self.surrogate_
