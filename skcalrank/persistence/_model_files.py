"""Writing and reading of model files."""

import io
import json
import os
import warnings
from collections.abc import Container, Sequence
from copy import copy
from pathlib import Path
from pkgutil import resolve_name
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from .._version import __version__
from ..data import check, warn
from ..rankers import FitRecord
from ..trees import LIBRARIES
from ._boosters import BoosterText
from ._complete_file import complete_file
from ._model_memory import SCHEMA, checked, memory_needed, most_memory
from ._registry import MODULES, strange_types

#: Format of the files that this version writes, the only one that it reads.
FORMAT = 3

_HEADER = "skcalrank.json"

# Largest size of the header.
_MOST_BYTES = 1 << 24

# Attribute of scikit-learn for callbacks that follow `fit`.
_CALLBACKS = "_skl_callbacks"

# Attribute of the estimators of LightGBM and XGBoost for their trees.
_BOOSTER = "_Booster"

_KEYS = ("format", "class", "skcalrank", "scikit-learn", "notes")


def require_skops() -> Any:
    """Return the module ``skops.io``; raise an ImportError with the remedy if it is missing."""
    return check.installed("skops.io", "Model files need skops: pip install skops")


def save_model(ranker: Any, path: str | Path, /, **notes: Any) -> None:
    """Write a fitted ranker to a file.

    An existing file is replaced when the new one is complete, and keeps its mode; if the call
    fails, it is unchanged. A process that is killed in a call leaves a hidden file
    ``.skcalrank-*.part`` behind, which calls for the same folder remove a day later.

    Parameters
    ----------
    ranker : estimator
        A fitted ranker, pipeline or search.
    path : str or Path
        Path of the file. Any suffix is possible; ``.skops`` is usual.
    **notes
        Further entries of the header, returned by :func:`read_header`: numbers, text, and lists and
        dicts of these.

    Raises
    ------
    ImportError
        If skops is not installed.
    NotFittedError
        If the ranker is not fitted.
    TypeError
        If the ranker contains an object that skops cannot write, such as a lambda or, with numpy
        below 1.25, a ``numpy.random.Generator`` (as ``HistGradientBoostingRegressor`` does), or a
        note cannot be written as JSON.
    ValueError
        If the notes take more than 16 MB.

    See Also
    --------
    load_model : Read the ranker.
    read_header : Read the header only.

    Notes
    -----
    The statistics of a ``GramRidge``, with which a loaded ranker can continue ``partial_fit``, are
    stored: 8 d^2 bytes for d features, before compression. Linear views of stacks have none.

    Hashes of 8 bytes replace the names of the queries that the ranker has seen, so that
    ``partial_fit`` of a loaded ranker still refuses a query that was seen before. This works for
    names that are numbers, text, dates and tuples of these; the probability that a new query is
    refused by mistake is n / 2^64 for n earlier queries.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank import NDCGRanker, load_digits_queries
    >>> from skcalrank.persistence import load_model, save_model
    >>> X, y, qid = load_digits_queries(n_queries=20, n_documents=30)
    >>> ranker = NDCGRanker().fit(X, y, qid)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "ndcg.skops")
    ...     save_model(ranker, file, trained_on="digits")
    ...     twin = load_model(file)
    >>> bool((twin.predict(X) == ranker.predict(X)).all())
    True
    """
    skops = require_skops()
    check_is_fitted(ranker)
    name = f"{type(ranker).__module__}.{type(ranker).__qualname__}"
    entries = (FORMAT, name, __version__, sklearn.__version__, notes)
    header = json.dumps(dict(zip(_KEYS, entries)))
    if len(header) > _MOST_BYTES:
        raise ValueError(
            f"notes must take at most {_MOST_BYTES:,} bytes, got {len(header):,}. Shorten them."
        )
    try:
        content = io.BytesIO(skops.dumps(_lean(ranker), compression=ZIP_DEFLATED))
    except AttributeError as error:
        raise TypeError(
            f"skops cannot write an object in the ranker: {error}. If this message contains "
            "'seed_seq', upgrade numpy to 1.25."
        ) from error
    with ZipFile(content, "a") as archive:
        archive.writestr(_HEADER, header)
    with complete_file(path, "wb") as file:
        file.write(content.getbuffer())


