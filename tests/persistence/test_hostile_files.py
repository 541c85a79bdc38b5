"""No model file opens another path or a connection, runs code, or takes more than it says."""

import json
import os
import sys
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from boosting_cases import ENGINES
from cases import holds_generator
from every_estimator import EVERY_ESTIMATOR
from forged import array, call, contents_of, forge, listed, node, npy, number, row, table, write
from sklearn.ensemble import HistGradientBoostingRegressor

from skcalrank import BoostedRanker, NDCGRanker
from skcalrank.persistence import load_model, save_model, trusted_types
from skcalrank.trees import ENGINES as ENGINES_OF_TREES

skops_io = pytest.importorskip("skops.io")

#: Events of the interpreter that a file must not cause. Names of functions, as in its list of them.
FORBIDDEN = (
    *("socket.", "subprocess.", "os.", "shutil.", "urllib.", "http.", "ftplib.", "smtplib."),
    *("pty.", "webbrowser.", "sqlite3.", "mmap.", "tempfile.", "glob.", "ctypes.dlopen"),
)
#: Where the interpreter and its libraries are, whose modules may be imported.
LIBRARIES = tuple(
    {os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, Path(np.__file__).parents[1])}
)

watched = None


def watch(event, args):
    """Note what the interpreter opens, while somebody watches."""
    if watched is not None and (event == "open" or event.startswith(FORBIDDEN)):
        watched.append((event, args[0] if args else None))


sys.addaudithook(watch)


def is_module(name):
    """Whether an event is part of an import of a module."""
    source = Path(sys.modules["skcalrank"].__file__).parent
    real = os.path.realpath(name) if isinstance(name, (str, bytes)) else ""
    if real in {os.path.realpath(folder) for folder in sys.path}:
        return True  # the search for a module that is not installed lists what changed
    return real.startswith((*LIBRARIES, str(source))) and (
        os.path.isdir(real) or real.endswith((".py", ".pyc", ".so"))
    )


@contextmanager
def nothing_else(path):
    """Raise unless no file but the one at `path` and modules is opened, and no socket."""
    global watched
    watched = seen = []
    try:
        yield
    finally:
        watched = None
    others = [
        (event, name)
        for event, name in seen
        if name != str(path)
        and name != path
        and not (event in ("open", "os.listdir", "os.scandir") and is_module(name))
    ]
    assert others == []
    assert ("open", path) in seen or ("open", str(path)) in seen


def test_what_is_opened_is_seen(tmp_path):
    (tmp_path / "other").touch()
    with pytest.raises(AssertionError, match="other"), nothing_else(tmp_path / "file"):
        open(tmp_path / "other").close()


@pytest.fixture
def path(data, tmp_path):
    path = tmp_path / "model.skops"
    save_model(NDCGRanker().fit(*data), path)
    return path


READER = "skcalrank._cli._files.Reader"
LIGHTGBM, XGBOOST = "lightgbm.basic.Booster", "xgboost.core.Booster"
TEXT = "skcalrank.persistence._boosters.BoosterText"
MARK = "/dev/zero"
STR = ("TypeNode", "builtins.str")
RIDGE = node("ObjectNode", "sklearn.linear_model._ridge.Ridge", content=table({}))
NONE = number(None)


def generator(pool, **entries):
    """A random generator whose seed has a pool of so many numbers, and other entries."""
    state = {"bit_generator": number("PCG64")}
    seed = table({"entropy": number(1), "pool_size": number(pool), **entries})
    content = {"bit_generator": table(state), "seed_seq": entries.pop("seed", seed)}
    return node("RandomGeneratorNode", "numpy.random._generator.Generator", content=content)


def loss(name, *args):
    """A loss of scikit-learn, which is called with arguments."""
    return node("LossNode", name, __reduce__={"args": row(*args)}, content=table({}))


def tree(*args, **entries):
    """A tree of scikit-learn, which is called with arguments."""
    of_call = {"args": row(*args) | entries}
    return node("TreeNode", "sklearn.tree._tree.Tree", __reduce__=of_call, content=table({}))


def partial(function, *args, **kwds):
    content = {"func": function, "args": row(*args), "kwds": table(kwds), "namespace": NONE}
    return node("PartialNode", "functools.partial", content=content)


def method(name, function, owner):
    return node("MethodNode", name, content={"func": function, "obj": owner})


def attributes(content):
    return node("ObjectNode", "sklearn.linear_model._ridge.Ridge", content=content)


