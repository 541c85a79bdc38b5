"""The difference of two scores as a sum over the features."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns import texts
from ..columns.types import Floats, Ints
from ..data import check


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    r"""Difference of two scores as a sum over the features.

    For a linear score it is :math:`\sum_k w_k (x_k - z_k)`, for trees the difference of the SHAP
    values of the two rows, and for a stack the sum of what its rankers add.

    Attributes
    ----------
    feature_names : ndarray of str of shape (d,)
        Names of the features.
    values : ndarray of shape (d,)
        Features of the explained document, as the ranker gets them (after the other steps of a
        pipeline).
    reference : ndarray of shape (d,)
        Features of the document it is compared with, or their means over the query; 0 if two items
        of one instance are compared.
    weights : ndarray of shape (d,)
        Coefficients, or the difference of the coefficients of two items; NaN for trees and stacks.
    contributions : ndarray of shape (d,)
        Contribution of each feature: ``weights * (values - reference)``, or `parts`.
    constant : float
        Difference of the intercepts of two items, else 0.
    first, second : str
        Names of the two documents or items in tables and titles.
    parts : ndarray of shape (d,) or None
        Contributions for trees and stacks; None for a linear score.

    See Also
    --------
    explain_order : Makes an explanation.
    skcalrank.displays.ContributionDisplay : Plots an explanation.
    """

    feature_names: np.ndarray
    values: np.ndarray
    reference: np.ndarray
    weights: np.ndarray
    constant: float
    first: str
    second: str
    parts: Any = None

    @property
    def contributions(self) -> Floats:
        """Contribution of each feature to the difference of the scores, of shape (d,)."""
        if self.parts is not None:
            return self.parts
        return self.weights * (self.values - self.reference)

    @property
    def total(self) -> float:
        """Difference of the scores, positive if the first is ranked above the second."""
        return float(self.contributions.sum() + self.constant)

    def order(self) -> Ints:
        """Return the numbers of the features, sorted by absolute contribution, largest first.

        Returns
        -------
        order : ndarray of int of shape (d,)
        """
        return np.argsort(-np.abs(self.contributions), kind="stable")

    def to_frame(self) -> Any:
        """Return the contributions as a pandas DataFrame, largest first.

        Returns
        -------
        frame : DataFrame
            With columns ``value``, ``reference``, ``weight`` (for linear scores) and
            ``contribution``, and the names of the features as index.
        """
        import pandas as pd

        columns = {
            "value": self.values,
            "reference": self.reference,
            "weight": self.weights,
            "contribution": self.contributions,
        }
        if self.parts is not None:
            del columns["weight"]
        index = pd.Index(self.feature_names, name="feature")
        return pd.DataFrame(columns, index=index).iloc[self.order()]

    def to_string(self, n_features: int = 10) -> str:
        """Return the contributions as a table in text.

        Parameters
        ----------
        n_features : int, default=10
            Number of features with their own line; the others share one.

        Returns
        -------
        table : str
        """
        check.count("n_features", n_features)
        by_size, parts = self.order(), self.contributions
        cells = [["feature", "value", "reference", "weight", "contribution"]]
        for k in by_size[:n_features]:
            numbers = self.values[k], self.reference[k], self.weights[k]
            name = texts.line(self.feature_names[k])
            cells.append([name, *map(_said, numbers), f"{parts[k]:+.4g}"])
        left = by_size[n_features:]
        if len(left):
            cells.append([texts.others(len(left)), "", "", "", f"{parts[left].sum():+.4g}"])
        if self.constant:
            cells.append(["constant", "", "", "", f"{self.constant:+.4g}"])
        cells.append(["difference of scores", "", "", "", f"{self.total:+.4g}"])
        if self.parts is not None:
            cells = [row[:3] + row[4:] for row in cells]
        return "\n".join(
            [texts.line(f"{self.first} against {self.second}"), *texts.aligned(cells, "  ")]
        )

    __str__ = to_string

    def __repr__(self) -> str:
        """Return the names of both and the difference of their scores."""
        return f"Explanation({self.first} against {self.second}: {self.total:+.4g})"


def _said(value: Any) -> str:
    """Return a value as text; None becomes the empty text, and NaN says that it is missing."""
    if value is None:
        return ""
    if not isinstance(value, (int, float, np.number)):
        return str(value)
    number = float(value)
    if number != number:
        return "missing"
    return f"{number:.0f}" if 1e4 <= abs(number) < 1e12 else f"{number:.4g}"
