"""The benchmark of sums over paths runs on any parsed corpus, and says what it lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import path_sums
from tests.support.parsed_corpora import stories, write_corpus


def test_every_view_is_measured_on_a_parsed_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_corpus(tmp_path, stories(4)).sentences.parent
    given = ["--corpus", str(corpus), "--word-size", "6", "--quick", "--rounds", "1"]

    assert path_sums.main([*given, "--batch", "20"]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])

    names = {f"{view}_{parts}" for view in ("depsum", "constsum") for parts in ("1", "2", "each")}
    wanted = {f"{name}_{what}" for name in {"bow", *names} for what in ("inference", "training")}
    assert set(figures) == wanted
    assert min(figures.values()) > 0
    assert path_sums.main([*given, "--batch", "99999"]) == 2
    assert "lower --batch" in capsys.readouterr().err