ZEROS, LONG = npy(np.zeros(3)), npy(np.zeros(1000, dtype=np.uint32))
MEAN = node("FunctionNode", "numpy.mean")
# What numpy makes an array of, at any place in memory.
INTERFACE = {
    "data": row(number(4096), number(False)),
    "shape": row(number(9)),
    "typestr": number("|u1"),
    "version": number(3),
}
UNTRUSTED = {
    # Of the report.
    "ftp": call(READER, number("ftp://127.0.0.1:9/name/x.csv"), RIDGE),
    "LightGBM, device": call(LIGHTGBM, NONE, NONE, number(MARK)),
    "LightGBM, path": call(LIGHTGBM, NONE, NONE, number("/a/fifo")),
    "XGBoost, device": call(XGBOOST, NONE, row(), number(MARK)),
    "XGBoost, path": call(XGBOOST, NONE, row(), number("/etc/passwd")),
    # Other nodes that call a class.
    "nested": listed([row(table({"a": call(LIGHTGBM, NONE, NONE, number(MARK))}))]),
    "list": node("ListNode", XGBOOST, content=[number(MARK)]),
    "set": node("SetNode", READER, content=[number(MARK)]),
    "list as a dict": node("ListNode", "builtins.dict", content=[row(number(1), NONE)]),
    "dict": node("DictNode", READER, content={}, key_types=listed([])),
    "array": array(XGBOOST),
    "memmap": array("numpy.memmap"),
    "bytes of a size": array("numpy.bytes_"),
    "list of an estimator": node("ListNode", "sklearn.linear_model._ridge.Ridge", content=[]),
    "array of an estimator": array("skcalrank.rankers._positional.NDCGRanker"),
    "cached": node("CachedNode", "a.b", __id__=99),
    "loss": loss(LIGHTGBM, NONE, NONE, number(MARK)),
    "loss of ours": loss("skcalrank.boosting._ranker.BoostedRanker", number(MARK)),
    "objective of ours": call("skcalrank.rankers._record.FitRecord", number(MARK)),
    "estimator": call("sklearn.datasets._base.load_files", number(MARK)),
    "zone": call("zoneinfo.ZoneInfo", number("../../etc/passwd")),
    "class of the command line": node("ObjectNode", READER, content=table({})),
    "class of data sets": node("ObjectNode", "skcalrank.datasets._letor.Path", content=table({})),
    "class of tests": node("ObjectNode", "sklearn.tests.test_common.CallableEstimator"),
    "booster": node("ObjectNode", LIGHTGBM, content=table({"_handle": number("tree")})),
    "booster of XGBoost": node("ObjectNode", XGBOOST, content=table({"handle": NONE})),
    "training data": node("ObjectNode", "lightgbm.basic.Dataset", content=table({})),
    # Functions and methods.
    "function": node("FunctionNode", "os.system"),
    "function of numpy": node("FunctionNode", "numpy.fromfile"),
    "function as a class": node("TypeNode", "posix.system"),
    "builtin": node("TypeNode", "builtins.eval"),
    "partial": partial(node("FunctionNode", "numpy.load"), number(MARK)),
    "method": method("sklearn.linear_model._ridge.Ridge", "fit", RIDGE),
    "property": method("sklearn.linear_model._ridge.Ridge", "_repr_html_", RIDGE),
    "methodcaller": node("OperatorFuncNode", "operator.methodcaller", attrs=row(number("fit"))),
    "factory": node(
        "DefaultDictNode",
        "collections.defaultdict",
        content={"main": table({}), "default_factory": node("FunctionNode", "os.getpid")},
    ),
}
FOUR = number(4) | {"__id__": 5}
FACTORY = {"main": table({"pool_size": number(9**9)}), "default_factory": NONE, "pool_size": FOUR}
DAMAGED = {
    # Calls of what makes keys.
    "keys by a class": (table({MARK: NONE}, ("TypeNode", READER)), "no type of keys"),
    "keys by a function": (table({"ls": NONE}, ("FunctionNode", "os.system")), "no type of keys"),
    "keys by a partial": (
        table({MARK: NONE}, partial(node("TypeNode", "builtins.list"))),
        "no type of keys",
    ),
    "keys by range": (table({"9": NONE}, ("TypeNode", "builtins.set")), "no type of keys"),
    # Another object than the one that is checked.
    "twins": (
        listed([generator(9**9) | {"__id__": 5}, generator(4) | {"__id__": 5}]),
        "two different objects have the id 5",
    ),
    "inner twins": (
        listed([table({"a": number(MARK)}, __id__="x"), table({"a": number(1)}, __id__="x")]),
        "two different objects have the id 'x'",
    ),
    "within itself": (
        listed([listed([], __id__=5)], __id__=5),
        "two different objects have the id 5",
    ),
    "twins in the name of a file": (
        listed([table({"file": number(1 << 20) | {"__id__": 5}}), generator(4, pool_size=FOUR)]),
        "two different objects have the id 5",
    ),
    # Counts of calls, also where the check would look for another one.
    "generator": (generator(1 << 20), "a count of 1048576"),
    "pool in an array": (generator(4, pool_size=array(content="4")), "in place of a JsonNode"),
    "seed with a factory": (
        generator(4, seed=node("DefaultDictNode", "collections.defaultdict", content=FACTORY)),
        "in place of a DictNode",
    ),
    "seed in an array": (generator(4, entropy=array(file="long.npy")), "a long seed"),
    "long seed": (generator(4, entropy=number([1] * 9999)), "a long seed"),
    "outputs": (tree(number(1), array(), number(10**9)), "a count of 1000000000"),
    "outputs, below 0": (tree(number(1), array(), number(-1)), "a count of -1"),
    "outputs in an array": (tree(number(1), array(), array(content="1")), "of a JsonNode"),
    "outputs in a list": (tree(__loader__="ListNode"), "in place of a TupleNode"),
    # Calls of a function with what the file holds, and attributes that Python or numpy call.
    "argument of a partial": (partial(MEAN, array()), "numbers and words"),
    "partial of a class": (partial(node("TypeNode", LIGHTGBM), number(MARK)), "numbers and words"),
    "list for a partial": (partial(MEAN, a=number([1] * 9999)), "numbers and words"),
    "processes of a partial": (partial(MEAN, n_jobs=number(2)), "numbers and words"),
    "twin without a file": (
        listed([array(__id__=5), {k: v for k, v in array(__id__=5).items() if k != "file"}]),
        "two different objects have the id 5|'file'",
    ),
    "place in memory": (attributes(table({"__array_interface__": table(INTERFACE)})), "replace"),
    "pairs": (attributes(row(row(number("__array__"), MEAN))), "in place of a DictNode"),
    "array as an archive": (array(file="schema.json"), ""),
    "no loader": ({"__class__": "x", "__module__": "y"}, ""),
    "unknown loader": (node("OpenNode", "builtins.open"), ""),
    "a loader that is a list": (node([], "builtins.open"), ""),
    "a file that is not there": (array(file="../../../etc/passwd"), ""),
}
DEEP = number(1)
for _ in range(600):  # Python 3.12 and later have no frames of comprehensions
    DEEP = listed([DEEP])
