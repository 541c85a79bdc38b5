"""Files of every format for the commands, and a model file."""

import pytest
from commands import write_letor
from threadpoolctl import threadpool_limits

from skcalrank import NDCGRanker, load_letor
from skcalrank.linear_model import GramRidge
from skcalrank.persistence import save_model


@pytest.fixture(autouse=True)
def one_thread():
    """One BLAS thread: for small data, more threads mostly wait."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_letor(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def frames(folder):
    """The data of the LETOR files as tables, with a column of text and names of documents."""
    pandas = pytest.importorskip("pandas")
    frames = {}
    for name in ("train", "test"):
        X, y, qid = load_letor(folder / f"{name}.txt")
        frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(6)])
        frame["query"], frame["grade"] = qid, y.astype(int)
        frame["docid"] = [f"d{i}" for i in range(len(y))]
        frames[name] = frame
    return frames


@pytest.fixture
def path(folder):
    """Full names of files in the folder."""
    return lambda name: str(folder / name)


@pytest.fixture
def model(folder, tmp_path):
    """A model file, and its ranker."""
    ranker = NDCGRanker(GramRidge()).fit(*load_letor(folder / "train.txt"))
    save_model(ranker, tmp_path / "model.skops")
    return str(tmp_path / "model.skops"), ranker


@pytest.fixture
def new(tmp_path):
    return str(tmp_path / "new.skops")
