"""The benchmark of shards on disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import shards
from tests.support.parsed_corpora import stories, write_corpus


def test_sizes_and_rates_of_shards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = write_corpus(tmp_path, stories(2))
    assert folders.dependencies is not None and folders.constituents is not None
    assert shards.main(["--corpus", str(tmp_path), "--rounds", "1"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    parsed = [*folders.dependencies.glob("0*"), *folders.constituents.glob("0*")]
    num_bytes = sum(path.stat().st_size for path in parsed)
    assert figures["bytes_per_sentence"] == round(num_bytes / figures["rows"], 1)
    assert figures["heads_rows_per_second"] > 0
