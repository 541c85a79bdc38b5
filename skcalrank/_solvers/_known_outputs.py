"""Regression with several outputs, each of which is known on some of the rows only."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..columns.types import Floats, Ints, Matrix
from ..data import Rows, apart


class KnownOutputs:
    """Regressors of outputs that are known on different rows, as one regressor of all outputs.

    * `models`: a regressor for each set of rows on which outputs are known.
    * `columns`: the outputs of each regressor.
    * `n_outputs`: number of outputs; those of no regressor are predicted as 0.
    """

    def __init__(self, models: list[Any], columns: list[Ints], n_outputs: int) -> None:
        self.models = models
        self.columns = columns
        self.n_outputs = n_outputs

    def predict(self, X: Matrix) -> Floats:
        """Return the predictions of all outputs, of shape (n_rows, n_outputs)."""
        predicted = [np.asarray(apart(model.predict, X)) for model in self.models]
        out = np.zeros((len(predicted[0]), self.n_outputs))
        for values, columns in zip(predicted, self.columns):
            out[:, columns] = values.reshape(len(out), -1)
        return out

    @property
    def coef_(self) -> Floats:
        """Coefficients, one row for each output."""
        return self._stacked(lambda model, n: np.reshape(model.coef_, (n, -1)))

    @property
    def intercept_(self) -> Floats:
        """Intercepts, one for each output."""
        return self._stacked(lambda model, n: np.reshape(model.intercept_, (n, 1))).ravel()

    @property
    def penalty_scale_(self) -> Floats:
        """Units of the penalty, one row for each output, which depend on its rows."""
        return self._stacked(lambda model, n: np.tile(model.penalty_scale_, (n, 1)))

    def _stacked(self, rows_of: Callable[[Any, int], Floats]) -> Floats:
        """Return a row for each output, from the rows of each regressor and its n outputs."""
        rows = [rows_of(model, len(of_model)) for model, of_model in zip(self.models, self.columns)]
        out: Floats = np.zeros((self.n_outputs, rows[0].shape[1]))
        out[np.concatenate(self.columns)] = np.concatenate(rows)
        return out


class SummedPairs:
    """A regressor of pairs of items, as one of the sum over the pairs of each item.

    * `pairs`: regressor of the amounts by which the first item of each pair is ahead.
    * `signs` (n_items, n_pairs): 1 for the first item of a pair, -1 for the second one.
    """

    def __init__(self, pairs: KnownOutputs, first: Ints, second: Ints) -> None:
        self.pairs, of_pair = pairs, np.arange(len(first))
        self.signs = np.zeros((int(second.max()) + 1, len(first)))
        self.signs[first, of_pair], self.signs[second, of_pair] = 1.0, -1.0

    def predict(self, X: Matrix) -> Floats:
        """Return the sum of each item, of shape (n_rows, n_items)."""
        return self.pairs.predict(X) @ self.signs.T

    @property
    def coef_(self) -> Floats:
        """Coefficients, one row for each item."""
        return self.signs @ self.pairs.coef_

    @property
    def intercept_(self) -> Floats:
        """Intercepts, one for each item."""
        return self.signs @ self.pairs.intercept_

    @property
    def penalty_scale_(self) -> Floats:
        """Units of the penalty, one row for each pair."""
        return self.pairs.penalty_scale_


def fit_known_outputs(
    fit: Callable[[Rows, Floats], Any], rows: Rows, targets: Floats
) -> Any | KnownOutputs:
    """Fit each output to the rows on which it is known, outputs of the same rows together.

    * `fit`: function from rows and their targets, of shape (n, n_outputs), to a fitted regressor.
    * `targets` (n_rows, n_outputs): NaN where an output is not known.

    Returns `regressor`: what `fit` returns for all rows if all outputs are known.

    Raises ValueError if no output is known on any row.
    """
    known = ~np.isnan(targets)
    if known.all():
        return fit(rows, targets)
    if not known.any():
        raise ValueError("y must rank two items in some row, got none: there is nothing to learn.")
    patterns, number = np.unique(known, axis=1, return_inverse=True)
    models: list[Any] = []
    columns: list[Ints] = []
    for pattern, mask in enumerate(patterns.T):
        if mask.any():
            outputs = np.flatnonzero(number.ravel() == pattern)
            models.append(fit(rows.take(mask), targets[np.ix_(mask, outputs)]))
            columns.append(outputs)
    return KnownOutputs(models, columns, targets.shape[1])
