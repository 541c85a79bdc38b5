"""Rankers that read the columns of a table as numbers."""

from typing import Any, ClassVar

import numpy as np

from ..columns.types import Floats
from ..data import workers_of_fit
from ..preprocessing import encoded, fit_encoded
from ..rankers import BaseRanker


class TableReader(BaseRanker):
    """Base class of rankers that read tables by an encoder, unless what is inside does so."""

    # Whether rankers inside read the rows, so that those of the matrix are made when they do.
    _has_members: ClassVar[bool] = False

    columns: Any
    encoder_: Any

    def _why_unread(self) -> str | None:
        """Return why the columns are not read by an encoder; None if they are."""
        return None

    def _fit_encoded(self, X: Any, y: Any, qid: Any) -> Any:
        why = self._why_unread()
        if why is None:
            by_rows = self._has_members and workers_of_fit().size == 1
            X = fit_encoded(X, self.columns, y, qid, by_rows=by_rows)
        elif self.columns is not None:
            raise ValueError(
                f"columns must be None, because {why}, got {self.columns!r}: leave it out."
            )
        self.encoder_ = getattr(X, "encoder", None)
        return X

    def _no_parts(self, X: Any, qid: Any) -> Floats:
        """Return the contributions of the features to the scores of no rows."""
        return np.zeros((len(self._of_no_rows(X, qid)), self.n_features_in_ + 1))

    def _encoded(self, X: Any) -> Any:
        return X if self.encoder_ is None else encoded(X, self.encoder_)


def encodes(ranker: Any) -> bool:
    """Return whether a ranker reads tables by an encoder that it could share with others."""
    is_one = isinstance(ranker, TableReader) and not ranker._has_members  # noqa: SLF001
    return is_one and ranker._why_unread() is None  # noqa: SLF001
