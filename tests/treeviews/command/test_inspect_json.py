"""Every subcommand of ``inspect`` gives its result as JSON, and nothing else on standard output."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.looked_at_corpus import write_looked_at
from treeviews.command import main
from treeviews.command.inspect.group import COMMANDS


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_looked_at(tmp_path / "corpus")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_result_is_given_as_json(
    corpus: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    other = corpus.parent / "other"
    shutil.copytree(corpus, other)
    further = {
        "diff": [str(other)],
        "html": ["--out", str(corpus / "page.html")],
        "export": ["--out", str(corpus / "trees.mrg")],
    }
    code = main(["inspect", name, str(corpus), *further.get(name, []), "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told
    assert code == (1 if name == "check" else 0)  # these shards name no sentences they are of


@pytest.mark.parametrize("name", COMMANDS)
def test_the_path_may_come_first(
    corpus: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    assert main(["inspect", str(corpus), name, "--help"]) == 0
    assert f"inspect {name}" in capsys.readouterr().out
