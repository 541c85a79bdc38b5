"""Model files that take far more memory than their size are refused before they are loaded."""

import io
import tracemalloc
from contextlib import contextmanager, suppress
from zipfile import ZIP_BZIP2, ZIP_LZMA, ZipFile

import numpy as np
import pytest
from forged import array, call, contents_of, forge, listed, node, npy, number, table, write
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


@contextmanager
def memory():
    """Return a function for the most memory so far."""
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def often(state, times, name=7):
    """A list of one object many times, written once."""
    return listed([{**state, "__id__": name}, *[{"__id__": name}] * (times - 1)])


def npz(values):
    content = io.BytesIO()
    save_npz(content, csr_matrix(values))
    return content.getvalue()


def header(n_values, kind="<f8"):
    """The beginning of an array that is larger than its file."""
    content = io.BytesIO()
    about = {"descr": kind, "fortran_order": False, "shape": (n_values,)}
    np.lib.format.write_array_header_1_0(content, about)
    return content.getvalue()


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
    "text without bytes": (array("numpy.object_"), {"zeros_npy": header(LIMIT, "|S0")}),
    "bytes": (node("BytesNode", "builtins.bytes", file="zeros.bin"), {"zeros_bin": bytes(LIMIT)}),
    "bytearray": (
        node("BytearrayNode", "builtins.bytearray", file="zeros.bin"),
        {"zeros_bin": bytes(LIMIT // 8)},
    ),
    "objects": (listed([node("ObjectNode", "sklearn.linear_model._ridge.Ridge")] * 30_000), {}),
    "text": (node("JsonNode", "builtins.str", content=" " * LIMIT), {}),
    "lists in text": (number([[]] * (1 << 20)), {}),
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
    assert read_header(path)["format"] == 3
    words = r"must take at most 67,108,864 bytes .* or more\. If you"
    with memory() as most:
        with pytest.raises(ValueError, match=words):
            load_model(path, max_bytes=LIMIT)
        assert most() < LIMIT


@pytest.mark.long
def test_more_memory_is_given_on_request(path):
    forge(path, array(), zeros_npy=npy(np.zeros(ZEROS // 2)))
    enough = needed_by(path, LIMIT)
    assert load_model(path, max_bytes=enough).junk_.shape == (ZEROS // 2,)
    with pytest.raises(ValueError, match="must take at most"):
        load_model(path, max_bytes=enough - 1)


def needed_by(path, limit):
    """The memory that a file takes as the errors say, which is more than `limit`."""
    for _ in range(3):  # of the sizes of its members, then of the text, then of all
        with pytest.raises(ValueError, match="load it with load_model") as refused:
            load_model(path, max_bytes=limit)
        limit = int(str(refused.value).rpartition("max_bytes=")[2].rstrip(")."))
        with suppress(ValueError):
            load_model(path, max_bytes=limit)
            break
    return limit


def wide(schema):
    """A text in which one character needs four bytes of memory."""
    return schema.replace(b'"junk"', '"{}😀"'.format("a" * 8_000_000).encode(), 1)


def escaped(schema):
    """Lists in a text within the text, whose brackets are escaped."""
    return schema.replace(b'"junk"', b'"[[]' + b"\\u002c\\u005B\\u005d" * 400_000 + b']"', 1)


def other_encoding(schema):
    """A text whose escape is not that of UTF-8."""
    text = schema.decode().replace("junk", '\\"\\ud83d\\ude00' + "a" * 4_000_000 + '\\"')
    return text.encode("utf-16-le")


@pytest.mark.long
@pytest.mark.parametrize(("change", "times"), [(wide, 8), (escaped, 4), (other_encoding, 3)])
def test_texts_count_at_their_size_in_memory(change, times, path):
    forge(path, node("JsonNode", "builtins.str", content="junk"))
    contents = contents_of(path)
    schema = contents["schema.json"] = change(contents["schema.json"])
    if change is wide:
        schema = contents["schema.json"] = schema.replace(b'"aaa', b'"\\"aaa', 1).replace(
            "😀".encode(), "😀".encode() + b'\\"', 1
        )
    write(path, contents)
    limit = times * len(schema)
    needed = needed_by(path, limit)
    with memory() as most:
        load_model(path, max_bytes=needed)
        assert limit < most() < needed


EQUAL = [number(k * (2**61 - 1)) for k in range(10_001)]
HASHED = {
    "set": node("SetNode", "builtins.set", content=EQUAL),
    "frozenset": call("builtins.frozenset", listed(EQUAL)),
    "array": call("builtins.frozenset", array()),
    "text": call("builtins.frozenset", number([k * (2**61 - 1) for k in range(10_001)])),
    "many sets": listed([node("SetNode", "builtins.set", content=EQUAL[:2_501])] * 16),
    "dict": table(dict.fromkeys(map(str, range(10_001)), number(1)), ("TypeNode", "builtins.int")),
}


@pytest.mark.parametrize("name", HASHED)
def test_equal_hashes_take_no_time(name, path):
    forge(path, HASHED[name], zeros_npy=npy(np.arange(10_001)))
    with pytest.raises(ValueError, match="sets or dicts of more than 10,000 numbers"):
        load_model(path)


def test_negative_shapes_take_no_memory_back(path):
    forge(
        path,
        listed([array(), array(file="minus.npy")]),
        zeros_npy=npy(np.zeros(ZEROS // 2)),
        minus_npy=header(-ZEROS),
    )
    with pytest.raises(ValueError, match="must take at most"):
        load_model(path, max_bytes=2 * LIMIT)


@pytest.mark.parametrize("name", ["schema.json", "skcalrank.json"])
def test_archives_that_hold_more_than_they_declare(name, path):
    contents = contents_of(path)
    size = len(contents[name])
    contents[name] += b" " * (1 << 26)
    write(path, contents)
    declared = (len(contents[name])).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(declared, size.to_bytes(4, "little")))
    with memory() as most:
        with pytest.raises(ValueError, match="Bad CRC-32"):
            load_model(path)
        assert most() < 1 << 24


@pytest.mark.parametrize("n_random", [0, 5_000_000])
def test_what_a_file_may_take_without_being_asked(n_random, path, rng):
    # 1 GB, or 300 times the file.
    forge(path, array(), zeros_npy=header(1 << 40), random_bin=rng.bytes(n_random))
    limit = max(1 << 30, 300 * path.stat().st_size)
    assert (limit > 1 << 30) == (n_random > 0)
    with pytest.raises(ValueError, match=rf"must take at most {limit:,} bytes"):
        load_model(path)


@pytest.mark.parametrize("max_bytes", [0, -1, 1.5, True, "1 GB"])
def test_limits_are_integers(max_bytes, path):
    with pytest.raises(ValueError, match="max_bytes must be an integer >= 1, or None"):
        load_model(path, max_bytes=max_bytes)


@pytest.mark.parametrize("method", [ZIP_BZIP2, ZIP_LZMA])
def test_other_compressions_are_refused(method, path):
    # Decompressors of other methods may take memory of their own.
    contents = contents_of(path)
    for changed in ("skcalrank.json", "schema.json"):
        with ZipFile(path, "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content, compress_type=method if name == changed else None)
        with pytest.raises(ValueError, match="its compression is not that of save_model"):
            load_model(path)
    with ZipFile(inner := io.BytesIO(), "w", method) as archive:
        archive.writestr("data.npy", npy(np.zeros(1)))
    write(path, contents)
    sparse = node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="a.npz")
    forge(path, sparse, a_npz=inner.getvalue())
    with pytest.raises(ValueError, match="its compression is not that of save_model"):
        load_model(path)


@pytest.mark.long
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
    load_model(path, max_bytes=300 * path.stat().st_size)
