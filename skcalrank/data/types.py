"""Type aliases used in signatures."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.floating[Any]]
Ints: TypeAlias = NDArray[np.integer[Any]]
Seed: TypeAlias = int | np.random.RandomState | None

#: Labels of rows. The targets of this package have ``__array__``, which makes them ArrayLike too.
Labels: TypeAlias = ArrayLike

#: What scikit-learn accepts as X. The lowest supported scipy has no ``sparray`` to import, and the
#: lowest Python neither ``Self`` nor ``Unpack``.
if TYPE_CHECKING:
    from scipy.sparse import sparray, spmatrix
    from typing_extensions import Self as Self
    from typing_extensions import Unpack as Unpack

    Matrix: TypeAlias = ArrayLike | sparray | spmatrix
else:
    Matrix = Self = Unpack = Any
