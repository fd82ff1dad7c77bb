"""The encoding benchmark on a small text; no times are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import encode
from tests.support.repository import REPOSITORY

pytestmark = pytest.mark.usefixtures("machine_as_before")

FIGURES = (
    *("sentences_per_second", "cold_sentences_per_second", "first_call_seconds", "peak_mib"),
    *("warm_start_seconds", "warm_start_processor_seconds"),
)


def write_text(folder: Path, lines: int) -> str:
    path = folder / "text.txt"
    sentences = (f"Sentence {number} is here, and it's short." for number in range(lines))
    path.write_text("\n".join([*sentences, "", "Sentence 0 is here, and it's short."]))
    return str(path)


@pytest.mark.slow
def test_the_last_line_has_every_figure(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.encode", "bag_of_words", "english-trees"]
    command += ["--quick", "--text"]
    said = subprocess.run(
        [*command, write_text(tmp_path, 60)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    figures = json.loads(said.stdout.splitlines()[-1])
    assert set(figures) == {
        *(f"bag_of_words_{name}" for name in FIGURES),
        *(f"english_trees_{name}" for name in (*FIGURES, "vs_parsers")),
        *("first_call_seconds", "trees_vs_parsers", "sentences", "encoders"),
    }
    assert figures.pop("encoders") == ["bag_of_words", "english-trees"]
    assert figures["sentences"] == 60
    assert all(value > 0 for value in figures.values())
    assert figures["trees_vs_parsers"] < 1
    assert figures["first_call_seconds"] == figures["bag_of_words_first_call_seconds"]


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (("--sentences", "1"), "give at least 20", 2),
        (("--text", "few"), "3 distinct sentences", 2),
        (("--text", "missing.txt"), "missing.txt", 3),
        (("no-such-encoder", "--text", "enough"), "no-such-encoder", 1),
        (("random-1", "random.1", "--text", "enough"), "'random-1' and 'random.1' would both", 2),
    ],
)
def test_mistakes_are_told_in_one_sentence(
    arguments: tuple[str, ...],
    said: str,
    status: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    texts = {"few": 3, "enough": 30}
    given = [write_text(tmp_path, texts[one]) if one in texts else one for one in arguments]
    assert encode.main(given) == status
    *progress, error = capsys.readouterr().err.strip().splitlines()
    assert said in error
    assert all(line.startswith("[") for line in progress)
