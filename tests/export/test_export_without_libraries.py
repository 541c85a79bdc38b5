"""Exports without their libraries."""

import sys

import pytest

from skcalrank import NDCGRanker
from skcalrank.export import register_converters, to_onnx


def test_onnx_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    ranker = NDCGRanker().fit([[0.0], [1.0]], [0, 1], [0, 0])
    for call in (register_converters, lambda: to_onnx(ranker)):
        with pytest.raises(ImportError, match=r'pip install "skcalrank\[export\]"'):
            call()
