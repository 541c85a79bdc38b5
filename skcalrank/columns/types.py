"""Type aliases used in signatures."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]
Seed: TypeAlias = int | np.random.RandomState | None

#: What a decorator returns has the type of the method that it decorates.
Method = TypeVar("Method", bound=Callable[..., Any])

#: Labels of rows. The targets of this package have ``__array__``, which makes them ArrayLike too.
Labels: TypeAlias = ArrayLike


class Estimator(Protocol):
    """A ranker, regressor, pipeline or search, of any library."""

    fit: Callable[..., Any]
    predict: Callable[..., Any]


class Splitter(Protocol):
    """An object that yields folds, as those of :mod:`sklearn.model_selection`."""

    split: Callable[..., Any]


#: What makes folds: their number, a splitter, or the training and test rows of each.
CV: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]

#: What scikit-learn accepts as X. The lowest supported scipy has no ``sparray`` to import, and the
#: lowest Python neither ``Self`` nor ``Unpack``.
if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from scipy.sparse import sparray, spmatrix
    from typing_extensions import Self as Self
    from typing_extensions import Unpack as Unpack

    Matrix: TypeAlias = ArrayLike | sparray | spmatrix
else:
    Axes = Matrix = Self = Unpack = Any

#: Rows, labels, queries and weights that stop the training, or several of these by name.
EvalSets: TypeAlias = tuple[Matrix | None, ...] | Mapping[str, tuple[Matrix | None, ...]]
