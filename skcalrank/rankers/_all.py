"""All rankers, for those who ask for one by its name."""

from inspect import isabstract

from .. import rankers

_CLASSES = {name: getattr(rankers, name) for name in vars(rankers)["__all__"]}

#: Ranker classes by name, for one label per document or for judgments of a query.
RANKERS: dict[str, type[rankers.BaseRanker]] = {
    name: cls
    for name, cls in _CLASSES.items()
    if issubclass(cls, rankers.BaseRanker)
    and not isabstract(cls)
    and cls not in (rankers.MultiLabelRanker, rankers.ScoreRanker)
}
