"""The campaign flips bits in what a run makes, and tells where one goes through."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.chaos.__main__ import main
from benchmarks.chaos.parts.flipped_bits import heard, read
from benchmarks.chaos.run_files import Kind
from models.report.run import report
from pipeline.shards import shards
from pipeline.vectors import folder as vector_folder


def test_what_goes_on_from_the_one_before_must_say_so(tmp_path: Path) -> None:
    file = tmp_path / "step-2" / "state.json"
    file.parent.mkdir()
    file.write_bytes(b"damaged")
    kind = Kind("checkpoint", (file,), str, before="step 1")

    def survived(content: str, warning: str = "") -> bool:
        def opened() -> str:
            if warning:
                logging.getLogger("models").warning(warning)
            return content

        with heard() as warnings:
            return read(replace(kind, read=opened), file, "step 2", warnings)[0]

    assert survived("step 1", f"{file.parent}: broken")
    assert not survived("step 1")
    assert not survived("step 1", "another checkpoint is broken")
    assert not survived("step 0", f"{file.parent}: broken")
    assert survived("step 2")


def run(folder: Path) -> int:
    return main(["--work", str(folder), "--parts", "flipped_bits", "--quick"])


@pytest.mark.slow
def test_no_flipped_bit_goes_through(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path) == 0

    tried = json.loads(capsys.readouterr().out.splitlines()[-1])["flipped_bits"]
    assert int(tried.partition(" ")[0]) > 100


@pytest.mark.slow
def test_without_checksums_flipped_bits_go_through_and_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_folder, "check_file", lambda *_: None)
    monkeypatch.setattr(shards, "check_rows", lambda *_: None)
    monkeypatch.setattr(report, "check_file", lambda *_: None)

    assert run(tmp_path) == 1

    told = capsys.readouterr().out
    assert "of vectors.safetensors: read in silence, as other content" in told
    assert "flipped_bits: metrics of a training: bit" in told
