"""Query by example on the handwritten digits that scikit-learn embeds."""

import numpy as np
from sklearn.utils import check_random_state

from ..columns.types import Floats, Seed
from ..data import check
from ._container import RankingData

_DESCRIPTION = """Query by example on the handwritten digits of scikit-learn.

A query is one image, its documents are other images, and a document is relevant (1) when
it shows the same digit, or graded by how near its digit is to that of the query. No document is its
own query. Features compare the two images: the absolute
difference of every pixel, the absolute difference of the ink in every row and column, and
three similarities of the whole images.
"""

# Grades by the difference of two digits.
_GRADES = np.array([4, 2, 1, 1, 0, 0, 0, 0, 0, 0])


def load_digits_queries(
    n_queries: int = 200, n_documents: int = 50, *, graded: bool = False, random_state: Seed = 0
) -> RankingData:
    """Load queries by example: retrieve images that show the digit of a query image.

    The data are real, small, and part of scikit-learn.

    Parameters
    ----------
    n_queries : int, default=200
        Number of query images, at most 1797.
    n_documents : int, default=50
        Number of documents of each query, at most 1796.
    graded : bool, default=False
        If False, documents that show the digit of the query are relevant (1), and others are not
        (0). If True, the relevance is 4 for the same digit, 2 for digits that differ by one, 1 for
        digits that differ by two or three, and 0 for others.
    random_state : int, RandomState instance or None, default=0
        Draws the images that are queries and documents.

    Returns
    -------
    data : RankingData
        Unpacks to ``X, y, qid``: X of shape (n_queries * n_documents, 83), y in {0, 1}, or in
        {0, 1, 2, 4} if `graded`.

    Examples
    --------
    >>> from skcalrank import load_digits_queries
    >>> X, y, qid = load_digits_queries(n_queries=10, n_documents=20)
    >>> X.shape
    (200, 83)
    """
    from sklearn.datasets import load_digits  # takes a while, and most users never need it

    images, digits = load_digits(return_X_y=True)
    check.count("n_queries", n_queries, most=len(images))
    check.count("n_documents", n_documents, most=len(images) - 1)
    if not isinstance(graded, (bool, np.bool_)):
        raise ValueError(f"graded must be True or False, got {graded!r}.")
    rng = check_random_state(random_state)
    queries = rng.permutation(len(images))[:n_queries]
    documents = np.empty((n_queries, n_documents), dtype=np.intp)
    for row, query in enumerate(queries):
        drawn = rng.choice(len(images) - 1, n_documents, replace=False)
        documents[row] = drawn + (drawn >= query)
    first, second = np.repeat(queries, n_documents), documents.ravel()
    difference = np.abs(digits[first] - digits[second])
    return RankingData(
        _compare(images[first] / 16.0, images[second] / 16.0),
        _GRADES[difference] if graded else (difference == 0).astype(int),
        np.repeat(np.arange(n_queries), n_documents),
        description=_DESCRIPTION,
        feature_names=[
            *(f"pixel_{i}_{j}" for i in range(8) for j in range(8)),
            *(f"{side}_{i}" for side in ("row_ink", "column_ink") for i in range(8)),
            *("distance", "cosine", "overlap"),
        ],
    )


def _compare(a: Floats, b: Floats) -> Floats:
    """Return features of pairs of images of 8 x 8 pixels with values in [0, 1]."""
    difference = (a - b).reshape(-1, 8, 8)  # of multiples of 1/16, whose sums are exact
    rows, columns = np.abs(difference.sum(axis=2)), np.abs(difference.sum(axis=1))
    distance = np.linalg.norm(a - b, axis=1)
    cosine = (a * b).sum(axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
    overlap = np.minimum(a, b).sum(axis=1) / np.maximum(a, b).sum(axis=1)
    return np.column_stack([np.abs(a - b), rows, columns, distance, cosine, overlap])
