"""Lines of progress of comparisons and searches, in the one form that pipelines and stacks have."""

import re
from types import SimpleNamespace

import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.dummy import DummyRegressor

from skcalrank import LeastSquaresRankerCV, NDCGRanker, QueryShuffleSplit, load_digits_queries
from skcalrank.data import say
from skcalrank.evaluation import compare, cross_compare

X, Y, QID = load_digits_queries(n_queries=20, n_documents=8)
RANKERS = {"ndcg": NDCGRanker(), "constant": DummyRegressor()}


def crossed(**options):
    return cross_compare(RANKERS, X, Y, QID, ["ndcg@5", "map"], **options).differences


def compared(**options):
    scores = {"a": X[:, 20], "b": X[:, 28]}
    return compare(Y, scores, ["ndcg@5", "map"], qid=QID, **options).differences


def searched(**options):
    return LeastSquaresRankerCV("ndcg@5", cv=3, **options).fit(X, Y, QID).alpha_


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (crossed, [f"{name}, split {k} of 5" for name in RANKERS for k in range(1, 6)]),
        (compared, ["2 measures of 2 systems", "intervals and tests"]),
        (searched, [f"split {k} of 3" for k in range(1, 4)]),
    ],
    ids=["cross_compare", "compare", "LeastSquaresRankerCV"],
)
def test_verbose_prints_a_line_for_each_step_and_changes_nothing(call, expected, capsys, request):
    silent = call()
    assert capsys.readouterr().out == ""
    assert repr(call(verbose=1)) == repr(silent)
    name = request.node.callspec.id
    lines = capsys.readouterr().out.splitlines()
    said = [re.fullmatch(rf"\[{name}\] (.*), total= *\d+\.\ds", line)[1] for line in lines]
    assert [re.sub(r", ndcg@5=[.\d]+, map=[.\d]+$", "", text) for text in said] == expected
    assert ("map=" in said[0]) == (call is crossed)


def test_a_line_is_written_at_once(monkeypatch):
    # Where an output has no buffer, what other processes print would come in between.
    writes = []
    monkeypatch.setattr("sys.stdout", SimpleNamespace(write=writes.append, flush=lambda: None))
    say("a line")
    assert [text for text in writes if text] == ["a line\n"]


@pytest.mark.long
def test_other_processes_print_their_splits(capfd):
    # Processes that an earlier test started print to the file that was captured then.
    get_reusable_executor().shutdown(wait=True)
    crossed(cv=QueryShuffleSplit(2, test_size=5, random_state=0), n_jobs=2, verbose=1)
    lines = capfd.readouterr().out.splitlines()
    expected = {f"[cross_compare] {name}, split {k} of 2" for name in RANKERS for k in (1, 2)}
    assert {line.partition(", ndcg@5=")[0] for line in lines} == expected
