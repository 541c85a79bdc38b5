"""Helpers that read texts and edges from plots."""

import numpy as np


def legend_of(ax):
    """Return the texts of the legend."""
    return [text.get_text() for text in ax.get_legend().get_texts()]


def edges(band, x):
    """Return the lower and the upper edge of a band at each x."""
    vertices = band.get_paths()[0].vertices
    return np.array([[f(vertices[vertices[:, 0] == at, 1]) for at in x] for f in (np.min, np.max)])