DAMAGED["deep"] = (DEEP, "recursion")


@pytest.mark.parametrize("name", UNTRUSTED)
def test_what_is_not_trusted(name, path):
    forge(path, UNTRUSTED[name], zeros_npy=ZEROS, long_npy=LONG)
    refused = (
        r"not trusted|does not have|find loader|needs (lightgbm|xgboost): pip install"
        r"|refers to an unknown object|damaged: No module named 'lightgbm'"  # of versions of skops
    )
    with nothing_else(path), pytest.raises((ValueError, ImportError), match=refused):
        load_model(path)


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_damaged(name, path):
    state, words = DAMAGED[name]
    forge(path, state, zeros_npy=ZEROS, long_npy=LONG)
    with nothing_else(path), pytest.raises(ValueError, match=f"{path} is damaged: .*{words}"):
        load_model(path)


def test_names_of_functions_in_old_files(path):
    # skops reads them from other entries than the name of the class.
    content = {"module_path": "os", "function": "system"}
    forge(path, node("FunctionNode", "numpy.log", content=content), protocol=0)
    with nothing_else(path), pytest.raises(ValueError, match="protocol 0"):
        load_model(path)


def test_trust_of_the_user_is_by_name(path):
    forge(path, node("FunctionNode", "os.getpid"))
    assert load_model(path, trusted=["os.getpid"]).junk_ is os.getpid


# -- trees ---------------------------------------------------------------------------------


