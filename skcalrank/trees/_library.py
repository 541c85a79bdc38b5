"""How estimators of each library take queries, weights, labels, categories and missing values."""

from importlib.util import find_spec
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn import config_context
from sklearn.utils import get_tags

from ..columns.types import Floats
from ..data import Rows, check, handed_to
from ..preprocessing import Category, read_by_trees
from ._ensembles import has_tree_parts, tree_parts

_QUERIES = ("qid", "group", "group_id")

# Largest error of a score that counts as a sum, relative to its terms.
_TOLERANCE = 1e-6


def reads_queries(estimator: Any) -> bool:
    """Return whether the fit of an estimator takes the queries, in whatever form."""
    named = set(_QUERIES) & signature(estimator.fit).parameters.keys()
    return bool(named or handed_to(estimator, "fit", qid="any"))


class Library:
    """scikit-learn, and all that has no form of its own."""

    name: ClassVar[str] = ""
    marks: ClassVar[str] = ""  # argument of fit that marks columns of categories

    @property
    def module(self) -> Any:
        """The imported library; an ImportError with the remedy if it is not installed."""
        remedy = f"engine={self.name!r} needs {self.name}: pip install {self.name}"
        return check.installed(self.name, remedy)

    def is_installed(self) -> bool:
        """Return whether the library can be imported; scikit-learn always can."""
        return find_spec(self.name) is not None

    def takes(self, estimator: Any) -> Any:
        """Return the tags of what an estimator takes as X."""
        return get_tags(estimator).input_tags

    def arguments(self, estimator: Any, rows: Rows) -> dict[str, Any]:
        """Return the queries and weights of contiguous queries, as fit takes them."""
        with config_context(enable_metadata_routing=True):
            taken = handed_to(estimator, "fit", qid=rows.codes, sample_weight=rows.weight)
        if rows.weight is not None and "sample_weight" not in taken:
            raise TypeError(
                f"sample_weight must be None with {type(estimator).__name__}, whose fit does not "
                "take weights: leave it out, or choose an estimator that takes them; of one inside "
                "a search or a Pipeline, call set_fit_request(sample_weight=True)."
            )
        names = signature(estimator.fit).parameters.keys() - taken.keys()
        if "qid" not in taken and "group" in names:
            taken["group"] = rows.queries.sizes
        elif "qid" not in taken and "group_id" in names:
            taken["group_id"] = rows.codes
        return taken

    def booster(self, estimator: Any) -> Any:
        """Return the trees of a fitted estimator, as the engine has them."""
        return estimator

    def weight(self, booster: Any) -> float:
        """Return the factor of the sum of the trees of an estimator, of which a few average."""
        return 1.0

    def check_labels(self, estimator: Any, y: Floats) -> None:
        """Raise for labels that the library would misread or refuse without a remedy."""

    def mark(self, estimator: Any, n_columns: int, kinds: list[int]) -> dict[str, Any]:
        """Mark columns of codes as categories, and return arguments of fit that do."""
        return {self.marks: kinds} if self.marks else {}

    def columns(self, estimator: Any, matrix: Floats, categories: dict[int, Category]) -> Any:
        """Return a matrix as the library reads it, given the readers of its codes."""
        return read_by_trees(matrix, categories)

    def explained(self, estimator: Any, X: Any, kinds: list[int]) -> Floats:
        """Return scores as sums over the columns and, last, a constant.

        Raises ValueError unless the scores are such sums.
        """
        if has_tree_parts(estimator):
            return tree_parts(estimator, X, estimator.predict(X))
        coef = getattr(estimator, "coef_", None)
        if coef is not None and np.size(coef) == X.shape[1]:
            dense = X.toarray() if issparse(X) else np.asarray(X, dtype=float)
            constant = np.full(len(dense), float(np.ravel(estimator.intercept_)[0]))
            parts = np.column_stack([dense * np.ravel(coef), constant])
            size = 1.0 + np.abs(parts).sum(axis=1)
            # The scores of a generalized linear model are not sums of these.
            if (np.abs(parts.sum(axis=1) - estimator.predict(X)) <= _TOLERANCE * size).all():
                return parts
        raise ValueError(
            "estimator must have a score that is a sum over the features, or trees, got "
            f"{type(estimator).__name__}: sklearn.inspection.permutation_importance takes any."
        )


def refuse_other_grades(estimator: Any, y: Floats, remedy: str) -> None:
    """Raise if labels are not the grades whose gains the objective of a ranker can tell apart."""
    other = y[(y != np.floor(y)) | (y < 0) | (y > 30)]
    if len(other) and reads_queries(estimator):
        raise ValueError(
            f"y must be whole numbers from 0 to 30 for {type(estimator).__name__}, got "
            f"{other[0]:g}: make grades of them, or set {remedy}."
        )
