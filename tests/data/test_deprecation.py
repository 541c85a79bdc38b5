"""Names that change work on, with a warning that says until when."""

import inspect
import warnings

import pytest
from sklearn.base import BaseEstimator, clone

from skcalrank.data import renamed, renamed_parameter

PARAMETER = r"size was renamed to n_rows in version 0\.3 and will be removed in version 0\.5"


@renamed_parameter("size", "n_rows", since="0.3")
def count(n_rows=1, *, step=1):
    """Count rows."""
    return n_rows // step


class Counter(BaseEstimator):
    @renamed_parameter("size", "n_rows", since="0.3")
    def __init__(self, n_rows=1):
        self.n_rows = n_rows

    @property
    def n_rows_(self):
        return self.n_rows

    @renamed("size_", "n_rows_", since="0.3")
    @property
    def size_(self):
        return self.n_rows_


@renamed("tally", "count", since="1.9.1")
def tally(*args, **given):
    return count(*args, **given)


def test_a_parameter():
    with pytest.warns(FutureWarning, match=PARAMETER) as caught:
        assert count(size=4, step=2) == 2
    assert caught[0].filename == __file__
    assert list(inspect.signature(count).parameters) == ["n_rows", "step"]
    assert count.__doc__ == "Count rows."


def test_a_parameter_of_an_estimator():
    with pytest.warns(FutureWarning, match=PARAMETER):
        counter = Counter(size=3)
    assert counter.get_params() == {"n_rows": 3}
    assert clone(counter).n_rows == 3


def test_both_names():
    with pytest.raises(TypeError, match="size is the old name of n_rows: pass n_rows alone"):
        count(size=1, n_rows=2)


def test_a_function():
    words = (
        r"^Function tally is deprecated; it was renamed to count in version 1\.9\.1 and will be "
        r"removed in version 1\.11: use count\.$"
    )
    with pytest.warns(FutureWarning, match=words):
        assert tally(4, step=2) == 2


@pytest.mark.parametrize("of", [renamed, renamed_parameter])
@pytest.mark.parametrize("since", ["3", "0.3rc1", "0.3.1.2", ""])
def test_versions(of, since):
    with pytest.raises(ValueError, match=r"since must be a version such as '0\.3' or '0\.3\.1'"):
        of("old", "new", since=since)


def test_an_attribute():
    with pytest.warns(FutureWarning, match="^size_ was renamed to n_rows_ in version 0.3"):
        assert Counter(2).size_ == 2


def test_new_names_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert count(4, step=2) == count(n_rows=2)
        assert Counter(n_rows=2).n_rows_ == 2
