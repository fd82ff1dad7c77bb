"""Parsers are loaded when a sentence is parsed, and known by their checksum before."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.parsers.sentence_parser import LazyParser

SENTENCES = ["The cat sees the dog.", "It rains."]
TOKENS = [sentence.split() for sentence in SENTENCES]


def test_a_parser_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "parser"
    shutil.copytree(BUNDLED_PARSERS["dependencies"], folder)
    parser = LazyParser("dependencies", folder)
    description = folder / "parser.json"
    description.write_text(description.read_text() + "\n")
    (folder / "checksums.json").unlink()  # changed on purpose, not damaged

    with pytest.raises(ValueError, match="differs from the expected"):
        parser.parse(TOKENS)
