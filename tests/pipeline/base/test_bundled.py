"""What ships is found from whatever folder a program starts in."""

from __future__ import annotations

from pathlib import Path

import luigi
import pytest

from tests.support.repository import REPOSITORY
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS, parser_folder
from treeviews.tasks.senteval import EvaluateTask


def test_a_parser_is_found_by_name_unless_a_folder_of_that_name_is_a_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dependency").mkdir()
    assert parser_folder("dependency") == BUNDLED_PARSERS["dependencies"]
    assert parser_folder("constituency") == BUNDLED_PARSERS["constituents"]
    assert parser_folder("other") == Path("other")
    (tmp_path / "dependency" / "parser.json").touch()
    assert parser_folder("dependency") == Path("dependency")


def test_tasks_have_the_same_digest_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = []
    for folder in (REPOSITORY, tmp_path):
        monkeypatch.chdir(folder)
        luigi.task_register.Register.clear_instance_cache()
        digests.append([EvaluateTask(encoder=name).digest for name in ("trained", "random-0")])
    assert digests[0] == digests[1]
