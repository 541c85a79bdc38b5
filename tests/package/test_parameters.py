"""Constructor parameters of all estimators: order, constraints, documentation, bad values."""

import inspect
import re
import warnings
from itertools import product

import numpy as np
import pytest
from cases import labels_for
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from skcalrank import (
    AggregatedRanker,
    AUCRanker,
    AveragePrecisionRanker,
    ERRRanker,
    ExternalRanker,
    LeastSquaresRanker,
    LeastSquaresRankerCV,
    NDCGRanker,
    OrderPreservingRanker,
    PairwiseDisagreementRanker,
    RankingTarget,
)
from skcalrank.data import check, limits
from skcalrank.linear_model import GramRidge
from skcalrank.preprocessing import QuantileHinges, QueryContext, QueryScaler
from skcalrank.rankers import (
    DifferenceGraphRanker,
    LeastSquaresPairRanker,
    PairRanker,
    PairwiseHingeRanker,
    ScoreRanker,
    StochasticAggregatedRanker,
    ValueRegularizedRanker,
)
from skcalrank.structured import LowRankLossClassifier, StructuredPredictor
from skcalrank.testing import all_rankers

CLASSES = [cls for _, cls in all_rankers()]
CLASSES += [LowRankLossClassifier, StructuredPredictor, GramRidge, QueryContext, QueryScaler]
# A fit of its defaults takes seconds.
FITTED = [cls for cls in CLASSES if cls is not StochasticAggregatedRanker]
FITTED += [pytest.param(StochasticAggregatedRanker, marks=pytest.mark.long)]
NONSENSE = ["nonsense", -3, [1, 2], object(), float("nan")]

X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 2.0], [0.5, 3.0], [1.5, 1.0], [3.0, 0.0]])
Y = np.array([0.0, 1.0, 1.0, 0.0, 0.0, 1.0])
QID = np.array([1, 1, 1, 2, 2, 2])


def arguments(estimator):
    if isinstance(estimator, (LowRankLossClassifier, StructuredPredictor, GramRidge)):
        return X, Y
    return X, labels_for(estimator, Y, QID), QID


def named(cls):
    return cls.__name__


# -- signatures ------------------------------------------------------------------------


BY_POSITION = {
    AggregatedRanker: ["structure", "ranker"],
    ExternalRanker: ["estimator", "measure"],
    StochasticAggregatedRanker: ["structure", "measure"],
    LowRankLossClassifier: ["loss_matrix"],
    StructuredPredictor: ["loss"],
    GramRidge: ["alpha"],
    QueryContext: ["statistics"],
    QueryScaler: ["method"],
}


def by_position(cls):
    names = inspect.signature(cls).parameters
    first = [name for name in ("rankers", "measure", "estimator") if name in names][:1]
    return BY_POSITION.get(cls, first)


class Own(NDCGRanker):
    """Its own parameters have names that other rankers of the package have."""

    def __init__(self, estimator=None, *, k=10, columns="all", weights=3, cv="k", margin=None):
        super().__init__(estimator, k=k)
        self.columns, self.weights, self.cv, self.margin = columns, weights, cv, margin


@pytest.mark.filterwarnings("ignore:ndcg is undefined .* on all validation queries")
@pytest.mark.parametrize("cls", FITTED, ids=named)
def test_a_class_of_the_user_may_fix_all_parameters(cls):
    def fixed(self):
        cls.__init__(self)

    estimator = type("Fixed", (cls,), {"__init__": fixed})()
    assert repr(clone(estimator)) == "Fixed()"
    estimator.fit(*arguments(cls()))
    check_is_fitted(estimator)


def test_what_a_class_of_the_user_fixes_has_its_effect():
    class Fixed(NDCGRanker):
        def __init__(self):
            super().__init__(alpha=7.0, query_weight="equal", k=2)

    found = Fixed().fit(X, Y, QID)
    expected = NDCGRanker(alpha=7.0, query_weight="equal", k=2).fit(X, Y, QID)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert found.score(X, Y, QID) == expected.score(X, Y, QID)


def test_parameters_of_a_class_of_the_user_are_its_own():
    assert clone(Own(columns=7)).fit(X, Y, QID).columns == 7
    with pytest.raises(ValueError, match="'k' parameter of Own must be"):
        Own(k=0).fit(X, Y, QID)


def test_a_measure_that_a_class_of_the_user_names_is_learned():
    class Named(ScoreRanker):
        def __init__(self, measure="ndcg@2"):
            super().__init__()
            self.measure = measure

    found = Named("precision@3").fit(X, Y, QID)
    expected = LeastSquaresRanker("precision@3", kernel="linear").fit(X, Y, QID)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert found.score(X, Y, QID) == expected.score(X, Y, QID)


