"""How well models of users predict clicks that they have not seen."""

from typing import Any

import numpy as np

from ..columns.types import Bools, Floats, Ints
from ..data import Queries
from ..judgments import ClickSessions

# Perplexities of this difference or less are equal: propensities near 1 are no bias, up to errors.
_EQUAL = 5e-3

_MODELS = "position-based", "cascade", "no bias"

# Probabilities of clicks are kept so far from 0 and 1.
_LEAST = 1e-6


def perplexities(sessions: ClickSessions, theta: Floats) -> dict[str, float]:
    """Return the perplexity per document shown of models of users, by name; lower is better.

    The relevance of a document, in every second session of a query, is that of the others: its
    clicks over its examinations in the model, with one examination of the mean relevance more.
    Clicks depend on those above them only in the cascade, whose users may go on after a click.
    """
    session = np.repeat(np.arange(sessions.n_sessions), np.diff(sessions.ptr))
    examined = theta[sessions.position - 1], 1.0 * sessions.examined, np.ones(len(session))
    odd = _places(sessions)[session] % 2 == 1
    position, cascade, none = (_of_other_half(sessions, e, odd) for e in examined)
    of_position, of_none = _logs(sessions, examined[0] * position), _logs(sessions, none)
    logs = of_position, _logs_of_cascade(sessions, cascade, session), of_none
    return {name: float(np.exp(-of.sum() / len(session))) for name, of in zip(_MODELS, logs)}


def better_model(of_models: dict[str, float]) -> str | None:
    """Return the best model, if it predicts clicks better than the position-based one."""
    best = min(of_models, key=lambda name: of_models[name])
    return best if of_models["position-based"] > of_models[best] + _EQUAL else None


def _places(sessions: ClickSessions) -> Ints:
    """Return the number of each session among those of its query."""
    first = np.minimum(sessions.ptr[:-1], len(sessions.shown_rows) - 1)
    of_query = Queries.from_qid(sessions.queries().codes[sessions.shown_rows[first]])
    return of_query.ungroup(of_query.places)


def _of_other_half(sessions: ClickSessions, examined: Floats, odd: Bools) -> Floats:
    """Return for each document shown its relevance in the other half of the sessions."""
    n, key = len(sessions), sessions.shown_rows + len(sessions) * odd
    clicks, e = (
        np.bincount(key, of, minlength=2 * n).reshape(2, n)[::-1]
        for of in (sessions.clicked, examined)
    )
    mean = clicks.sum(axis=1, keepdims=True) / np.maximum(e.sum(axis=1, keepdims=True), 1.0)
    return ((clicks + mean) / (e + 1)).ravel()[key]


def _logs(sessions: Any, probability: Floats) -> Floats:
    """Return the log-likelihood of each document shown, given probabilities of clicks."""
    probability = probability.clip(_LEAST, 1 - _LEAST)
    return np.log(np.where(sessions.clicked, probability, 1 - probability))


def _logs_of_cascade(sessions: Any, relevance: Floats, session: Any) -> Floats:
    """Return the log-likelihood of each session, whose users go on with one probability."""
    logs, examined, ends = _logs(sessions, relevance), sessions.examined, sessions.last_click > 0
    read, below, clicks = (
        np.bincount(session, of, len(ends))
        for of in (examined * logs, ~examined * logs, sessions.clicked)
    )
    more = np.maximum(clicks - 1, 0)
    on = (more.sum() + 1) / (more.sum() + ends.sum() + 2)
    # Below the last click: the user has left, or has gone on and found nothing.
    return read + more * np.log(on) + ends * np.log(1 - on + on * np.exp(below))
