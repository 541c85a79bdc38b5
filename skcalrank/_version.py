"""The version, for every room: none imports the package for it."""

__version__ = "0.2.0rc1"
