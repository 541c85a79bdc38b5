"""The version, and what a report of a bug should say about the machine."""

__version__ = "0.4.0"

# Of the extras, what scikit-learn does not print; xgboost goes by two names.
_OPTIONAL = (
    *("polars", "pyarrow", "skops", "dask", "distributed", "lightgbm", "xgboost", "xgboost-cpu"),
    *("skl2onnx", "onnxruntime"),
)


def show_versions() -> None:
    """Print the versions of skcalrank, Python, its dependencies and BLAS, for bug reports.

    Optional dependencies that are not installed are None. The rest is what
    :func:`sklearn.show_versions` prints.

    Examples
    --------
    >>> import skcalrank
    >>> skcalrank.show_versions()  # doctest: +ELLIPSIS
    <BLANKLINE>
    skcalrank: ...
    """
    import sklearn  # late, as the package is imported without it

    print(f"\nskcalrank: {__version__}\n\nOptional dependencies:")
    for name in _OPTIONAL:
        print(f"{name:>13}: {_installed(name)}")
    sklearn.show_versions()


def _installed(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None
