"""Errors and warnings that have a name of their own."""


class MissingQidError(ValueError):
    """Rows were to be read as queries, but nothing says which row belongs to which.

    Raised by a ranker that was fitted with query identifiers and is asked to rank
    or score rows without them, and by splitters that get none. A fold is never
    silently treated as one query.

    Examples
    --------
    >>> from skcalrank import MissingQidError
    >>> issubclass(MissingQidError, ValueError)
    True
    """