def _lean(thing: Any) -> Any:
    """Return an object without names of queries seen and callbacks, with boosters as text."""
    if isinstance(thing, FitRecord):
        return thing.without_names()
    if isinstance(thing, BaseEstimator):
        before = vars(thing)
        after = _lean(before)
        if _CALLBACKS in after:
            after = {name: value for name, value in after.items() if name != _CALLBACKS}
        if after.get(_BOOSTER) is not None:
            after = {**after, _BOOSTER: BoosterText.of(after[_BOOSTER])}
        if after is not before:
            thing = copy(thing)
            vars(thing).clear()
            vars(thing).update(after)
    elif type(thing) in (list, tuple, dict):
        before = thing.values() if type(thing) is dict else thing
        after = [_lean(inner) for inner in before]
        if any(one is not other for one, other in zip(before, after)):
            thing = dict(zip(thing, after)) if type(thing) is dict else type(thing)(after)
    return thing


def read_header(path: str | Path) -> dict[str, Any]:
    """Return the header of a model file, without loading the model.

    Parameters
    ----------
    path : str or Path
        Path of the file.

    Returns
    -------
    header : dict
        ``format`` (a number), ``class`` of the model, the versions of ``skcalrank`` and
        ``scikit-learn`` that wrote it, and ``notes``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not a model file, or has another format.

    See Also
    --------
    load_model : Read the model.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from skcalrank import DCGRanker
    >>> from skcalrank.persistence import read_header, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "dcg.skops")
    ...     save_model(DCGRanker().fit([[0.0], [1.0]], [0, 2], [0, 0]), file, ranker="dcg")
    ...     header = read_header(file)
    >>> header["format"], header["notes"]
    (3, {'ranker': 'dcg'})
    """
    try:
        with ZipFile(path) as archive:
            if (size := checked(archive).getinfo(_HEADER).file_size) > _MOST_BYTES:
                raise ValueError(f"its {_HEADER!r} has {size:,} bytes")
            # A read without a number of bytes would unpack more than the archive declares.
            header = json.loads(archive.open(_HEADER).read(size))
        header = {key: header[key] for key in _KEYS}
        is_newer = header["format"] > FORMAT
        for key in () if is_newer else _KEYS[1:]:
            kind = dict if key == "notes" else str
            if not isinstance(header[key], kind):
                raise TypeError(f"{key!r} must be a {kind.__name__}, got {header[key]!r:.50}")
    except OSError:
        raise
    except Exception as error:  # damaged archives raise errors of many types
        raise ValueError(f"{path} is not a model file of skcalrank: {error}.") from error
    if header["format"] != FORMAT:
        writer = f"skcalrank {header['skcalrank']}"
        raise ValueError(
            f"{path} must have format {FORMAT}, got {header['format']}, "
            + (
                f"written by {writer}. Upgrade skcalrank."
                if is_newer
                else f"which only {writer} reads, the version that wrote it. Fit again and save, "
                "or install that version."
            )
        )
    return header


