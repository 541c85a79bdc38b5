"""Model files, which can be read without running what is in them.

Unpickling runs whatever code the file asks for, so a pickle is to be loaded from nobody but
oneself; nor does it say which version wrote it. The files here are those of `skops.io
<https://skops.readthedocs.io/en/stable/persistence.html>`_: arrays, numbers and text, and the
names of the classes they belong to, each of which is checked before anything is made of it. Beside
it stands a small header in JSON, which :func:`read_header` reads without the model.

skops is optional: ``pip install skops``.
"""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import warnings
from collections.abc import Sequence
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE, S_ISREG
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import sklearn
from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from .data import warn
from .rankers import FitRecord

__all__ = ["load_model", "read_header", "save_model"]

#: Of the files that are written; readers know all formats up to theirs.
FORMAT = 1

_HEADER = "skcalrank.json"

# Of the header, before compression; and how many times the packed size the others may have.
_MOST_BYTES = 1 << 24
_MOST_RATIO = 250

_KEYS = ("format", "class", "skcalrank", "scikit-learn", "notes")

# Names of what is open already, whatever kind of file it is.
_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")

# Beside classes of skcalrank and estimators. Results of cross-validation hold masked arrays, which
# versions of skops call differently, and records of fits hold a frozenset. Of functions these,
# which scikit-learn's own estimators and linear views hold: they look at arrays and do nothing
# else. The function in a partial has a type of its own, which is not trusted for it.
_HARMLESS = re.compile(
    r"numpy\.(ma\.(core\.)?MaskedArray|dtype|mean|median)"
    r"|builtins\.frozenset"
    r"|scipy\.interpolate\._bsplines\._?BSpline"
    r"|scipy\.\w+\.array_api_compat\.numpy\._aliases\.asarray"
    r"|skcalrank\.(data\._tables\.category_columns|stacking\._views\.categories_in)"
    r"|skcalrank\.preprocessing\._logs\.signed_log1p"
    r"|functools\.partial|sklearn\.utils\.validation\.check_array"
    r"|sklearn\.feature_selection\._univariate_selection\.(f_\w+|r_regression|chi2)"
    r"|sklearn\.feature_selection\._mutual_info\.mutual_info_(classif|regression)"
)

# Of scikit-learn, beside estimators: the insides of trees, of neighbors and of neural networks,
# kernels, losses, and what a search goes by. The function of a scorer is a type of its own, which
# is not among them, as is the function of a metric.
_INSIDES = re.compile(
    r"sklearn\.(tree\._tree\.Tree"
    r"|ensemble\._hist_gradient_boosting\.(predictor\.TreePredictor|binning\._BinMapper)"
    r"|neural_network\._stochastic_optimizers\.(SGD|Adam)Optimizer"
    r"|neighbors\._(kd|ball)_tree\.\w+"
    r"|metrics\._dist_metrics\.(?!PyFunc)\w+"
    r"|gaussian_process\.kernels\.\w+"
    r"|_loss\.(_loss|link|loss)\.\w+"
    r"|model_selection\._split\.\w+"
    r"|utils\._metadata_requests\.(Method)?MetadataRequest"
    r"|metrics\._scorer\._(Passthrough)?Scorer)"
)


def require_skops() -> Any:
    """The module ``skops.io``, or an error that says how to get it."""
    try:
        return import_module("skops.io")
    except ImportError as error:
        raise ImportError("Model files need skops: pip install skops") from error


