"""Every subcommand of ``inspect`` gives its result as JSON, and nothing else on standard output."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.looked_at_corpus import write_looked_at
from treeviews.command import main
from treeviews.command.inspect import COMMANDS


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_looked_at(tmp_path / "corpus")


@pytest.mark.parametrize("name", [command.__name__ for command in COMMANDS])
def test_a_result_is_given_as_json(
    corpus: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    other = corpus.parent / "other"
    shutil.copytree(corpus, other)
    further = {
        "diff": [str(other)],
        "query": ["SELECT shard, row FROM corpus"],
        "html": ["--out", str(corpus / "page.html")],
        "export": ["--out", str(corpus / "trees.mrg")],
    }
    assert main(["inspect", name, str(corpus), *further.get(name, []), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)
