"""The profile of the parsers by part: what counts for which part, and what is left as it was."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import torch

from benchmarks import parsing_parts
from benchmarks.parsing_parts import REST, Profile, profiled
from pipeline.parsers.adapters.fast_layers import FixedProduct, WordCache
from pipeline.parsers.dependency import checked_pass, decoding, supar_adapter
from tests.support.parsed_corpora import stories, write_corpus


def busy(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_part_does_not_count_what_parts_within_it_take() -> None:
    profile = Profile()
    inner = profile.within("inner", lambda: busy(0.02))

    def work() -> None:
        busy(0.01)
        inner()
        busy(0.01)

    started = time.process_time()
    with profile.running(REST):
        profile.within("outer", work)()
    whole = time.process_time() - started
    assert set(profile.seconds) == {REST, "outer", "inner"}
    assert profile.seconds["inner"] >= 0.02
    assert profile.seconds["outer"] >= 0.02
    assert sum(profile.seconds.values()) <= whole


def test_what_spelling_calls_counts_as_spelling_and_arithmetics_apart() -> None:
    profile = Profile()
    lstm = profile.within("LSTM", lambda inputs: profile.count(7))
    reduced = torch.zeros(1, dtype=torch.bfloat16)
    lstm(torch.zeros(1))
    lstm(reduced)
    profile.within("spelling of words", lambda: lstm(reduced))()
    assert profile.operations == {"LSTM": 7, "LSTM, bfloat16": 7, "spelling of words": 7}


def test_operations_of_products_are_counted_and_everything_is_put_back() -> None:
    product = FixedProduct(torch.ones(3, 5))
    before = [vars(FixedProduct)["_by_torch"], vars(WordCache)["vectors"], decoding.best_heads]
    profile = Profile()
    with profiled(profile), profile.running(REST):
        assert checked_pass.encode is supar_adapter.encode
        assert decoding.best_heads is not before[2]
        assert checked_pass.best_heads is decoding.best_heads
        product(torch.ones(4, 3))
    assert profile.operations == {REST: 2 * 4 * 3 * 5}
    after = [vars(FixedProduct)["_by_torch"], vars(WordCache)["vectors"], decoding.best_heads]
    assert after == before
    assert checked_pass.best_heads is before[2]


@pytest.mark.slow
def test_both_parsers_are_profiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(tmp_path, stories(40))
    arguments = ["--corpus", str(tmp_path), "--sentences", "30", "--rounds", "1"]
    assert parsing_parts.main(arguments) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"spelling of words", "LSTM", "best trees", REST} <= set(figures["dependencies"])
    assert {"attention layers", "scores of spans", REST} <= set(figures["constituents"])
    assert set(figures["core_gflops"]) == {"float32", "bfloat16"}
    assert all(rate > 0 for rates in figures["core_gflops"].values() for rate in rates.values())


@pytest.mark.slow
def test_all_sentences_are_taken_where_there_are_fewer_than_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_corpus(tmp_path, stories(3))
    arguments = ["--corpus", str(tmp_path), "--sentences", "30000", "--stages", "dependencies"]
    assert parsing_parts.main(arguments) == 0
    assert "- text: first 24 sentences of" in capsys.readouterr().out
    assert parsing_parts.main(["--corpus", str(tmp_path), "--sentences", "0"]) == 2
    assert "--sentences and --rounds must be at least 1" in capsys.readouterr().err
