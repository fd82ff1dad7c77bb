"""``treeviews vectors`` and ``vocabulary``: published vectors made a folder, and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.parsed_corpora import stories, write_corpus
from treeviews.command.app import main
from treeviews.pipeline.vectors.word_counts import VocabularyConfig, count_shard, merge_counts

TEXT = "the 0.5 -1\ncat 2 3\ncat 4 5\nbroken 1\n"


def glove(folder: Path) -> Path:
    path = folder / "glove.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


def vocabulary(folder: Path) -> Path:
    sentences = write_corpus(folder / "corpus", stories(3)).sentences
    count_shard(sentences, 0, folder / "counts")
    merge_counts(folder / "counts", 1, VocabularyConfig(), folder / "vocabulary")
    return folder / "vocabulary"


def test_a_file_becomes_a_folder_and_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "vectors"
    assert main(["vectors", "import", str(glove(tmp_path)), "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert told.out == f"{out}\n"
    assert "2 words of 4 taken; 1 malformed, 1 repeated" in told.err

    assert main(["vectors", "show", str(out), "Cat", "dog"]) == 0
    shown = capsys.readouterr().out
    assert "2 words of 2 numbers, float16, mapped from the file" in shown
    assert "from glove.txt" in shown and "first: the cat" in shown
    assert "Cat: id 2: 2.0000 3.0000" in shown and "dog: unknown" in shown

    assert main(["vectors", "check", str(out)]) == 0
    assert "2 words, all as they were written" in capsys.readouterr().out

    path = out / "vectors.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert main(["vectors", "check", str(out)]) == 2
    assert "vectors.safetensors: damaged" in capsys.readouterr().err


def test_a_vocabulary_is_shown_with_what_it_covers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(vocabulary(tmp_path))
    assert main(["vocabulary", "show", folder, "-n", "1"]) == 0
    shown = capsys.readouterr().out
    assert "| the |" in shown and "of tokens" in shown and "100.00%" in shown
    assert main(["vocabulary", "show", folder, "-n", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["first"][0]["word"] == "the"


@pytest.mark.parametrize("text", ["the 1 2\ncat 3\n", "", "3 2\nthe 1 2\n"])
def test_an_import_that_fails_leaves_no_folder_behind(text: str, tmp_path: Path) -> None:
    path, out = tmp_path / "vectors.txt", tmp_path / "out"
    path.write_text(text, encoding="utf-8")
    assert main(["vectors", "import", str(path), "--out", str(out), "--max-malformed", "0"]) == 2
    assert not out.exists()


def test_what_vectors_cover_of_a_vocabulary_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.txt"
    path.write_text("the 1 2\n", encoding="utf-8")
    given = ["--vectors", str(path)]
    assert main(["vocabulary", "coverage", str(vocabulary(tmp_path)), *given]) == 0
    told = capsys.readouterr().out
    assert "as they stand: 1 types" in told and "most frequent ones without:" in told
    assert main(["vocabulary", "coverage", str(tmp_path / "vocabulary"), *given, "--json"]) == 0
    assert 0 < json.loads(capsys.readouterr().out)["share_of_tokens"] < 1
