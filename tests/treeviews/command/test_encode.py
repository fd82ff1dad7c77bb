"""``treeviews encode`` with functions of the user's own; what it embeds else is tested below it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.command import subcommand

encode = subcommand("encode")
OWN = "def lengths(sentences):\n    return [[len(sentence), 1] for sentence in sentences]\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_counts.py").write_text(OWN, encoding="utf-8")
    (tmp_path / "in.txt").write_text("A cat.\nIt sat there.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in {"", "."}])
    monkeypatch.delitem(sys.modules, "own_counts", raising=False)
    return tmp_path


def test_a_function_is_found_where_the_command_is_run(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert encode(["own_counts:lengths", "--input", "in.txt", "--out", "out.npy"]) == 0
    np.testing.assert_array_equal(np.load(here / "out.npy"), [[6, 1], [13, 1]])
    assert capsys.readouterr().err.startswith("2 sentences, 0 refused, width 2, ")
