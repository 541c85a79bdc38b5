"""The types that model files are made of, by the node of skops that makes an object of them.

A node may call its class with what the file holds, so a class is trusted only in those nodes that
``save_model`` writes it in.
"""

import inspect
import json
import re
from collections.abc import Container, Iterator
from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator

#: Modules that names in a file may import.
MODULES = re.compile(r"(sklearn|skcalrank)\.(?!.*(\btest|conftest|__main__)).*")

# Rooms of skcalrank whose objects are no parts of fitted rankers.
_APART = re.compile(
    r"skcalrank\.(_cli|_dask|dask|datasets|displays|evaluation|export|inspection|persistence)\b.*"
)

# Nodes and what they make, beside classes of skcalrank and estimators of scikit-learn: values
# without code; functions in scikit-learn's own estimators and in linear views, which only read
# arrays; calls of constructors that were read for what they do with any argument; and classes that
# are made without a call of theirs. The function of a partial, a scorer or a metric is checked by
# its own name. Masked arrays have two names in versions of skops. Of boosters see `_boosters.py`.
_WRITTEN = re.compile(
    r"(?i:(bytearray|bytes|dict|list|set|slice|tuple)Node builtins\.\1)"
    r"|DictNode (collections\.OrderedDict|sklearn\.utils\._bunch\.Bunch)"
    r"|JsonNode builtins\.str|TypeNode collections\.OrderedDict"
    r"|DefaultDictNode collections\.defaultdict|PartialNode functools\.partial"
    r"|DTypeNode numpy\.dtype|NdArrayNode numpy\.ndarray"
    r"|MaskedArrayNode numpy\.ma\.(core\.)?MaskedArray|SparseMatrixNode scipy\.sparse\._\w+\.\w+"
    r"|RandomGeneratorNode numpy\.random\._generator\.Generator"
    r"|RandomStateNode numpy\.random\.mtrand\.RandomState"
    r"|FunctionNode (numpy\.(mean|median)|skcalrank\.preprocessing\._logs\.signed_log1p"
    r"|scipy\.\w+\.array_api_compat\.numpy\._aliases\.asarray"
    r"|sklearn\.(utils\.validation\.check_array|feature_selection\._(univariate_selection"
    r"\.(f_\w+|r_regression|chi2)|mutual_info\.mutual_info_(classif|regression))))"
    r"|TreeNode sklearn\.tree\._tree\.Tree|LossNode (sklearn\._loss\.)?_loss\.Cy\w+"
    r"|ConstructorFromReduceNode (builtins\.frozenset|skcalrank\.(persistence\._boosters"
    r"\.BoosterText|boosting\._(metrics|objectives)\.(LightGBM|XGBoost)(Metric|Objective)))"
    r"|ObjectNode (builtins\.frozenset|scipy\.interpolate\._bsplines\._?BSpline"
    r"|lightgbm\.sklearn\.LGBM\w+|xgboost\.sklearn\.XGB\w+"
    r"|sklearn\.(_loss\.(link|loss)\.\w+|compose\._column_transformer\._RemainderColsList"
    r"|ensemble\._hist_gradient_boosting\.(predictor\.TreePredictor|binning\._BinMapper)"
    r"|gaussian_process\.kernels\.\w+|metrics\._dist_metrics\.(?!PyFunc)\w+"
    r"|metrics\._scorer\._(Passthrough)?Scorer|model_selection\._split\.\w+"
    r"|neighbors\._(kd|ball)_tree\.\w+|neural_network\._stochastic_optimizers\.\w+Optimizer"
    r"|utils\._metadata_requests\.(Method)?MetadataRequest))"
)

# Nodes whose own list of types in skops is trusted: ufuncs, types of numbers, and Python's own.
_LISTED = {"FunctionNode", "NdArrayNode", "TypeNode"}

# Of them those that take a number for their size.
_SIZED = {("NdArrayNode", "numpy.bytes_"), ("NdArrayNode", "numpy.void")}

# Classes whose state is a tuple; that of others is a dict of attributes.
_WITH_TUPLES = re.compile(
    r"sklearn\.\w+\._(dist_metrics\.\w+(Distance|Metric)|(kd|ball)_tree\.\w+Tree)\d*"
    r"|scipy\.interpolate\._bsplines\.BSpline"
)

# Most words in the pool of a random generator and outputs of a tree, and characters that describe
# the arguments of a partial.
_MOST, _MOST_TEXT = 1 << 8, 1 << 12

_KEYS = re.compile(r"builtins\.(str|int|float|bool)|numpy\.(str_|bool_?|(u?int|float)\d+)")