def load_model(
    path: str | Path, *, trusted: Sequence[str] = (), max_bytes: int | None = None
) -> Any:
    """Read a ranker from a file written by :func:`save_model`.

    Nothing in the file is run, no other file is opened, and nothing is connected to. Objects are
    made of the types that :func:`save_model` writes only, each in the way in which it writes them:
    classes of skcalrank that fitted rankers are made of, estimators of scikit-learn and their
    parts, estimators of LightGBM and XGBoost, arrays, numbers and text, and a few functions of
    numpy and scikit-learn, such as ``f_regression``. No constructor is called with what the file
    holds, except a few that were read for it. Trees of LightGBM and XGBoost are read from their
    text, whose counts and depth are checked before. Other numbers in a file are not checked: a
    forged file can contain trees and distances that crash the process, in their library when they
    are read or in ``predict``.

    Parameters
    ----------
    path : str or Path
        Path of the file.
    trusted : list of str, default=()
        Full names of further types to accept, such as a regressor of another package or your own
        measure. Make sure that they are safe to load, also if their constructor is called with any
        arguments.
    max_bytes : int, default=None
        Memory that loading may take. If None, 1 GB, or 300 times the size of the file if this is
        more. It is compared with what the file unpacks to and what the headers of its arrays
        declare, before anything is loaded.

    Returns
    -------
    ranker : estimator
        The fitted ranker.

    Raises
    ------
    ImportError
        If skops is not installed, or the library of a ranker that is not of this package.
    FileNotFoundError
        If there is no such file.
    TypeError
        If `trusted` is not a list of names.
    ValueError
        If the file is not a model file, has the format of another version, takes more than
        `max_bytes`, or contains types that are not trusted or an estimator that is not fitted.

    Warns
    -----
    InconsistentVersionWarning
        If the file was written with another version of scikit-learn.

    See Also
    --------
    save_model : Write a ranker; has an example.
    read_header : Read the header only.
    """
    if not isinstance(trusted, (list, tuple, set, frozenset)):
        # For a str, `in` would search for parts of it.
        raise TypeError(f"trusted must be a list of full names of types, got {trusted!r}.")
    if max_bytes is not None:
        check.count("max_bytes", max_bytes, "or None for the larger of 1 GB and 300 times the file")
    header, skops = read_header(path), require_skops()
    limit = max_bytes or most_memory(os.path.getsize(path))
    try:
        needed, content = memory_needed(path, limit)
        names, strange = _types_in(content, trusted) if needed <= limit else ([], [])
    except Exception as error:  # damaged files raise errors of many types
        raise ValueError(f"{path} is damaged: {error}") from error
    if needed > limit:
        raise ValueError(
            f"{path} must take at most {limit:,} bytes of memory, got {needed:,} or more. If you "
            f"trust the author of the file, load it with load_model(path, max_bytes={needed})."
        )
    for engine in LIBRARIES:
        if any(name.startswith(f"{engine}.") for name in names):
            check.installed(engine, f"{path} needs {engine}: pip install {engine}")
    _refuse_strange(path, strange, header)
    if header["scikit-learn"] != sklearn.__version__:
        versions = {"original_sklearn_version": header["scikit-learn"]}
        versions |= {"current_sklearn_version": sklearn.__version__}
        name = header["class"].rpartition(".")[-1]
        warn(InconsistentVersionWarning(estimator_name=name, **versions))
    with warnings.catch_warnings():
        # Warned of once, above, and not for every estimator inside.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            ranker = skops.load(content, trusted=names)
            check_is_fitted(ranker)
            ranker.get_params()  # a version that lacks some wrote other attributes, too
        except Exception as error:
            raise ValueError(
                f"{path} cannot be loaded: {error}. If it is whole, fit again and save, or load it "
                f"with the version that wrote it, skcalrank {header['skcalrank']}."
            ) from error
    return ranker


def _refuse_strange(path: str | Path, strange: list[str], header: dict[str, Any]) -> None:
    """Raise for types that are not trusted, and for those that only another version has."""
    gone = []
    for name in filter(MODULES.fullmatch, strange):
        try:
            resolve_name(name)
        except (ImportError, AttributeError, ValueError):
            gone.append(name)
    if gone:
        raise ValueError(
            f"{path} contains {', '.join(gone)}, which skcalrank {__version__} with scikit-learn "
            f"{sklearn.__version__} does not have. Fit again and save, or load it with the "
            f"versions that wrote it, skcalrank {header['skcalrank']} with scikit-learn "
            f"{header['scikit-learn']}."
        )
    if strange:
        raise ValueError(
            f"{path} contains types that are not trusted: {', '.join(strange)}. If you trust them "
            f"and the author of the file, load it with load_model(path, trusted={strange})."
        )


def _types_in(content: IO[bytes], trusted: Container[str]) -> tuple[list[str], list[str]]:
    """Return the names of all types in a model file, and of those that are not trusted."""
    listed = require_skops().get_untrusted_types(file=content)
    with ZipFile(content) as archive:
        schema = json.loads(archive.read(SCHEMA))
    names, strange = strange_types(schema, listed, trusted)
    return sorted(names), sorted(strange)


def trusted_types(ranker: Any) -> list[str]:
    """Return the types that ``skops.io.load`` must trust to read a ranker.

    For programs that write models by skops themselves and ask for such a list. :func:`load_model`
    needs none.

    Parameters
    ----------
    ranker : estimator
        A fitted ranker, pipeline or search.

    Returns
    -------
    names : list of str
        Full names of the types in the ranker that skops does not know and that
        :func:`save_model` writes. Types of other packages are left out, so that skops refuses
        them; boosters inside estimators of LightGBM and XGBoost are such types.

    Raises
    ------
    ImportError
        If skops is not installed.

    See Also
    --------
    load_model : Read a ranker that was written by `save_model`.

    Examples
    --------
    >>> from skcalrank import DCGRanker
    >>> from skcalrank.persistence import trusted_types
    >>> names = trusted_types(DCGRanker().fit([[0.0], [1.0]], [0, 2], [0, 0]))
    >>> "skcalrank.rankers._positional.DCGRanker" in names
    True
    """
    skops = require_skops()
    content = io.BytesIO(skops.dumps(ranker))
    _, strange = _types_in(content, ())
    return [n for n in skops.get_untrusted_types(file=content) if n not in strange]
