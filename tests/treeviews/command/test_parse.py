"""Text to trees on a command line."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.command import subcommand
from treeviews.pipeline.trees.treebanks import read_bracketed, read_treebank

main = subcommand("parse")
RAIN = "(S (NP (PRP It)) (VP (VBZ rains)) (. .))"


def feed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))


def test_lines_of_standard_input_become_conllu(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    feed(monkeypatch, "It rains.\nThe café’s open.\n")

    assert main([]) == 0

    out, err = capfdbinary.readouterr()
    (tmp_path / "t.conllu").write_bytes(out)
    read = read_treebank([tmp_path / "t.conllu"])
    assert [one.tokens for one in read] == [
        ["It", "rains", "."],
        ["The", "café", "’s", "open", "."],
    ]
    assert read[0].xpos == ["PRP", "VBZ", "."]
    assert b"2 sentences, 0 refused" in err


def test_a_file_becomes_what_the_name_of_the_other_says(tmp_path: Path) -> None:
    source, trees = tmp_path / "a.txt", tmp_path / "trees.mrg"
    source.write_text("It rains. It\nrains.\n\nIt rains.\n", encoding="utf-8")

    assert main(["--input", str(source), "--out", str(trees), "--split"]) == 0

    assert trees.read_text() == f"{RAIN}\n" * 3
    assert len(read_bracketed(trees)) == 3


def test_what_cannot_be_parsed_ends_it_or_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, trees = tmp_path / "a.txt", tmp_path / "trees.jsonl"
    source.write_text(f"It rains.\n{'word ' * 600}\n", encoding="utf-8")
    arguments = ["--input", str(source), "--out", str(trees)]

    assert main(arguments) == 2
    refused = f"{source}, line 2: too_long (600 tokens, limit 510); fix or remove it, or give --on"
    told = capsys.readouterr().err
    assert refused in told and "--split finds the sentences" in told
    assert not trees.exists()
    assert main([*arguments, "--split"]) == 2
    told = capsys.readouterr().err
    assert f"{source}, sentence 2: too_long" in told and "--split finds" not in told

    assert main([*arguments, "--on-refusal", "skip"]) == 0
    assert "no trees for sentence 2: too_long (600 tokens" in capsys.readouterr().err
    lines = [json.loads(line) for line in trees.read_text().splitlines()]
    assert [line["heads"] for line in lines] == [[2, 0, 2], None]
    assert lines[1]["refusal"]["reason"] == "too_long"
