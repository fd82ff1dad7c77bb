"""The command that scores a parser: what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeviews.pipeline.parsers.evaluate_parser import main


def test_no_documents_are_excluded_from_bracketed_trees(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.mrg").write_text("(ROOT (NP (NNS Owls)))\n", encoding="utf-8")
    assert main(["constituency", str(tmp_path / "a.mrg"), "--exclude", "GUM_"]) == 2
    told = capsys.readouterr()
    assert not told.out and "a.mrg: bracketed trees name no documents that --exclude" in told.err
