"""Pipelines that pass the qid to every step that accepts it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from inspect import signature, unwrap
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted, check_memory

from .._lazy import ROOMS
from ..columns import tables
from ..columns.types import ArrayLike, EvalSets, Floats, Labels, Matrix, Method, Self
from ..data import (
    Judgments,
    MissingQidError,
    OutOfRangeError,
    all_or_nothing,
    available_if,
    call_step,
    check,
    eval_sets,
    handed_to,
    has_method,
    is_lazy,
    naming_eval_set,
    takes_eval_set,
    timed,
    transform_rows,
)


@contextmanager
def naming_columns(steps: Sequence[Any]) -> Iterator[None]:
    """Name the columns in errors about numbers as fitted transformers name what they return."""
    try:
        yield
    except OutOfRangeError as error:
        with suppress(AttributeError, NotImplementedError, ValueError):
            names = None
            for step in filter(_is_step, steps):
                names = step.get_feature_names_out(names)
            error.name_column(names)
        raise


def _of_last(method: str) -> Callable[[Method], Method]:
    """Return a decorator that makes a method available if the last step has it."""
    return available_if(lambda self: hasattr(self.steps[-1][1], method))


def _transforms(pipe: Any) -> bool:
    """Return whether the last step of a pipeline transforms rows, or passes them on."""
    last = pipe.steps[-1][1]
    return not _is_step(last) or hasattr(last, "transform")


def _is_step(step: Any) -> bool:
    return step is not None and not isinstance(step, str)


def _is_of_others(step: Any) -> bool:
    """Return whether a step is a ranker of another library, whose fit takes queries in its form."""
    names = signature(step.fit).parameters if hasattr(step, "fit") else ()
    return not hasattr(step, "rank") and ("group" in names or "group_id" in names)


def _labels_of(y: Any) -> Any:
    """Return what transformers read of y: judgments, which the ranker reads, are no labels."""
    return None if isinstance(y, Judgments) else y


class QueryPipeline(Pipeline):
    """Pipeline that passes the qid to every step that accepts it.

    Steps such as :class:`~skcalrank.preprocessing.QueryScaler` need the query of each row, both in
    `fit` and in `predict`. This pipeline passes the qid to each step whose method has a parameter
    `qid`, and to estimators inside a step that request it, such as a transformer in a
    ``ColumnTransformer``. In `fit` and `score`, y may carry the qid. Metadata routing may be off
    or on.

    Parameters
    ----------
    steps : list of (str, estimator)
        Names and estimators of the steps: transformers, followed by a ranker.
    memory : str or object with the joblib.Memory interface, default=None
        Cache of fitted transformers. If None, nothing is cached.
    verbose : bool, default=False
        Whether to print the time that each step takes.

    Attributes
    ----------
    has_qid_ : bool
        Whether `fit` was given a qid, which steps that accept one then require.
    named_steps : Bunch
        Steps by their names.
    n_features_in_ : int
        Number of features seen in :meth:`fit`.
    feature_names_in_ : ndarray of shape ``(n_features_in_,)``
        Names of the features, if X has names that are all strings.

    See Also
    --------
    make_query_pipeline : A shorthand that names the steps by their classes.
    skcalrank.preprocessing.QueryScaler : Scales features within the query.
    sklearn.pipeline.Pipeline : The pipeline without a qid.

    Notes
    -----
    If a step reads the qid, such as QueryScaler, `predict` needs it, too. Tools that hand no qid to
    `predict`, such as ``cross_val_predict``, raise MissingQidError then.

    A fit that fails restores the attributes of the steps, and of estimators in their parameters or
    in lists of these. What a step modifies in place is restored if it can be copied and the step
    has `partial_fit`, in a failed `partial_fit`, or `warm_start=True`, in a failed `fit`.

    Examples
    --------
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.pipeline import QueryPipeline
    >>> from skcalrank.preprocessing import QueryScaler
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=10)
    >>> pipe = QueryPipeline([("scale", QueryScaler()), ("rank", NDCGRanker())]).fit(X, y, qid)
    >>> pipe.rank(X, qid)[:10]
    array([ 1,  7,  5,  8,  3,  2, 10,  9,  4,  6])
    """

    steps: Any

    def __init__(
        self, steps: Sequence[tuple[str, Any]], *, memory: Any = None, verbose: bool = False
    ) -> None:
        super().__init__(steps, memory=memory, verbose=verbose)

    def __sklearn_tags__(self) -> Any:
        """Return the tags of a pipeline, with the target tags of the last step."""
        tags = super().__sklearn_tags__()
        last = self.steps[-1][1] if self.steps else None
        if _is_step(last):
            tags.target_tags = get_tags(last).target_tags
        return tags

    @property
    def takes_eval_set(self) -> bool:
        """Whether the last step is stopped early on an `eval_set`."""
        return bool(self.steps) and takes_eval_set(self.steps[-1][1])

    # -- fitting ------------------------------------------------------------------

    @all_or_nothing
    def fit(
        self,
        X: Matrix,
        y: Labels | None = None,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: EvalSets | None = None,
    ) -> Self:
        """Fit the transformers, one after the other, and then the ranker.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, d)
            Features of the documents.
        y : array-like of shape (n_rows,) or (n, r)
            Relevances, or a target that carries its queries. Of judgments, such as clicks or
            comparisons, transformers get None in place of y.
        qid : array-like of shape (n_rows,), default=None
            Query of each row. If None, the qid that `y` carries.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of rows, which are passed to the last step, and to steps that request them.
        eval_set : tuple or dict of str to tuple, default=None
            Queries for early stopping, as in :meth:`skcalrank.BoostedRanker.fit`. Their features
            are transformed by the fitted steps, and passed to the last one.

        Returns
        -------
        self : QueryPipeline
            The fitted pipeline.

        Raises
        ------
        TypeError
            If `sample_weight` or `eval_set` is given and the last step does not accept it.
        """
        self._fit_steps("fit", X, y, qid, sample_weight, eval_sets(eval_set))
        return self

    @available_if(lambda self: has_method(self.steps[-1][1], "fit_targets"))
    @all_or_nothing
    def fit_targets(
        self,
        X: Matrix,
        targets: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        eval_set: EvalSets | None = None,
    ) -> Self:
        """Fit the transformers, and then the ranker to targets in place of labels.

        Available if the last step has `fit_targets`. Transformers that read y get the targets.

        Parameters
        ----------
        X, qid, sample_weight, eval_set
            As in :meth:`fit`.
        targets : array-like of shape (n_rows,) or (n, r)
            As in :meth:`NDCGRanker.fit_targets`.

        Returns
        -------
        self : QueryPipeline
            The fitted pipeline.
        """
        check.row_order(X=X, targets=targets, qid=qid, sample_weight=sample_weight)
        self._fit_steps("fit_targets", X, targets, qid, sample_weight, eval_sets(eval_set))
        return self

    def _fit_steps(
        self, method: str, X: Any, y: Any, qid: Any, sample_weight: Any, evals: Any = None
    ) -> Any:
        """Fit the transformers, and the ranker by a method, whose result is returned."""
        qid = check.carried_qid(y, qid, X=X, sample_weight=sample_weight)
        X, evals = self._fit_before(X, _labels_of(y), qid, sample_weight, evals or {})
        with self._timed(len(self.steps) - 1):
            result = self._fit_last(method, X, y, qid, sample_weight, evals)
        self.has_qid_ = qid is not None
        return result

    @available_if(lambda self: self._can_add_chunks())
    @all_or_nothing
    def partial_fit(
        self,
        X: Matrix,
        y: Labels | None = None,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add queries to the queries of earlier calls.

        Available if the last step has `partial_fit`, and every other step has `partial_fit` or
        does not need to be fitted.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`, for a chunk of whole queries.

        Returns
        -------
        self : QueryPipeline
            The fitted pipeline.
        """
        qid = check.carried_qid(y, qid, X=X, sample_weight=sample_weight)
        metadata = {"qid": qid, "sample_weight": sample_weight}
        for _, _, step in self._before():
            adds = has_method(step, "partial_fit")
            if adds or not hasattr(self, "has_qid_"):
                method = "partial_fit" if adds else "fit"
                call_step(step, method, X, _labels_of(y), **_asked_for(step, method, metadata))
            X = transform_rows(step, X, qid)
        self._fit_last("partial_fit", X, y, qid, sample_weight)
        self.has_qid_ = qid is not None
        return self

    def _can_add_chunks(self) -> bool:
        return has_method(self.steps[-1][1], "partial_fit") and all(
            has_method(step, "partial_fit")
            or isinstance(step, FrozenEstimator)
            or not get_tags(step).requires_fit
            for _, _, step in self._before()
        )

    def _before(self) -> Iterator[tuple[int, str, Any]]:
        """Yield number, name and estimator of the steps before the last, without passthrough."""
        for number, (name, step) in enumerate(self.steps[:-1]):
            if _is_step(step):
                yield number, name, step

    def _fit_before(self, X: Any, y: Any, qid: Any, sample_weight: Any, evals: Any) -> Any:
        """Fit the steps before the last, and return the transformed rows and evaluation sets."""
        self._validate_params()
        self.steps = list(self.steps)
        self._validate_steps()
        memory, evals = check_memory(self.memory), dict(evals)
        for number, name, step in self._before():
            step = step if getattr(memory, "location", None) is None else clone(step)
            with self._timed(number):
                X, fitted = memory.cache(_fit_step)(step, X, y, qid, sample_weight)
                for key, rows in evals.items():
                    with naming_eval_set(key):
                        evals[key] = rows._replace(X=transform_rows(fitted, rows.X, rows.qid))
            # A fitted step from the cache is another object.
            self.steps[number] = (name, fitted)
        return X, evals

    def _fit_last(
        self, method: str, X: Any, y: Any, qid: Any, sample_weight: Any, evals: Any = None
    ) -> Any:
        name, last = self.steps[-1]
        if not _is_step(last):
            return X
        if method == "fit_transform" and not _has_fit_transform(last, qid):
            self._fit_last("fit", X, y, qid, sample_weight)
            return transform_rows(last, X, qid)
        taken = handed_to(last, method, qid=qid, sample_weight=sample_weight)
        if _is_of_others(last) and "qid" not in taken:
            raise TypeError(
                f"The last step {name!r} must take a qid, got {type(last).__name__}, which takes "
                "queries in another form: put it in ExternalRanker, as make_query_pipeline does."
            )
        if sample_weight is not None and "sample_weight" not in taken:
            raise TypeError(
                f"sample_weight must be None, because the last step {name!r} does not accept it in "
                f"{method}. Leave it None, or choose a ranker that accepts weights; of one inside "
                "a search or a Pipeline, call set_fit_request(sample_weight=True)."
            )
        if evals and not takes_eval_set(last):
            raise TypeError(
                f"eval_set must be None, because the last step {name!r} does not accept it in "
                f"{method}. Leave it None, or choose a ranker that is stopped early."
            )
        taken |= {"eval_set": evals} if evals else {}
        with naming_columns([step for _, step in self.steps[:-1]]):
            return call_step(last, method, X, y, **taken)

    def _timed(self, number: int) -> Any:
        return timed(self.verbose, type(self).__name__, self._log_message(number))

    # -- methods of the fitted pipeline ---------------------------------------------

    @available_if(_transforms)
    def transform(self, X: Matrix, qid: ArrayLike | None = None) -> Any:
        """Transform rows by every step.

        Parameters
        ----------
        X, qid
            As in :meth:`fit`.

        Returns
        -------
        X_out : array-like of shape (n_rows, n_features_out)
            Transformed features.
        """
        return self._call("transform", X, qid)

    @available_if(_transforms)
    @all_or_nothing
    def fit_transform(
        self,
        X: Matrix,
        y: Labels | None = None,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Any:
        """Fit every step, and transform the same rows, as each step's own `fit_transform` does.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        X_out : array-like of shape (n_rows, n_features_out)
            Transformed features.
        """
        return self._fit_steps("fit_transform", X, y, qid, sample_weight)

    @_of_last("predict")
    def predict(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return scores of the documents, whose decreasing order is the predicted ranking.

        Parameters
        ----------
        X, qid
            As in :meth:`fit`.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n, r)
        """
        return self._call("predict", X, qid)

    @_of_last("predict_proba")
    def predict_proba(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the probabilities that the last step predicts for the transformed rows.

        Parameters
        ----------
        X, qid
            As in :meth:`fit`.

        Returns
        -------
        probabilities : ndarray
        """
        return self._call("predict_proba", X, qid)

    @_of_last("surrogate_values")
    def surrogate_values(self, X: Matrix, qid: ArrayLike | None = None) -> Floats:
        """Return the surrogate values of the documents.

        Parameters
        ----------
        X, qid
            As in :meth:`fit`.

        Returns
        -------
        u : ndarray of shape (n_rows,) or (n, r)
        """
        return self._call("surrogate_values", X, qid)

    @_of_last("rank")
    def rank(self, X: Matrix, qid: ArrayLike | None = None) -> Any:
        """Rank the documents of each query.

        Parameters
        ----------
        X, qid
            As in :meth:`fit`.

        Returns
        -------
        positions : ndarray of int of shape (n_rows,) or (n, r)
            1-based positions as the ranker returns them; a pandas object with the index of X if X
            is a pandas DataFrame.
        """
        items = getattr(self.steps[-1][1], "item_names_in_", None)
        places = self._call("rank", X, qid)
        places = places if is_lazy(places) else np.asarray(places)  # of a frame that a step made
        return tables.with_index_of(X, places, "rank", items)

    @_of_last("top_k")
    def top_k(self, X: Matrix, qid: ArrayLike | None = None, k: int | None = 10) -> Any:
        """Return the best documents of each query, best first.

        Parameters
        ----------
        X, qid
            As in :meth:`fit`.
        k : int, default=10
            Number of documents to return per query; queries with fewer documents return all.

        Returns
        -------
        rows : ndarray of int
            Rows of the documents, as the ranker returns them.
        """
        return tables.as_labels(X, self._call("top_k", X, qid, k=k))

    @_of_last("score")
    def score(
        self,
        X: Matrix,
        y: Labels | None = None,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the mean of the ranker's own measure over the queries, higher is better.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        score : float
        """
        qid = check.carried_qid(y, qid)
        return float(self._call("score", X, qid, y, sample_weight=sample_weight))

    def _call(
        self, method: str, X: Any, qid: Any, *y: Any, sample_weight: Any = None, **options: Any
    ) -> Any:
        """Return the result of a method of the last step for the transformed rows."""
        check_is_fitted(self)
        qid = qid if y else check.of_one_query(qid, X)
        check.row_order(X=X, y=y[0] if y else None, qid=qid, sample_weight=sample_weight)
        without_rows = not y and tables.is_empty(X) and hasattr(self.steps[-1][1], "record_")
        for _, name, step in () if without_rows else self._before():
            lacking = qid is None and getattr(self, "has_qid_", False)
            if lacking and handed_to(step, "transform", qid="any"):
                raise MissingQidError(
                    f"QueryPipeline was fitted with a qid, {method} got none, and step {name!r} "
                    "needs it. Pass qid=qid, or qid=0 if all rows are one query. Tools such as "
                    "cross_val_predict and GridSearchCV.predict do not pass a qid to predict: loop "
                    "over the splits of QueryKFold, call predict of best_estimator_, or score with "
                    "skcalrank.metrics.get_scorer."
                )
            X = transform_rows(step, X, qid)
        last = self.steps[-1][1]
        if not _is_step(last):
            return X
        taken = handed_to(last, method, qid=qid, sample_weight=sample_weight)
        return call_step(last, method, X, *y, **taken, **options)


def _fit_step(step: Any, X: Any, y: Any, qid: Any, sample_weight: Floats | None) -> tuple[Any, Any]:
    """Fit a transformer, and return the transformed rows and the transformer."""
    metadata = {"qid": qid, "sample_weight": sample_weight}
    method = "fit_transform" if _has_fit_transform(step, qid) else "fit"
    result = call_step(step, method, X, y, **_asked_for(step, method, metadata))
    return transform_rows(step, X, qid) if method == "fit" else result, step


def _has_fit_transform(step: Any, qid: Any) -> bool:
    """Return whether a step has a `fit_transform` of its own, which takes what `transform` does."""
    # scikit-learn's default, which a decorator may hide, passes the qid to fit only.
    both: Any = getattr(type(step), "fit_transform", None)
    is_own = unwrap(both) not in (None, unwrap(TransformerMixin.fit_transform))
    taken = (handed_to(step, method, qid=qid).keys() for method in ("transform", "fit_transform"))
    return is_own and next(taken) <= next(taken)


def _asked_for(step: Any, method: str, metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata to pass to a step before the last; weights only if it requests them."""
    taken = handed_to(step, method, **metadata)
    requests = getattr(getattr(get_routing_for_object(step), method, None), "requests", None)
    if requests is not None and requests.get("sample_weight") is not True:
        taken.pop("sample_weight", None)
    return taken


def make_query_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> QueryPipeline:
    """Return a :class:`QueryPipeline` whose steps are named by their classes in lower case.

    Parameters
    ----------
    *steps : estimators
        Transformers, followed by a ranker. One of LightGBM, XGBoost or CatBoost becomes an
        :class:`~skcalrank.ExternalRanker`, which passes the queries in its form.
    memory, verbose
        As in :class:`QueryPipeline`.

    Returns
    -------
    pipe : QueryPipeline

    See Also
    --------
    QueryPipeline : The pipeline, with custom names of the steps.

    Examples
    --------
    >>> from skcalrank import NDCGRanker
    >>> from skcalrank.pipeline import make_query_pipeline
    >>> from skcalrank.preprocessing import QueryScaler
    >>> make_query_pipeline(QueryScaler("rank"), NDCGRanker()).named_steps.keys()
    dict_keys(['queryscaler', 'ndcgranker'])
    """
    if steps and _is_of_others(steps[-1]):
        steps = (*steps[:-1], ROOMS["boosting"]().ExternalRanker(steps[-1]))
    return QueryPipeline(make_pipeline(*steps).steps, memory=memory, verbose=verbose)
