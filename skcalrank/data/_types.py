"""Names of the types that signatures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]
Seed: TypeAlias = int | np.random.RandomState | None

#: A target of this package is one too, for numpy's protocol: it has ``__array__``.
Labels: TypeAlias = ArrayLike

#: What scikit-learn accepts as X. The lowest supported scipy has no name for sparse arrays.
if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix

    Matrix: TypeAlias = ArrayLike | sparray | spmatrix
else:
    Matrix = Any
