"""Cut-offs and maps of random small problems: containers, names, orders and bad input."""

import numpy as np
import pytest
from around_cases import FirstColumn

pytest.importorskip("hypothesis")
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator
from strategies import (
    CONTAINERS,
    bad,
    codes_of_queries,
    contained,
    examples,
    matrices,
    orders,
    qids,
    quiet,
    refused,
    vectors,
)

from skcalrank import CalibratedRankerCV, GuaranteedCutoff, NDCGRanker

pytestmark = pytest.mark.filterwarnings("ignore::skcalrank.data.SingleDocumentsWarning")
NUMBERS = {name: made for name, made in CONTAINERS.items() if name != "category"}


@st.composite
def problems(draw):
    """Ten queries or more, in which documents tie."""
    codes = draw(codes_of_queries(10).filter(lambda codes: codes.max() >= 5))
    labels = draw(vectors(len(codes), (0.0, 1.0, 2.0)))
    # Something to lose in queries with several documents, whatever is drawn.
    return draw(matrices(len(codes), 2)), np.append(2.0, labels[1:]), codes


def cutoffs():
    frozen = FrozenEstimator(FirstColumn().fit(None))
    for loss in ("recall", "dcg", "first", "best", "no_answer"):
        for by in ("score", "depth")[: 1 + (loss != "no_answer")]:
            yield GuaranteedCutoff(frozen, loss, 0.5, by=by, relevance_level=1)


@examples(0.5)
@given(data=st.data())
def test_containers_names_and_orders_change_no_threshold(data):
    X, y, codes = data.draw(problems())
    cutoff = data.draw(st.sampled_from(list(cutoffs())))
    assume(any(np.ptp(y[codes == code]) for code in range(codes.max() + 1)))  # one is the best
    with quiet():
        kept = cutoff.fit(X, y, codes).predict_set(X, codes)
        expected, rows = cutoff.threshold_, data.draw(orders(len(y)))
        held = data.draw(contained(X, NUMBERS)), data.draw(contained(y)), data.draw(qids(codes))
        assert cutoff.fit(*held).threshold_ == expected
        again = cutoff.fit(X[rows], y[rows], codes[rows])
        assert again.threshold_ == expected
        np.testing.assert_array_equal(again.predict_set(X, codes), kept)
        # A promise of less loss keeps no less, as far as there are queries for it.
        if again.n_queries_ > 1:
            tighter = cutoff.set_params(alpha=0.35).fit(X, y, codes)
            assert tighter.threshold_ <= expected
            cutoff.set_params(alpha=0.5)


@pytest.mark.filterwarnings("ignore:y should have at least 10 queries:UserWarning")
@examples(0.5)
@given(data=st.data())
def test_maps_keep_the_order_of_any_scores(data):
    X, y, codes = data.draw(problems())
    ranker = CalibratedRankerCV(FrozenEstimator(FirstColumn().fit(None)), level=None, cv=2)
    with quiet():
        fitted = ranker.set_params(relevance_level=1).fit(X, y, codes)
        new = data.draw(matrices(len(y), 2, (-1e300, -1.0, 0.0, 1e-300, 1.0, 1e9)))
        values = fitted.predict(new, codes)
    assert ((values > 0) & (values < 1)).all()
    same = codes[:, None] == codes
    for compare in (np.less, np.equal):
        of_values, of_scores = (compare.outer(of, of)[same] for of in (values, new[:, 0]))
        np.testing.assert_array_equal(of_values, of_scores)


@pytest.mark.parametrize("make", [CalibratedRankerCV, GuaranteedCutoff])
@examples(0.3)
@given(data=st.data())
def test_bad_input_is_refused(make, data):
    X, y, codes = data.draw(problems())
    args = {"X": X, "y": y, "qid": codes}
    name = data.draw(st.sampled_from(sorted(args)))
    args[name] = data.draw(bad(args[name]))
    with quiet():
        refused(lambda: make(NDCGRanker(), relevance_level=1).fit(**args))