def texts(engine):
    """Texts that an engine does not write."""
    module = import_module(engine)
    X, y = np.arange(80.0).reshape(-1, 2), np.arange(40.0)
    if engine == "lightgbm":
        data = module.Dataset(X, y)
        params = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 1, "linear_tree": True}
        trees = module.train(params, data, 2)
        text = trees.model_to_string()
        names = "num_leaves", "num_cat", "num_features", "num_tree_per_iteration", "tree_sizes"
        for name in names:
            for value in ("=999999999", "= 999999999", "=-2"):
                yield text.replace(f"{name}=", f"{name}{value} ", 1)
    else:
        trees = module.train({"nthread": 1, "max_leaves": 3}, module.DMatrix(X, y), 2)
        text = trees.save_raw("json").decode()
        for name in ("num_class", "num_trees", "size_leaf_vector", "num_nodes", "num_target"):
            for value in ('"999999999"', "999999999", ' "999999999"', '"-2"'):
                yield text.replace(f'"{name}":"', f'"{name}":{value},"x":"', 1)
        for name, value in (("", 2**31 - 2), ("_nodes", 0), ("_segments", 0), ("_sizes", 1)):
            text = text.replace(f'"categories{name}":[]', f'"categories{name}":[{value}]', 1)
        yield text
        yield '{"learner":' + "[" * 100_000
        yield '{"a":' * 100_000
        yield "{L" + "\0" * 7 + "\1a[$d#L" + "\0" * 4 + "\x7f\0\0\0"
        yield "binf" + "\0" * 200
    # Texts on which a pattern could take quadratic time.
    start = "tree" if engine == "lightgbm" else '{"'
    yield start + '"' + '\\"' * 300_000
    yield start + 'num_class":' + " " * 1_000_000
    yield start + "num_class=1" + " 1" * 300_000
    yield from ("", MARK, "\0", 5, None, ["tree"])


@pytest.mark.parametrize("engine", sorted({"lightgbm", "xgboost"} & set(ENGINES)))
def test_texts_of_trees(engine, path, data):
    ranker = BoostedRanker(engine=engine, n_estimators=2, n_jobs=1).fit(*data)
    boosted = path.with_name("boosted.skops")
    for text in texts(engine):
        forge(path, call(TEXT, number(engine), number(text), number(1)))
        save_model(ranker, boosted)
        forge(boosted, number(text), name="booster_")
        for file in (path, boosted):
            with nothing_else(file), pytest.raises(ValueError, match="cannot be loaded"):
                load_model(file)


def test_trees_without_nodes():
    load, dump = ENGINES_OF_TREES["sklearn"].load, ENGINES_OF_TREES["sklearn"].dump
    X, y = np.arange(80.0).reshape(-1, 2), np.arange(40.0)
    stored = dump(HistGradientBoostingRegressor(max_iter=3).fit(X, y))
    assert load(stored).predict(X).shape == y.shape
    none, more = np.zeros(1_000_000, dtype=int), np.ones(9, dtype=int)
    for forged in ({"n_nodes": none}, {"n_nodes": more}, {"n_raw": none}):
        with pytest.raises(ValueError, match="trees have no nodes"):
            load(stored | forged)


@pytest.mark.parametrize("engine", ["sklearn", "os", "", None, ["lightgbm"]])
def test_texts_of_trees_of_other_engines(engine, path):
    forge(path, call(TEXT, number(engine), number("tree"), number(1)))
    refused = r"cannot be loaded: engine must be|find loader"
    with nothing_else(path), pytest.raises(ValueError, match=refused):
        load_model(path)


# -- what rankers are made of ----------------------------------------------------------------


@pytest.fixture
def sizes():
    return (6, 5, 9, 4, 7, 5, 8)


@pytest.mark.filterwarnings("ignore")  # how well they fit is not asked here
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=holds_generator if "HistGradient" in case.name else [])
        for case in EVERY_ESTIMATOR
    ],
    ids=lambda case: case.name,
)
def test_files_of_every_estimator_open_nothing(case, data, path):
    X, y, qid = data
    estimator = case.fit(X, np.clip(np.round(np.abs(y)), 0, 2), qid)
    save_model(estimator, path)
    with nothing_else(path):
        twin = load_model(path)
    assert type(twin) is type(estimator)
    # Programs that write by skops itself ask for the types to trust.
    names, others = trusted_types(estimator), {"ExternalRanker-LGBMRanker": [LIGHTGBM]}
    others["ExternalRanker-XGBRanker"] = [XGBOOST]
    skops_io.loads(skops_io.dumps(estimator), trusted=names + others.get(case.name, []))
    assert not [name for name in names if name in (LIGHTGBM, XGBOOST, READER)]


def test_whole_files_that_are_damaged_open_nothing(path, rng):
    # Bytes and texts changed at random: an error with the name of the file, or a model.
    contents, whole = contents_of(path), path.read_bytes()
    words = sorted(set(json.dumps(json.loads(contents["schema.json"])).split('"')))
    for trial in range(60):
        if trial % 2:
            forged = bytearray(whole)
            for place in rng.integers(0, len(whole), 4):
                forged[place] = rng.integers(0, 256)
            path.write_bytes(forged)
        else:
            one, other = rng.choice(words, 2)
            schema = contents["schema.json"].decode().replace(f'"{one}"', f'"{other}"')
            write(path, {**contents, "schema.json": schema.encode()})
        with nothing_else(path):
            errors = []
            try:
                load_model(path)
            except ValueError as error:
                errors = [str(error)]
        assert all(str(path) in error for error in errors)
