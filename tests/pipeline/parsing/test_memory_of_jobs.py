"""What a job that parses takes of memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.base.machine import MAXRSS_BYTES
from pipeline.parsing.parse_shard import MEMORY_BOUND_MIB
from pipeline.shards.shards import read_shard
from tests.support.repository import REPOSITORY
from tests.support.shard_files import sentence_rows, write_stage


def peak_mib(stage: str, folder: Path, sentences: Sequence[Sequence[str]]) -> float:
    """Returns the most memory of a job that parses these sentences, all of which it must parse."""
    job = {
        "stage": stage,
        "parser": str(BUNDLED_PARSERS[stage]),
        "sentences": str(write_stage(folder / "sentences", "sentences", sentence_rows(sentences))),
        "output": str(folder / stage),
        "number": 0,
    }
    (folder / "job.json").write_text(json.dumps(job))
    command = [sys.executable, "-m", "pipeline.parsing.parse_shard", str(folder / "job.json")]
    process = subprocess.Popen(command, cwd=REPOSITORY)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    assert read_shard(folder / stage, stage, 0).column(0).null_count == 0
    return usage.ru_maxrss * MAXRSS_BYTES / (1 << 20)


@pytest.mark.slow
@pytest.mark.parametrize("stage", BUNDLED_PARSERS)
def test_a_shard_of_the_longest_sentences_stays_within_its_memory(
    stage: str, tmp_path: Path
) -> None:
    words = np.array(["the", "owl", "saw", "a", "small", "house", ",", "and", "left", "."])
    random = np.random.default_rng(0)
    longest = [random.choice(words, 510).tolist() for _ in range(40)]
    loaded = peak_mib(stage, tmp_path / "short", [["Rain", "fell"]])
    assert peak_mib(stage, tmp_path / "long", longest) - loaded < MEMORY_BOUND_MIB
