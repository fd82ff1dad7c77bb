"""What was measured of a parser is an object of numbers, or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.parsers.adapters.folder_files import read_scores


def test_scores_are_read_where_there_are_any(tmp_path: Path) -> None:
    assert read_scores(tmp_path) == {}
    (tmp_path / "scores.json").write_text('{"LAS": 86, "UAS": 89.5}')
    assert read_scores(tmp_path) == {"LAS": 86.0, "UAS": 89.5}


@pytest.mark.parametrize(
    ("text", "fault"),
    [("[1]", "must be a valid dictionary"), ('{"LAS": "x"}', "valid number"), ("{", "not JSON")],
)
def test_other_scores_are_refused(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "scores.json").write_text(text)
    with pytest.raises(ValueError, match=rf"scores\.json: .*{fault}.*; .*or remove the file"):
        read_scores(tmp_path)