def test_no_parameter_of_a_class_of_the_user_is_meant_by_a_wrong_estimator():
    with pytest.raises(ValueError, match=r"or None, got 'x'\.$"):
        Own("x").fit(X, Y, QID)


def test_the_first_wrong_parameter_by_name_is_told():
    with pytest.raises(ValueError, match="'gain' parameter of NDCGRanker"):
        NDCGRanker(k=0, gain="log").fit(X, Y, QID)


@pytest.mark.parametrize("names", [("k", "alpha"), ("alpha", "k")], ids="-".join)
def test_the_first_parameter_without_effect_is_told(names):
    ranker = NDCGRanker(k=3, alpha=2.0)
    with pytest.raises(ValueError, match=f"^{names[0]}=.* has no effect with that"):
        check.refuse_unread(ranker, names, "that")


@pytest.mark.parametrize("cls", CLASSES, ids=named)
def test_all_but_the_first_parameters_are_by_keyword(cls):
    kinds = {name: p.kind for name, p in inspect.signature(cls).parameters.items()}
    first = by_position(cls)
    assert list(kinds)[: len(first)] == first
    for name, kind in kinds.items():
        assert (kind == inspect.Parameter.KEYWORD_ONLY) == (name not in first)


def test_every_constraint_is_that_of_a_parameter():
    stated = set()
    for base in {base for cls in CLASSES for base in cls.__mro__}:
        if base.__module__.startswith("skcalrank."):
            stated |= set(vars(base).get("_parameter_constraints", {}))
    assert stated == {name for cls in CLASSES for name in inspect.signature(cls).parameters}


def test_a_class_states_its_own_constraints_before_those_of_its_bases():
    class Strict(NDCGRanker):
        _parameter_constraints = {"k": [limits.Integers(5)]}

    assert limits.of_class(Strict).keys() == limits.of_class(NDCGRanker).keys()
    check.params(Strict(k=5))
    with pytest.raises(ValueError, match=r"'k' parameter of Strict .* \[5, inf\)"):
        check.params(Strict(k=4))


@pytest.mark.filterwarnings("ignore:ndcg is undefined .* on all validation queries")
@pytest.mark.parametrize("cls", FITTED, ids=named)
def test_every_parameter_has_a_default_that_is_valid(cls):
    assert set(limits.of_class(cls)) == set(inspect.signature(cls).parameters)
    estimator = cls()
    estimator.fit(*arguments(estimator))


@pytest.mark.parametrize("cls", CLASSES, ids=named)
def test_every_parameter_is_documented(cls):
    block = inspect.getdoc(cls).partition("Parameters\n----------\n")[2]
    block = re.split(r"\n[A-Z][\w ]*\n-+\n", block)[0]
    entries = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", block, flags=re.M)
    documented = {name.strip() for entry in entries for name in entry.split(",")}
    assert documented == set(inspect.signature(cls).parameters)


@pytest.mark.parametrize("cls", CLASSES, ids=named)
def test_every_parameter_is_kept_as_it_is_given(cls):
    for name in inspect.signature(cls).parameters:
        value = object()
        assert cls(**{name: value}).get_params(deep=False)[name] is value


COUNTS = ["n_jobs", "n_models", "n_estimators", "n_iter_no_change", "max_leaf_nodes", "n_passes"]
COUNTS += ["max_iter", "k", "order", "n_draws", "n_updates", "batch_size", "n_knots"]


@pytest.mark.parametrize("cls", [QuantileHinges, *CLASSES], ids=named)
def test_a_count_is_no_bool(cls):
    for name in set(inspect.signature(cls).parameters) & set(COUNTS):
        with pytest.raises(ValueError, match=rf"{name}.*int.* Got True"):
            check.params(cls(**{name: True}))


# -- nonsense --------------------------------------------------------------------------


def form_that_reads(cls, name):
    """An estimator that reads the parameter."""
    if issubclass(cls, PairRanker) and name in (*cls._of_pairs, "pred", "n_jobs"):
        return cls(surrogate="pairwise")
    if (cls, name) == (ValueRegularizedRanker, "power"):
        return cls(regularizer="power")
    return cls()


def is_legal(cls, name, value):
    try:
        check.params(cls(**{name: value}))
    except ValueError:
        return False
    return limits.of_class(cls)[name] != limits.OWN_ERROR


def refusal(call):
    """Return the message of a ValueError or TypeError; None if the call succeeds."""
    try:
        call()
    except (ValueError, TypeError) as error:
        return str(error)
    return None


