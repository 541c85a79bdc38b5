"""Plot of a measure against the rounds of boosting."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..columns.types import Axes, Estimator, Floats, Self
from ..data import inside
from ._base import Display, draw_line, literal


@dataclass(kw_only=True, eq=False, repr=False)
class TrainingCurveDisplay(Display):
    """Plot of a measure after each round of boosting, on each set that was followed.

    Use :meth:`from_estimator` to make a display.

    Parameters
    ----------
    name : str, default=None
        Title of the axes. If None, there is no title.
    values : dict of str to ndarray of shape (n_rounds,)
        Mean of the measure after each round, by the name of the curve.
    best : dict of str to int
        Number of rounds that were kept, for each curve.
    measure_name : str, default=None
        Name of the measure, for the label of the axis.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        The curves.
    marks_ : list of matplotlib Line2D
        Marks of the rounds that were kept.
    ax_, figure_ : matplotlib Axes and Figure

    See Also
    --------
    skcalrank.BoostedRanker : Ranker with `evals_result_`.
    sklearn.model_selection.LearningCurveDisplay : Score against the number of training rows.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from skcalrank import BoostedRanker, load_digits_queries
    >>> from skcalrank.displays import TrainingCurveDisplay
    >>> X, y, qid = load_digits_queries(n_queries=60)
    >>> train = qid < 40
    >>> sets = {name: (X[rows], y[rows], qid[rows]) for name, rows in
    ...         {"training": train, "validation": ~train}.items()}
    >>> ranker = BoostedRanker(n_estimators=20, n_jobs=1)
    >>> ranker = ranker.fit(*sets["training"], eval_set=sets)
    >>> display = TrainingCurveDisplay.from_estimator(ranker)
    >>> list(display.values), display.best["validation"] == ranker.best_iteration_
    (['training', 'validation'], True)
    >>> plt.show()
    """

    values: dict[str, Floats]
    best: dict[str, int]
    measure_name: str | None = None

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        mark_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the curves.

        Parameters
        ----------
        ax, name
            As in :meth:`MeasureAtKDisplay.plot`; the name is the title of the axes.
        curve_kwargs, mark_kwargs : dict, default=None
            Style of the curves and of the marks of the rounds that were kept, for matplotlib's
            ``plot``.

        Returns
        -------
        display : TrainingCurveDisplay
        """
        ax = self._open(ax, self.values.values(), name, self.name)
        from matplotlib.ticker import MaxNLocator

        self.lines_, self.marks_ = [], []
        for curve, values in self.values.items():
            rounds = range(1, len(values) + 1)
            line = draw_line(ax, rounds, values, curve_kwargs, label=literal(curve))
            kept = self.best[curve]
            style = {"marker": "o", "linestyle": "", "color": line.get_color()}
            self.marks_.append(draw_line(ax, [kept], [values[kept - 1]], mark_kwargs, **style))
            self.lines_.append(line)
        ax.set(xlabel="round", ylabel=literal(self.measure_name or "measure"))
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.legend()
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        *,
        ax: Axes | None = None,
        name: str | None = None,
        curve_kwargs: dict[str, Any] | None = None,
        mark_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Plot the curves of a fitted ranker.

        Parameters
        ----------
        estimator : fitted BoostedRanker
            Or a stack of rankers, such as a :class:`~skcalrank.TabularRanker`, a pipeline that ends
            in one, or a search of these. Every model has curves of its own.
        ax, name, curve_kwargs, mark_kwargs
            As in :meth:`plot`.

        Returns
        -------
        display : TrainingCurveDisplay

        Raises
        ------
        NotFittedError
            If the estimator is not fitted.
        ValueError
            If it followed no queries, as with ``validation_fraction=None`` and no `eval_set`.
        """
        cls._check_support("from_estimator")
        values, best, measure = {}, {}, None
        for title, ranker in _boosted("", estimator):
            measure = ranker.record_.plan.measure.full_name
            results, kept = ranker.evals_result_, ranker.best_iteration_
            if not isinstance(results, list):
                results, kept = [results], [kept]
            for number, (of_model, n_rounds) in enumerate(zip(results, kept), 1):
                model = f"{title}model {number} " if len(results) > 1 else title
                for of_set, curve in of_model.items():
                    values[model + of_set], best[model + of_set] = curve, n_rounds
        if not values:
            raise ValueError(
                "estimator must have followed queries while trees grew (evals_result_), got "
                f"{estimator!r}: fit a BoostedRanker with an eval_set, or with validation_fraction."
            )
        display = cls(values=values, best=best, measure_name=measure, name=name)
        return display.plot(ax, curve_kwargs=curve_kwargs, mark_kwargs=mark_kwargs)


def _boosted(title: str, estimator: Any) -> Iterator[tuple[str, Any]]:
    """Yield boosted rankers, by titles, inside of searches, pipelines and stacks."""
    if hasattr(estimator, "validation_scores_"):
        yield title, estimator
    elif isinstance(estimator, Pipeline):
        yield from _boosted(title, estimator[-1])
    elif (inner := inside(estimator)) is not None:
        yield from _boosted(title, inner)
    else:
        check_is_fitted(estimator)
        for name, member in getattr(estimator, "named_rankers_", {}).items():
            yield from _boosted(f"{title}{name} ", member)
