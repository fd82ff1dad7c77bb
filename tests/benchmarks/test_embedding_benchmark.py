"""The benchmark of embedded shards on a small text; no times are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import embedding
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


@pytest.mark.parametrize(
    ("arguments", "said", "status"),
    [
        (("--sentences", "1"), "give at least 20", 2),
        (("--text", "few"), "3 distinct sentences", 2),
        (("no-such-encoder", "--text", "enough"), "no-such-encoder", 3),
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
    assert embedding.main(given) == status
    assert said in capsys.readouterr().err
