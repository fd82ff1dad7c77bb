from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.tiny_senteval import write_tiny_senteval

pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
pytest.importorskip("mteb", reason="mteb is not installed")

from benchmarks.opened_elsewhere import main


@pytest.mark.slow
def test_the_last_line_says_how_equal_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "text.txt"
    lines = [f"The {word} is number {n}." for n in range(10) for word in ("cat", "dog", "café")]
    text.write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = write_tiny_senteval(tmp_path / "senteval")

    assert main(["--text", str(text), "--data", str(data)]) == 0

    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["sentences"] == len(lines)
    assert figures["sentence_transformers_equal_vectors"] == 1.0
    assert figures["sets"] >= 1
    assert figures["largest_difference_of_scores"] < 0.01


@pytest.mark.slow
def test_an_unknown_encoder_is_refused_in_one_sentence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["nosuch", "--quick"]) == 3
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