def check_refused(call, name, value):
    message = refusal(call)
    assert message is not None, f"{name}={value!r} is accepted"
    assert re.search(rf"\b{name}\b", message), message
    # For a list, the message may contain only the bad item.
    values = [value, *value] if isinstance(value, list) else [value]
    assert any(repr(each) in message for each in values), message


@pytest.mark.parametrize("cls", CLASSES, ids=named)
def test_nonsense_is_legal_or_refused_by_name(cls):
    for name, value in product(inspect.signature(cls).parameters, NONSENSE):
        estimator = form_that_reads(cls, name).set_params(**{name: value})
        data = arguments(estimator)
        if not is_legal(cls, name, value):
            check_refused(lambda e=estimator, data=data: e.fit(*data), name, value)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            message = refusal(lambda e=estimator, data=data: e.fit(*data))
        assert message is None or re.search(rf"\b{name}\b", message), f"{name}={value!r}: {message}"


def chunked():
    for cls in CLASSES:
        if cls is GramRidge:
            yield cls()
        elif issubclass(cls, ScoreRanker) and "estimator" in inspect.signature(cls).parameters:
            options = {"max_grade": 1} if cls is ERRRanker else {}
            measure = {"measure": "dcg"} if cls is LeastSquaresRanker else {}
            form = {"surrogate": "score"} if issubclass(cls, PairRanker) else {}
            yield cls(estimator=GramRidge(), **options, **measure, **form)


@pytest.mark.parametrize("estimator", chunked(), ids=lambda e: type(e).__name__)
def test_partial_fit_refuses_nonsense_too(estimator):
    cls = type(estimator)
    for name in set(inspect.signature(cls).parameters) - {"estimator", "surrogate"}:
        for value in NONSENSE:
            changed = clone(estimator).set_params(**{name: value})
            if not is_legal(cls, name, value):
                check_refused(lambda c=changed: c.partial_fit(*arguments(c)), name, value)


# -- parameters that are not read --------------------------------------------------------


UNREAD = [
    (PairwiseDisagreementRanker(pair_features="concat"), "pair_features='concat' has no effect"),
    (PairwiseDisagreementRanker(time_limit=1.0), "time_limit=1.0 .*set surrogate='pairwise'"),
    (AveragePrecisionRanker(pair_features="concat"), "pair_features='concat' has no effect"),
    (
        PairwiseDisagreementRanker(surrogate="pairwise", score_function=np.sum),
        "score_function=.* set surrogate='score'",
    ),
    (AveragePrecisionRanker(surrogate="pairwise", loss="squared"), "loss='squared' has no effect"),
    (ValueRegularizedRanker(power=3.0), "power=3.0 .*set regularizer='power'"),
    (NDCGRanker(Ridge(), alpha=2.0), "alpha=2.0 .*set the penalty on the estimator"),
    (AveragePrecisionRanker(Ridge(), alpha=2.0), "alpha=2.0 .*set the penalty on the estimator"),
]


