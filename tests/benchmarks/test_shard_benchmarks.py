"""The benchmarks of shards and their memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import checksums, shard_memory, shards
from benchmarks.shard_memory import MemoryCurve, follow_job, join_sentences
from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.parsers.adapters.folder_files import STAGES
from pipeline.parsing.parse_shard import MEMORY_BOUND_MIB, ParseJob, parse_shard
from pipeline.shards.manifests import write_dataset_manifest
from pipeline.shards.shards import read_shard
from pipeline.trees.parses import ConstituencyParse, DependencyParse
from tests.support.shard_files import sentence_rows, write_stage

SENTENCE_TOKENS = [["Rain", "fell", "."], ["It", "stopped"], ["Yes"]]


class Chains:
    """Parses every sentence into a chain, or into one flat constituent."""

    name, checksum = "chains", "c0ffee"

    def __init__(self, stage: str) -> None:
        self._stage = stage

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        return [self._tree(len(words)) for words in sentences]

    def _tree(self, length: int) -> DependencyParse | ConstituencyParse:
        if self._stage == "dependencies":
            return DependencyParse([*range(2, length + 1), 0], ["dep"] * length)
        return ConstituencyParse([0], [length], ["S"], ["NN"] * length)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    shards_of_rows = [sentence_rows(SENTENCE_TOKENS, document=f"d{n}") for n in range(2)]
    write_stage(folder / "sentences", "sentences", *shards_of_rows)
    for stage in STAGES:
        output = folder / f"{stage}-chains"
        for number in range(2):
            job = ParseJob(stage, folder / "sentences", output, number)
            parse_shard(job, Chains(stage))
        write_dataset_manifest(output, stage, config={})
    return folder


def last_line(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return figures


def test_sizes_and_rates_of_shards(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shards.main(["--corpus", str(corpus), "--rounds", "1"]) == 0
    figures = last_line(capsys)
    parsed = [path for path in corpus.glob("*-chains/0*") if path.is_file()]
    assert figures["bytes_per_sentence"] == round(sum(p.stat().st_size for p in parsed) / 6, 1)
    assert figures["rows"] == 6
    assert figures["heads_rows_per_second"] > 0
    assert figures["check_rows_per_second"] > 0


def test_heads_are_all_read(corpus: Path) -> None:
    assert shards.read_heads(corpus / "dependencies-chains") == 12


def test_a_corpus_that_is_not_whole_is_not_measured(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (corpus / "dependencies-chains" / "00000.quarantine.jsonl").unlink()
    assert shards.main(["--corpus", str(corpus), "--rounds", "1"]) == 2
    error = capsys.readouterr().err
    assert "the corpus is not whole: " in error and "is missing" in error


def test_numbers_that_cannot_be_are_refused(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shards.main(["--corpus", str(corpus), "--rounds", "0"]) == 2
    assert "--rounds 0: at least 1" in capsys.readouterr().err
    sentences = ["--sentences", str(corpus / "sentences")]
    assert shard_memory.main([*sentences, "--rows", "0"]) == 2
    assert shard_memory.main([*sentences, "--every", "-1"]) == 2
    assert capsys.readouterr().err.count("--rows is ") == 2


@pytest.mark.parametrize(("max_rows", "expected"), [(99, 6), (4, 4), (3, 3)])
def test_sentences_are_joined_in_one_shard(
    corpus: Path, tmp_path: Path, max_rows: int, expected: int
) -> None:
    assert join_sentences(corpus / "sentences", tmp_path / "one", max_rows) == expected
    joined = read_shard(tmp_path / "one", "sentences", 0)["tokens"].to_pylist()
    assert joined == (SENTENCE_TOKENS * 2)[:expected]


def test_a_memory_curve_is_told_by_its_quarters() -> None:
    samples = [(0.0, 10.0), (0.1, 30.0), (0.2, 20.0), (0.5, 99.0), (0.8, 40.0), (1.0, 60.0)]
    assert MemoryCurve(samples, loaded_mib=5.0, peak_mib=100.0).figures() == {
        "peak_mib": 100.0,
        "loaded_mib": 5.0,
        "above_loaded_mib": 95.0,
        "first_quarter_mib": 20.0,
        "last_quarter_mib": 50.0,
    }


def job_of(stage: str, folder: Path) -> dict[str, object]:
    return {
        "stage": stage,
        "parser": str(BUNDLED_PARSERS[stage]),
        "sentences": str(folder / "sentences"),
        "output": str(folder / stage),
        "number": 0,
    }


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_a_shard_of_the_longest_sentences_stays_within_its_memory(
    stage: str, tmp_path: Path
) -> None:
    random = np.random.default_rng(0)
    words = np.array(["the", "owl", "saw", "a", "small", "house", ",", "and", "left", "."])
    sentences = [random.choice(words, 510).tolist() for _ in range(40)]
    write_stage(tmp_path / "sentences", "sentences", sentence_rows(sentences))

    curve = follow_job(job_of(stage, tmp_path), tmp_path, every_seconds=0.1)

    assert curve.peak_mib - curve.loaded_mib < MEMORY_BOUND_MIB
    assert read_shard(tmp_path / stage, stage, 0).column(0).null_count == 0


@pytest.mark.slow
def test_a_job_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"exited with 2: .*shard 0 is not complete"):
        follow_job(job_of("dependencies", tmp_path), tmp_path, every_seconds=0.1)


def test_what_checksums_cost_is_measured(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert checksums.main(["--corpus", str(corpus), "--rounds", "1", "--word-size", "4"]) == 0

    figures = last_line(capsys)
    assert figures["shards"] == 6
    assert 10 < figures["bytes_a_shard"] < 80
    assert {"write_with_seconds", "training_without_seconds", "added_percent"} <= figures.keys()
    assert checksums.main(["--corpus", str(corpus), "--rounds", "0"]) == 2