def save_model(ranker: Any, path: str | Path, /, **notes: Any) -> None:
    """Write a fitted ranker to a file.

    The file takes its name, and the mode of the file that it replaces, when all of it is written:
    a call that fails leaves the file of that name as it was. The statistics of a ``GramRidge``,
    from which a ranker that is loaded goes on, are kept: 8 d^2 bytes for d features, before
    compression. Of the queries that it has seen, 8 bytes each are kept in place of their names:
    ``partial_fit`` refuses one that comes again (numbers, text, dates and tuples of them as names;
    a new query is taken for one of n earlier ones with a chance of n / 2^64). Queries to stop early
    on, the parameter `eval_set`, are left out.

    Parameters
    ----------
    ranker : estimator
        A fitted ranker, or pipeline.
    path : str or Path
        Of the file; the suffix is free, ``.skops`` is usual.
    **notes
        Whatever else :func:`read_header` is to tell: numbers, text, and lists and dicts of them.

    Raises
    ------
    ImportError
        If skops is not installed.
    NotFittedError
        If the ranker is not fitted.
    TypeError
        If the ranker holds what skops cannot write, such as a lambda or, with a numpy below 1.25,
        a ``numpy.random.Generator`` (as ``HistGradientBoostingRegressor`` has), or a note is not
        JSON.
    ValueError
        If the notes take more than 16 MB.

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
    header = json.dumps(_header(ranker, notes))
    if len(header) > _MOST_BYTES:
        raise ValueError(f"The notes take {len(header):,} bytes, and at most {_MOST_BYTES:,} fit.")
    try:
        content = io.BytesIO(skops.dumps(_lean(ranker), compression=ZIP_DEFLATED))
    except AttributeError as error:
        raise TypeError(
            f"skops cannot write what the ranker holds: {error}. With 'seed_seq' in this message, "
            "upgrade numpy to 1.25."
        ) from error
    with ZipFile(content, "a") as archive:
        archive.writestr(_HEADER, header)
    with complete_file(path, "wb") as file:
        file.write(content.getbuffer())


@contextmanager
def complete_file(path, mode, **options):
    """Open a file for writing that takes its name, and the mode of a file there, when complete.

    Whatever happens before leaves the file of that name as it was. Writers of one name do not see
    each other: the last one wins. Devices, pipes and open descriptors are written to directly.
    """
    status = _status(path)
    if status is not None and (not S_ISREG(status.st_mode) or _DESCRIPTOR.fullmatch(str(path))):
        # Opened for appending: a descriptor may be that of a file with earlier output.
        with open(path, mode.replace("w", "a"), **options) as file:
            yield file
        return
    # Of a link the target is replaced. The name is short, and no other writer has it.
    final = Path(os.path.realpath(path))
    part = final.with_name(f".skcalrank-{token_hex(8)}.part")
    try:
        with _new_file(part, path, mode, options) as file:
            if status is not None:
                os.chmod(part, S_IMODE(status.st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, final)
    finally:
        part.unlink(missing_ok=True)


def _status(path):
    """Return what is known of a file that may be written, None where there is none."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    if S_ISREG(status.st_mode):
        open(path, "r+b").close()  # what is write-protected is not replaced either
    return status


def _new_file(part, path, mode, options):
    """Open a new file, which errors call by the name it will have."""
    try:
        return open(part, mode.replace("w", "x"), **options)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _header(ranker, notes) -> dict:
    # The package stands above its modules, so it is not imported with the others.
    version = import_module(__package__).__version__
    name = f"{type(ranker).__module__}.{type(ranker).__qualname__}"
    return dict(zip(_KEYS, (FORMAT, name, version, sklearn.__version__, notes)))


def _lean(thing):
    """Return an estimator without the queries to stop early on, and without the names of all
    queries that it, or one inside it, has seen.
    """
    if isinstance(thing, FitRecord):
        return thing.without_names()
    if isinstance(thing, BaseEstimator):
        before = vars(thing)
        after = _lean(before)
        if before.get("eval_set") is not None:
            after = {**after, "eval_set": None}
        if after is not before:
            thing = copy(thing)
            vars(thing).update(after)
    elif type(thing) in (list, tuple, dict):
        before = thing.values() if type(thing) is dict else thing
        after = [_lean(each) for each in before]
        if any(one is not other for one, other in zip(before, after)):
            thing = dict(zip(thing, after)) if type(thing) is dict else type(thing)(after)
    return thing


def read_header(path: str | Path) -> dict[str, Any]:
    """What a model file says about itself, without loading the model.

    Parameters
    ----------
    path : str or Path

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
        If it is no model file, or of a format that this version does not know.

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
    (1, {'ranker': 'dcg'})
    """
    try:
        with ZipFile(path) as archive:
            _check_sizes(archive)
            header = json.loads(archive.read(_HEADER))
        header = {key: header[key] for key in _KEYS}
        known = header["format"] <= FORMAT
        if known:
            _check_types(header)
    except OSError:
        raise
    except Exception as error:  # whatever a damaged archive makes of its readers
        raise ValueError(f"{path} is no model file of skcalrank: {error}.") from error
    if not known:
        raise ValueError(
            f"{path} has format {header['format']}, written by skcalrank {header['skcalrank']}; "
            f"this version knows formats up to {FORMAT}: upgrade skcalrank."
        )
    return header


