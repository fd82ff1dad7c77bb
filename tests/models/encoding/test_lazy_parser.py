"""Parsers are loaded when a sentence is parsed, and known by their checksum before."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.parsers.sentence_parser import LazyParser, load_parser
from tests.support.repository import REPOSITORY

SENTENCES = ["The cat sees the dog.", "It rains."]
TOKENS = [sentence.split() for sentence in SENTENCES]


@pytest.mark.parametrize("stage", ["dependencies", "constituents"])
def test_it_answers_as_the_parser_it_loads(stage: str) -> None:
    folder = BUNDLED_PARSERS[stage]
    loaded = load_parser(folder, stage)

    lazy = LazyParser(stage, folder)

    assert (lazy.name, lazy.checksum) == (loaded.name, loaded.checksum)
    assert lazy.parse(TOKENS) == loaded.parse(TOKENS)


@pytest.mark.slow
def test_a_digest_imports_no_parser() -> None:
    code = (
        "from models.encoding.named_encoder import resolve_encoder\n"
        "import sys\n"
        "assert resolve_encoder('random-0').digest\n"
        "print([name for name in ('supar', 'benepar', 'spacy') if name in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"


def test_a_parser_that_changed_meanwhile_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "parser"
    shutil.copytree(BUNDLED_PARSERS["dependencies"], folder)
    parser = LazyParser("dependencies", folder)
    description = folder / "parser.json"
    description.write_text(description.read_text() + "\n")
    (folder / "checksums.json").unlink()  # changed on purpose, not damaged

    with pytest.raises(ValueError, match="differs from the expected"):
        parser.parse(TOKENS)
