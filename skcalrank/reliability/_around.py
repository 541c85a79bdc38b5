"""Rankers around another ranker, whose scores they give a meaning."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from ..boosting import adapted, scores_of
from ..columns.types import Bools, Floats
from ..data import Queries, Rows, call_step, check, seed_of, warn
from ..measures import Measure, get_measure
from ..rankers import (
    BaseRanker,
    Call,
    NDCGRanker,
    Plan,
    door,
    make_splits,
    measure_of,
    ranker_in,
    seems_trained_on,
)


def _check_ranker(around: Any, _: Plan) -> None:
    """Raise for what is no ranker."""
    if around.ranker is not None and check.valid_regressor(around.ranker) is None:
        raise ValueError(
            "ranker must be a ranker with fit and predict, a FrozenEstimator of a fitted one, "
            f"or None, got {around.ranker!r}."
        )


class RankerAround(BaseRanker):
    """Base class of rankers that order documents as another ranker does.

    The parameter `ranker` is fitted in `fit`, or is a FrozenEstimator around a fitted one.
    """

    takes_label_form = False
    _weights_note = "queries are held out of the ranker, or folds"
    # A ranker that does not take tables raises itself.
    _reads_also: ClassVar = {"tables": True, "records": True}
    _rules: ClassVar[Any] = (_check_ranker,)

    ranker: Any
    ranker_: Any
    random_state: Any

    def _given(self) -> Any:
        """Return the ranker passed by the user; None means NDCGRanker."""
        return NDCGRanker() if self.ranker is None else self.ranker

    def _is_frozen(self) -> bool:
        return isinstance(self.ranker, FrozenEstimator)

    def _measure(self) -> Measure:
        return measure_of(ranker_in(self._given())) or get_measure("ndcg@10")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if check.valid_regressor(self._given()) is not None:  # else fit raises
            inner = get_tags(adapted(self._given())).input_tags
            tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan
            tags.input_tags.string, tags.input_tags.categorical = inner.string, inner.categorical
        return tags

    def _hands_tables_on(self) -> bool:
        return get_tags(self).input_tags.string

    def _enter(self, X: Any, y: Any, qid: Any, sample_weight: Any = None) -> tuple[Any, Rows]:
        """Return the plan and the validated rows of a fit."""
        # Labels on which nothing is trained may be as few and as equal as they are.
        plan = self._check_params(Call(warns=not self._is_frozen()))
        plan, rows = door(self, plan, X, y, qid, sample_weight)
        plan.measure.labels(rows.y)
        if rows.n_rows < 2:
            raise ValueError("X must have rows to train and to calibrate on, got n_samples=1.")
        return plan, rows

    def _warn_of_training_queries(self, queries: Queries) -> None:
        """Warn if most queries seem to have trained a frozen ranker, or a ranker inside of it."""
        if seems_trained_on(self.ranker, queries):
            warn(
                "Most queries of fit seem to have trained the ranker, by their names and numbers "
                "of rows, so that nothing is promised: calibrate on other queries. If these are "
                "other queries, give them other names."
            )

    def _fitted_to(self, rows: Rows) -> Any:
        """Return a clone of the ranker, fitted to rows with their queries and weights."""
        given = {"qid": rows.qid}
        if rows.weight is not None:
            given["sample_weight"] = rows.weight
        labels = rows.in_order(rows.y)
        return call_step(adapted(clone(self._given())), "fit", rows.as_given(), labels, **given)

    def _fit_out_of_fold(self, rows: Rows, tests: list[Bools]) -> Floats:
        """Fit the ranker; return the score of each row by one that was not fitted to its fold.

        Losses within queries leave a constant of the scores open, such as that of a feature far
        from 0, so that the scores of all rankers get one mean over the rows of their fits.
        """
        self.ranker_, scores = self._fitted_to(rows), np.empty(rows.n_rows)
        mean = _mean_score(self.ranker_, rows)
        for test in tests:
            train = rows.take(~test)
            ranker = self._fitted_to(train)
            shift = mean - _mean_score(ranker, train)
            scores[test] = ranker_scores(ranker, rows.take(test)) + shift
        return scores

    def _scores(self, rows: Rows) -> Floats:
        return ranker_scores(self.ranker_, rows, rows.named or not self.record_.has_qid)


def ranker_scores(ranker: Any, rows: Rows, named: bool = True) -> Floats:
    """Return the scores of rows by a fitted ranker, in row order."""
    scores = scores_of(ranker, rows.as_given(), rows.queries, named)
    if len(scores) != rows.n_rows or not np.isfinite(scores).all():
        raise ValueError(
            f"ranker must predict one finite score for each row, got {len(scores)} scores, "
            f"{np.isfinite(scores).sum()} of them finite, for {rows.n_rows} rows."
        )
    return scores


def _mean_score(ranker: Any, rows: Rows) -> float:
    return float(np.average(ranker_scores(ranker, rows), weights=rows.weight))


def test_folds(cv: Any, rows: Rows, given: Rows, qid: Any, random_state: Any) -> list[Bools]:
    """Return masks of the test rows of folds, which hold each row once."""
    if isinstance(cv, Integral):
        parts = [test for _, test in rows.folds(int(cv), seed_of(random_state))]
        return [np.isin(np.arange(rows.n_rows), test) for test in parts]
    splits = make_splits(cv, given, qid)
    counts = np.bincount(np.concatenate([s.test for s in splits]), minlength=given.n_rows)
    if (counts != 1).any() or any(split.train is not None for split in splits):
        raise ValueError(
            "cv must test each row once, and train on all others, so that every row has a score "
            "of a ranker that has not seen it: use QueryKFold, GroupKFold, or a number of folds."
        )
    numbers: Any = rows.numbers
    # All rows of a fold may have weight 0.
    return [test for split in splits if (test := np.isin(numbers, split.test)).any()]