@pytest.mark.parametrize(("estimator", "message"), UNREAD, ids=[message for _, message in UNREAD])
def test_parameters_that_a_form_does_not_read(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(*arguments(estimator))


# -- alpha -----------------------------------------------------------------------------


def with_alpha():
    for cls in CLASSES:
        if {"alpha", "estimator"} <= set(inspect.signature(cls).parameters):
            if not issubclass(cls, PairRanker):
                yield cls()
            else:
                yield cls(surrogate="score")
                yield cls(surrogate="pairwise", pair_features="concat")


@pytest.mark.parametrize("estimator", with_alpha(), ids=str)
def test_alpha_is_that_of_ridge(estimator):
    ours = clone(estimator).set_params(alpha=10.0).fit(*arguments(estimator))
    theirs = clone(estimator).set_params(estimator=Ridge(10.0)).fit(*arguments(estimator))
    np.testing.assert_allclose(ours.estimator_.coef_, theirs.estimator_.coef_, rtol=1e-9)
    other = clone(estimator).set_params(alpha=0.1).fit(*arguments(estimator))
    assert not np.array_equal(ours.estimator_.coef_, other.estimator_.coef_)
    assert ours.alpha_ == 10.0
    assert np.array_equal(ours.penalty_scale_, np.ones(ours.estimator_.coef_.size))
    assert not hasattr(theirs, "alpha_")
    assert not hasattr(theirs, "penalty_scale_")
    ours.set_params(estimator=Ridge(), alpha="auto")
    assert ours.alpha_ == 10.0
    assert not hasattr(ours.fit(*arguments(estimator)), "alpha_")


def test_alpha_of_a_search_is_the_one_that_was_chosen():
    ranker = LeastSquaresRankerCV("dcg", alphas=[3.0], cv=2).fit(X, Y, QID)
    assert ranker.alpha_ == 3.0
    assert np.array_equal(ranker.penalty_scale_, np.ones(2))


# -- what is no regressor ----------------------------------------------------------------


NO_REGRESSORS = [
    (NDCGRanker(10), r"got 10: did you mean NDCGRanker\(k=10\)\?"),
    (NDCGRanker(0.5), r"got 0\.5: did you mean NDCGRanker\(alpha=0\.5\)\?"),
    (NDCGRanker("squared"), r"got 'squared': did you mean NDCGRanker\(loss='squared'\)\?"),
    (NDCGRanker("map"), r"got 'map'\.$"),
    (NDCGRanker(Ridge), r"did you mean Ridge\(\)\?"),
    (ERRRanker(4), r"did you mean ERRRanker\(max_grade=4\)\?"),
    (AUCRanker(-4), r"did you mean AUCRanker\(relevance_level=-4\)\?"),
    (AveragePrecisionRanker("pairwise"), r"AveragePrecisionRanker\(surrogate='pairwise'\)\?"),
    (LeastSquaresRanker(estimator="dcg"), r"did you mean LeastSquaresRanker\(measure='dcg'\)\?"),
    (LeastSquaresRanker(Ridge()), r"did you mean LeastSquaresRanker\(estimator=Ridge\(\)\)\?"),
    (LowRankLossClassifier(estimator=2.0), "estimator must be a regressor .* got 2.0"),
]


def backwards(cls):
    """The class, with the parameters of its signature in the opposite order."""
    parameters = reversed(inspect.signature(cls).parameters.values())
    by_keyword = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    return type(cls.__name__, (cls,), {"__signature__": inspect.Signature(by_keyword)})


def test_what_is_meant_does_not_depend_on_the_order_of_parameters():
    owners = [cls for cls in CLASSES if "estimator" in inspect.signature(cls).parameters]
    assert len(owners) > 10
    for cls, value in product(owners, [10, 0.5, -4, "squared", "pairwise", "exponential", "dcg"]):
        told = refusal(lambda cls=cls, value=value: check.params(cls(estimator=value)))
        other = refusal(lambda cls=cls, value=value: check.params(backwards(cls)(estimator=value)))
        assert told == other
    assert "PairRanker(loss='squared')" in refusal(
        lambda: check.params(LeastSquaresPairRanker(estimator="squared"))
    )


@pytest.mark.parametrize(("estimator", "message"), NO_REGRESSORS, ids=str)
def test_what_is_no_regressor_is_told_where_it_belongs(estimator, message):
    given = arguments(estimator)
    with pytest.raises(ValueError, match=message) as caught:
        estimator.fit(*given)
    assert not isinstance(caught.value, NotFittedError)
    pipe = make_pipeline(StandardScaler(), estimator)
    step = pipe.steps[-1][0]
    extra = {f"{step}__qid": QID} if len(given) == 3 else {}
    with pytest.raises(ValueError, match=message):
        pipe.fit(X, Y, **extra)
    search = GridSearchCV(estimator, {}, cv=GroupKFold(2), error_score="raise")
    with pytest.raises(ValueError, match=message):
        search.fit(X, RankingTarget(Y, QID) if extra else Y, groups=QID)
    if not isinstance(estimator, LeastSquaresRanker) or estimator.estimator is not None:
        assert get_tags(estimator).target_tags.required
        assert not hasattr(estimator, "partial_fit")
    for each in (estimator, pipe, search):
        assert set(each._repr_mimebundle_()) == {"text/plain", "text/html"}
        assert repr(clone(each)) == repr(each)


# -- names -----------------------------------------------------------------------------


@pytest.mark.long
def test_a_parameter_name_means_one_thing():
    for cls in CLASSES:
        names = inspect.signature(cls).parameters
        # What a structured predictor is told is the loss to be predicted for, not the surrogate.
        if "loss" in names and cls is not StructuredPredictor:
            form = {"surrogate": "score"} if issubclass(cls, PairRanker) else {}
            form |= {"trees": None} if "trees" in names else {}
            estimator = cls(loss="pairwise_squared", **form)
            estimator.fit(*arguments(estimator))
        assert "smoothing" not in names or cls is OrderPreservingRanker
    assert "edge_loss" in inspect.signature(DifferenceGraphRanker).parameters
    assert "corner_width" in inspect.signature(PairwiseHingeRanker).parameters
