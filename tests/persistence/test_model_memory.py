"""Model files that take far more memory than their size are refused before they are loaded."""

import io
import json
import tracemalloc
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from scipy.sparse import csr_matrix, save_npz
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from skcalrank import BoostedRanker, NDCGRanker
from skcalrank.persistence import load_model, read_header, save_model

pytest.importorskip("skops.io")

LIMIT = 1 << 26
ZEROS = 1 << 24


@pytest.fixture
def path(data, tmp_path):
    path = tmp_path / "model.skops"
    save_model(NDCGRanker().fit(*data), path)
    return path


def node(loader, name, **entries):
    module, _, cls = name.rpartition(".")
    return {"__loader__": loader, "__module__": module, "__class__": cls, **entries}


def listed(items, **entries):
    return node("ListNode", "builtins.list", content=items, **entries)


def number(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value))


def array(name="numpy.ndarray", file="zeros.npy", **entries):
    return node("NdArrayNode", name, type="numpy", file=file, **entries)


def often(state, times, name=7):
    """A list of one object many times, written once."""
    return listed([{**state, "__id__": name}, *[{"__id__": name}] * (times - 1)])


def npy(values):
    content = io.BytesIO()
    np.save(content, values)
    return content.getvalue()


def npz(values):
    content = io.BytesIO()
    save_npz(content, csr_matrix(values))
    return content.getvalue()


def header(n_values):
    """The beginning of an array that is larger than its file."""
    content = io.BytesIO()
    about = {"descr": "<f8", "fortran_order": False, "shape": (n_values,)}
    np.lib.format.write_array_header_1_0(content, about)
    return content.getvalue()


def forge(path, state, **files):
    """Add an attribute to the ranker in a file, and files that it refers to."""
    with ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(contents["schema.json"])
    attributes = schema["content"]
    attributes["content"]["junk_"] = state
    attributes["key_types"]["content"].append(attributes["key_types"]["content"][0])
    contents["schema.json"] = json.dumps(schema).encode()
    contents |= {name.replace("_", "."): content for name, content in files.items()}
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


MASKED = node(
    "MaskedArrayNode", "numpy.ma.MaskedArray", content={"data": number(1), "mask": number(False)}
)

BOMBS = {
    "array of zeros": (array(), {"zeros_npy": npy(np.zeros(ZEROS // 2))}),
    "array declared": (array(), {"zeros_npy": header(ZEROS)}),
    "array many times": (listed([array()] * 64), {"zeros_npy": npy(np.zeros(ZEROS // 64))}),
    "array with twin ids": (
        listed([array(__id__=7), array(file="more.npy", __id__=7)]),
        {"zeros_npy": npy(np.zeros(8)), "more_npy": npy(np.zeros(ZEROS // 2))},
    ),
    "sparse matrix": (
        node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="zeros.npz"),
        {"zeros_npz": npz(np.ones((1 << 10, 1 << 12)))},
    ),
    "bytes": (node("BytesNode", "builtins.bytes", file="zeros.bin"), {"zeros_bin": bytes(LIMIT)}),
    "bytearray": (
        node("BytearrayNode", "builtins.bytearray", file="zeros.bin"),
        {"zeros_bin": bytes(LIMIT // 8)},
    ),
    "objects": (listed([node("ObjectNode", "sklearn.linear_model._ridge.Ridge")] * 30_000), {}),
    "text": (node("JsonNode", "builtins.str", content=" " * LIMIT), {}),
    "lists in text": (number([[]] * (1 << 20)), {}),
    "frozenset": (
        node("ConstructorFromReduceNode", "builtins.frozenset", content=listed([array()])),
        {"zeros_npy": npy(np.arange(ZEROS // 16, dtype=np.int16))},
    ),
    "lists of lists": (
        node(
            "NdArrayNode",
            "numpy.ndarray",
            type="json",
            shape=listed([number(1), number(1)]),
            content=[often(often(listed([number(1)] * 100), 100), 100, name=8)],
        ),
        {},
    ),
    "masked list of arrays": (
        MASKED | {"content": {"data": often(array(), 64), "mask": number(False)}},
        {"zeros_npy": npy(np.zeros(ZEROS // 512))},
    ),
    "list of another class": (
        listed(
            [MASKED, often(array(), 64) | {"__module__": "numpy.ma", "__class__": "MaskedArray"}]
        ),
        {"zeros_npy": npy(np.zeros(ZEROS // 512))},
    ),
    "number of another class": (
        array("numpy.float64"),
        {"zeros_npy": npy(np.zeros(ZEROS // 16, dtype=np.int8))},
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_files_that_would_fill_the_memory(name, path):
    state, files = BOMBS[name]
    forge(path, state, **files)
    assert read_header(path)["format"] == 2
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"must take at most 67,108,864 bytes .* or more\. If you"):
        load_model(path, max_bytes=LIMIT)
    assert tracemalloc.get_traced_memory()[1] < LIMIT
    tracemalloc.stop()


def test_more_memory_is_given_on_request(path):
    forge(path, array(), zeros_npy=npy(np.zeros(ZEROS // 2)))
    with pytest.raises(ValueError, match="load it with load_model") as refused:
        load_model(path, max_bytes=LIMIT)
    enough = int(str(refused.value).rpartition("max_bytes=")[2].rstrip(")."))
    assert load_model(path, max_bytes=enough).junk_.shape == (ZEROS // 2,)
    with pytest.raises(ValueError, match="must take at most"):
        load_model(path, max_bytes=enough - 1)


@pytest.mark.parametrize("n_random", [0, 5_000_000])
def test_what_a_file_may_take_without_being_asked(n_random, path, rng):
    # 1 GB, or 250 times the file.
    forge(path, array(), zeros_npy=header(1 << 40), random_bin=rng.bytes(n_random))
    limit = max(1 << 30, 250 * path.stat().st_size)
    assert (limit > 1 << 30) == (n_random > 0)
    with pytest.raises(ValueError, match=rf"must take at most {limit:,} bytes"):
        load_model(path)


@pytest.mark.parametrize("max_bytes", [0, -1, 1.5, True, "1 GB"])
def test_limits_are_integers(max_bytes, path):
    with pytest.raises(ValueError, match="max_bytes must be an integer >= 1, or None"):
        load_model(path, max_bytes=max_bytes)


def test_other_compressions_are_refused(path):
    # Decompressors of other methods may take memory of their own.
    with ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(path, "w", ZIP_BZIP2) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match="is damaged: its compression is not that of save_model"):
        load_model(path)


@pytest.mark.parametrize(
    "ranker",
    [
        NDCGRanker(),
        NDCGRanker(make_pipeline(Ridge())),
        NDCGRanker(RandomForestRegressor(200, max_depth=1, random_state=0)),
        NDCGRanker(GradientBoostingRegressor(n_estimators=200, max_depth=1, random_state=0)),
        BoostedRanker(engine="sklearn", n_estimators=50),
    ],
    ids=["linear", "pipeline", "forest", "boosting", "boosted"],
)
def test_honest_files_stay_far_below(ranker, data, tmp_path):
    # Of files above 4 MB the ratio counts, and stumps have the largest.
    path = tmp_path / "honest.skops"
    save_model(ranker.fit(*data), path)
    load_model(path, max_bytes=250 * path.stat().st_size)
