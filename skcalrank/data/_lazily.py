"""A lock-free replacement of ``functools.cached_property``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    lazy_property = cached_property
else:

    class lazy_property(cached_property):
        """A ``cached_property`` without a lock.

        Before Python 3.12, all objects of a class share one lock, so that threads wait for each
        other, and wait forever if an interrupt arrived while the lock was held.
        """

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            known = vars(instance)
            if self.attrname not in known:
                known[self.attrname] = self.func(instance)
            return known[self.attrname]
