"""The campaign flips bits in what a run makes, and tells where one goes through."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import main
from models.words import vector_files
from pipeline.shards import shards

pytestmark = pytest.mark.slow


def run(folder: Path) -> int:
    return main(["--work", str(folder), "--parts", "flipped_bits", "--quick"])


def test_no_flipped_bit_goes_through(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 0

    tried = json.loads(capsys.readouterr().out.splitlines()[-1])["flipped_bits"]
    assert int(tried.partition(" ")[0]) > 80


def test_without_checksums_flipped_bits_go_through_and_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_files, "check_file", lambda *_: None)
    monkeypatch.setattr(shards, "check_rows", lambda *_: None)

    assert run(tmp_path) == 1

    assert "of vectors.safetensors: read in silence, as other content" in capsys.readouterr().out
