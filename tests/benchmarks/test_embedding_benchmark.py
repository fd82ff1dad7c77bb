"""The benchmark of embedded shards on a small text; no times are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY

pytestmark = pytest.mark.usefixtures("machine_as_before")

FIGURES = ("embedded_sentences_per_second", "encoded_sentences_per_second", "vs_encode")


def write_text(folder: Path, lines: int) -> str:
    path = folder / "text.txt"
    path.write_text("\n".join(f"Sentence {number} is here." for number in range(lines)))
    return str(path)


@pytest.mark.slow
def test_the_last_line_has_every_figure(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.embedding", "bag_of_words", "english-trees"]
    said = subprocess.run(
        [*command, "--quick", "--text", write_text(tmp_path, 40)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    figures = json.loads(said.stdout.splitlines()[-1])

    names = [f"{name}_{figure}" for name in ("bag_of_words", "english_trees") for figure in FIGURES]
    assert all(figures[name] > 0 for name in names)
    assert figures["bag_of_words_differing"] == 0
    assert figures["english_trees_differing"] < 1e-4
    assert figures["sentences"] == 40
