"""What ``inspect`` cannot do is one sentence, exit code 2, and leaves no file."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.support.command import subcommand
from tests.support.looked_at_corpus import (
    dependency_rows,
    sentence_rows_of,
    write_looked_at,
    write_parse,
)
from tests.support.shard_files import write_rows
from treeviews.pipeline.shards.manifests import shard_path

pytest.importorskip("duckdb")
main = subcommand("inspect")

MISTAKES = [
    ("show nowhere", "no such file or folder"),
    ("show .", "no shards here"),
    ("show corpus --row 2", "shard 0 has no row 2"),
    ("show corpus --shard 7", "no shard 7 that all stages have; they share [0, 1]"),
    ("show alone", "no sentences beside it"),
    ("show cut", "run the stage again"),
    ("export cut --out out.conllu", "run the stage again"),
    ("diff corpus corpus", "the same parses twice"),
    ("html corpus --out out --where false", "no sentence is so"),
    ("html corpus --out out --stage nosuch", "no stage is called 'nosuch'"),
    ("export corpus/constituents-x --out out.conllu", "no dependencies with their sentences here"),
    ("export corpus/sentences --out out.jsonl", "no trees with their sentences here"),
    ("export corpus --out out.txt", "its name tells no format"),
    ("export corpus --out nowhere/out.conllu", "no such folder"),
    ("export corpus --out mine.conllu", "is there already; delete it or choose another"),
    ("diff corpus/dependencies-x corpus/constituents-x", "nothing of one kind to compare"),
    ("diff corpus/dependencies-x two", "several folders of dependencies; give two of them"),
    ("diff corpus/dependencies-x alone", "no sentences/ beside it"),
    ("diff corpus/dependencies-x two/dependencies-y", "the sentences of shard 1 differ"),
    ("query corpus 'SELEC 1'", 'error: Parser Error: syntax error at or near "SELEC"'),
    ("query corpus 'SELECT CAST(document_id AS INT) FROM corpus'", "Conversion Error: Could not"),
    ("query corpus \"COPY (SELECT 1) TO 'out'\"", "error: no single query in"),
    ("query uneven 'SELECT 1 FROM corpus'", "has 1 rows, "),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good corpus, and others of which something is wrong."""
    folder = tmp_path_factory.mktemp("mistakes")
    corpus = write_looked_at(folder / "corpus")
    for name in ("cut", "two", "uneven"):
        shutil.copytree(corpus, folder / name)
    shutil.copytree(corpus / "dependencies-x", folder / "alone" / "dependencies-x")
    for name in ("mine.conllu", "mine.spacy"):
        (folder / name).write_text("mine")
    path = shard_path(folder / "cut" / "sentences", 0)
    path.write_bytes(path.read_bytes()[:100])
    rows = [dict(row) for row in sentence_rows_of()]
    rows[3]["tokens"] = ["It", "slept"]
    write_rows(folder / "two" / "sentences", "sentences", 1, rows[2:])
    write_parse(folder / "two" / "dependencies-y", "dependencies", dependency_rows())
    arcs = [{"heads": [0], "deprels": ["root"]}]
    write_rows(folder / "uneven" / "dependencies-x", "dependencies", 0, arcs)
    return folder


@pytest.mark.parametrize(("command", "said"), MISTAKES)
def test_a_mistake_is_one_sentence_and_leaves_no_file(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    said: str,
) -> None:
    monkeypatch.chdir(folder)
    is_damage = "cut" in command or "uneven" in command
    assert main(shlex.split(command)) == (1 if is_damage else 2)
    error = capsys.readouterr().err
    mistake, *further = error.splitlines()
    assert said in mistake and all(line.startswith("help: ") for line in further)
    assert not list(folder.glob("out*")) and (folder / "mine.conllu").read_text() == "mine"