def _check_sizes(archive):
    """Raise for texts that would fill the memory, before they are unpacked."""
    for text in archive.infolist():
        # A forest of scikit-learn is a text that shrinks to a sixtieth.
        packed = _MOST_RATIO * text.compress_size if text.filename != _HEADER else 0
        if not text.filename.endswith(".npy") and text.file_size > max(_MOST_BYTES, packed):
            raise ValueError(f"its {text.filename!r} has {text.file_size:,} bytes")


def _check_types(header):
    for key in _KEYS[1:]:
        kind = dict if key == "notes" else str
        if not isinstance(header[key], kind):
            raise TypeError(f"{key!r} is {header[key]!r:.50}, and no {kind.__name__}")


def load_model(path: str | Path, *, trusted: Sequence[str] = ()) -> Any:
    """Read a ranker from a file that :func:`save_model` wrote.

    Only classes of skcalrank, estimators of scikit-learn, what these are made of, and types that
    skops itself takes for safe are made; of functions a few of numpy and scikit-learn alone, such
    as ``f_regression``. The numbers in a file are not checked: one that was forged can hold trees
    that make the process crash when it predicts.

    Parameters
    ----------
    path : str or Path
    trusted : list of str, default=()
        Full names of further types to accept, such as that of a regressor of another package or
        of a measure of your own. What they do when they are loaded is yours to know.

    Returns
    -------
    ranker : estimator

    Raises
    ------
    ImportError
        If skops is not installed.
    FileNotFoundError
        If there is no such file.
    TypeError
        If `trusted` is no list of names.
    ValueError
        If it is no model file, of an unknown format, holds types that are not trusted, or what it
        holds is not fitted.

    Warns
    -----
    InconsistentVersionWarning
        If another version of scikit-learn wrote it.
    """
    if not isinstance(trusted, (list, tuple, set, frozenset)):
        # Parts of a text would be names too.
        raise TypeError(f"trusted={trusted!r}: give a list of full names of types.")
    header, skops = read_header(path), require_skops()
    try:
        names = skops.get_untrusted_types(file=path)
    except Exception as error:  # whatever a damaged file makes of its parser
        raise ValueError(f"{path} is damaged: {error}") from error
    strange = [name for name in names if name not in trusted and not _is_ours(name)]
    if strange:
        raise ValueError(
            f"{path} holds types that are not trusted: {', '.join(strange)}. If you know them, and "
            f"whoever wrote the file, load it with load_model(path, trusted={strange})."
        )
    if header["scikit-learn"] != sklearn.__version__:
        warn(
            InconsistentVersionWarning(
                estimator_name=header["class"].rpartition(".")[-1],
                current_sklearn_version=sklearn.__version__,
                original_sklearn_version=header["scikit-learn"],
            ),
        )
    with warnings.catch_warnings():
        # Said once, above, and not for every estimator inside.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        try:
            ranker = skops.load(path, trusted=names)
            check_is_fitted(ranker)
        except Exception as error:
            raise ValueError(f"{path} cannot be loaded: {error}") from error
    return ranker


def _is_ours(name) -> bool:
    """Whether it is a class of skcalrank, or another one that a model is made of."""
    if _HARMLESS.fullmatch(name):
        return True
    module, _, attribute = name.rpartition(".")
    package = module.partition(".")[0]
    if package not in ("skcalrank", "sklearn") or "__main__" in module:
        return False
    try:
        cls = getattr(import_module(module), attribute)
    except (ImportError, AttributeError):
        return False
    # What a module has imported from elsewhere goes by its name too.
    if not inspect.isclass(cls) or cls.__module__.partition(".")[0] != package:
        return False
    return (
        package == "skcalrank" or issubclass(cls, BaseEstimator) or bool(_INSIDES.fullmatch(name))
    )
