"""The url source as Luigi runs it: downloaded through cuts, then split; refused when wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.download_server import serving
from tests.support.luigi_builds import build
from treeviews.pipeline.shards.shards import read_shard
from treeviews.tasks import DownloadCorpus, SplitSentences

TEXT = b"The river rose. Nobody slept.\n\n" + b"The bridge held until morning.\n\n" * 3
SHA256 = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def address() -> Iterator[str]:
    """Where half of the file comes first, and the rest to whoever asks for it by range."""
    with serving({"river.txt": TEXT}) as server:
        server.scripts["river.txt"] = [f"cut:{len(TEXT) // 2}"]
        yield server.address


def test_a_corpus_behind_an_address_is_downloaded_and_split(address: str, tmp_path: Path) -> None:
    task = SplitSentences(
        work_folder=tmp_path, source="url", url=f"{address}/river.txt", sha256=SHA256
    )

    assert build(task)

    tokens = read_shard(task.folder, "sentences", 0)["tokens"].to_pylist()
    assert tokens[0] == ["The", "river", "rose", "."]
    assert len(tokens) == 5


@pytest.mark.parametrize(("path", "sha256"), [("river.txt", "0" * 64), ("sea.txt", SHA256)])
def test_wrong_bytes_and_a_missing_file_leave_no_corpus(
    path: str, sha256: str, address: str, tmp_path: Path
) -> None:
    task = DownloadCorpus(url=f"{address}/{path}", sha256=sha256, work_folder=tmp_path)

    assert not build(task)
    assert not Path(task.output().path).exists()


def test_another_token_or_login_is_the_same_corpus_and_stands_nowhere(
    address: str, tmp_path: Path
) -> None:
    given = {"work_folder": tmp_path, "source": "url", "sha256": SHA256}
    login = address.replace("://", "://user:hunter2@")
    first, second = (
        SplitSentences(url=f"{login}/river.txt?token={token}", **given)
        for token in ("abc1", "abc2")
    )
    assert first.folder == second.folder
    assert first.requires()[0].output().path == second.requires()[0].output().path
    first.write_config()
    told = [str(first), first.task_id, first.corpus_in_words()]
    told += [path.read_text() for path in tmp_path.rglob("config.json")]
    assert "token=***" in told[-1]
    assert not any(secret in said for said in told for secret in ("abc1", "hunter2"))