def strange_types(
    schema: Any, listed: Container[str], trusted: Container[str]
) -> tuple[set[str], set[str]]:
    """Return all types in the text of a model file, and those of them that are not trusted.

    `listed` says which ones skops does not trust anywhere. Raises ValueError for a text that
    save_model does not write.
    """
    if not schema["protocol"]:
        raise ValueError("it has protocol 0 of skops, of which functions have other names")
    _check_ids(schema, {})
    found = {(s["__loader__"], _name(s)) for s in states(schema) if "__loader__" in s}
    for state in states(schema):
        _check_calls(state)
    strange = {
        name
        for loader, name in found
        if name not in trusted
        and not _WRITTEN.fullmatch(f"{loader} {name}")
        and not (loader in _LISTED and name not in listed and (loader, name) not in _SIZED)
        and not (loader in ("ObjectNode", "TupleNode") and _is_class_of_rankers(name))
    }
    return {name for _, name in found}, strange


def states(node: Any) -> Iterator[dict[str, Any]]:
    """Yield the dicts in parsed JSON."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def kinds_of_keys(state: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the types of the keys of a dict."""
    return state["key_types"]["content"]


def _name(state: dict[str, Any]) -> str:
    return f"{state['__module__']}.{state['__class__']}"


def _check_ids(node: Any, known: dict[Any, int]) -> int:
    """Return a hash of an object; raise if one id stands for two different objects.

    skops takes the first object with an id for all of them, so that any other than equal ones would
    be another object than the one that was checked. Ids inside may differ, as do names of files.
    """
    if isinstance(node, list):
        return hash(tuple([_check_ids(inner, known) for inner in node]))
    if not isinstance(node, dict):
        return hash((type(node), node))
    if type(node.get("file")) is str:
        node = {**node, "file": None}
    inside = [(k, _check_ids(v, known)) for k, v in node.items() if k != "__id__"]
    found = hash(frozenset(inside))
    if (name := node.get("__id__")) and known.setdefault(name, found) != found:
        raise ValueError(f"two different objects have the id {name!r}")
    return found


def _check_calls(state: dict[str, Any]) -> None:
    """Raise for arguments of a call that take time or memory or that run what is in the file."""
    if "key_types" in state:
        for kind in kinds_of_keys(state):
            if kind["__loader__"] != "TypeNode" or not _KEYS.fullmatch(_name(kind)):
                raise ValueError(f"{_name(kind)} is no type of keys")
    counts: list[Any] = []
    loader, content = state.get("__loader__"), state.get("content", {})
    if loader == "RandomGeneratorNode":
        counts = [_content(content["seed_seq"], "DictNode")["pool_size"]]  # mixed with all others
    elif loader == "TreeNode":
        counts = [_content(state["__reduce__"]["args"], "TupleNode")[2]]
    elif loader == "PartialNode":
        text = json.dumps([content["args"], _content(content["kwds"], "DictNode")])
        is_function = content["func"]["__loader__"] == "FunctionNode"
        if not is_function or len(text) > _MOST_TEXT or '"file"' in text or '"n_jobs"' in text:
            raise ValueError("a partial is not of a function with a few numbers and words")
    elif loader == "ObjectNode" and content and content["__loader__"] != "JsonNode":
        tuples = _WITH_TUPLES.fullmatch(_name(state)) and content["__loader__"] == "TupleNode"
        if not tuples and any(k.startswith("__") for k in _content(content, "DictNode")):
            raise ValueError(f"{_name(state)} has attributes that replace those of Python")
    for count in counts:
        if not 0 <= int(json.loads(_content(count, "JsonNode"))) <= _MOST:
            raise ValueError(f"it has a count of {count['content']:.20}")


def _content(state: dict[str, Any], loader: str) -> Any:
    """Return the content of a node; raise for another kind, which may read other entries."""
    if state["__loader__"] != loader:
        raise ValueError(f"it has a {state['__loader__']} in place of a {loader}")
    return state["content"]


def _is_class_of_rankers(name: str) -> bool:
    """Return whether a name is a class of skcalrank, or an estimator of scikit-learn."""
    module, _, attribute = name.rpartition(".")
    if not MODULES.fullmatch(module) or _APART.fullmatch(module):
        return False
    try:
        cls = getattr(import_module(module), attribute)
    except (ImportError, AttributeError):
        return False
    # Names that a module imports from other packages are not trusted.
    package = module.partition(".")[0]
    if not inspect.isclass(cls) or cls.__module__.partition(".")[0] != package:
        return False
    return package == "skcalrank" or issubclass(cls, BaseEstimator)
