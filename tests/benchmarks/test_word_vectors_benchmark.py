"""The benchmark of word vectors: what it writes is read by both, and its last line says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.word_vectors import main, write_glove
from treeviews.models.words.word_vectors import load_word_vectors


def test_its_text_is_glove_text_of_the_size_asked_for(tmp_path: Path) -> None:
    write_glove(tmp_path / "glove.txt", 30, 4)
    vectors = load_word_vectors(tmp_path / "glove.txt")
    assert (vectors.num_words, vectors.size) == (31, 4)
    assert vectors.words[-1] == "w29"


@pytest.mark.slow
def test_the_last_line_has_the_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("gensim")
    assert main(["--words", "2000", "--size", "10", "--folder", str(tmp_path)]) == 0
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["words"] == 2000 and figures["rows"] == 1000
    assert figures["vs_gensim"] > 0 and figures["memory_vs_gensim"] > 0
    assert not list(tmp_path.iterdir())
