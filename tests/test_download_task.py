"""The url source as Luigi runs it: downloaded through cuts, then split; refused when wrong."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pipeline.shards import read_shard
from tasks import DownloadCorpus, SplitSentences
from tests.luigi_builds import build

TEXT = b"The river rose. Nobody slept.\n\n" + b"The bridge held until morning.\n\n" * 3
SHA256 = hashlib.sha256(TEXT).hexdigest()


class CuttingHandler(BaseHTTPRequestHandler):
    """Sends half of the file, then the rest to whoever asks for it by range."""

    def do_GET(self) -> None:
        if self.path != "/river.txt":
            self.send_error(404)
            return
        wanted = self.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(TEXT) - 1}/{len(TEXT)}")
        self.send_header("Content-Length", str(len(TEXT) - start))
        self.send_header("ETag", '"river"')
        self.end_headers()
        self.wfile.write(TEXT[start:] if start else TEXT[: len(TEXT) // 2])

    def log_message(self, *arguments: object) -> None:
        """Keeps the test's output quiet."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), CuttingHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


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


def test_an_unknown_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'?web'? is not a valid choice from .*python-docs"):
        SplitSentences(work_folder=tmp_path, source="web")
