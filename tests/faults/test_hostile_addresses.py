"""Hostile addresses and servers: refused with address and reason, or the file is taken whole."""

# ruff: noqa: E501 (a line an item)

from __future__ import annotations

import hashlib
import re
import threading
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.downloads.download import DownloadConfig, download

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

BODY = b"".join(b"line %d of the file\n" % number for number in range(2_000))
MOST_BYTES = 1 << 20
CONFIG = DownloadConfig(attempts=2, timeout_seconds=1.0, backoff_seconds=0.01, max_bytes=MOST_BYTES)
OK = b"HTTP/1.1 200 OK\r\n"
MANY = 1 << 12
"""Blocks; more than is read."""
# fmt: off
TABLE: tuple[tuple[str, str, tuple[bytes, ...]], ...] = (  # an address, what is told (nothing where the file must be taken), and what the server sends
    ("http://{}/file", "", (OK, b"Content-Length: %d\r\n\r\n" % len(BODY), BODY)),
    ("http://user:hun/ter2@{}/file", "host or port is malformed", ()),
    ("http://{}/file\x1b[2J\r\nHost: other", "host or port is malformed", ()),
    ("file:///etc/hostname", "not an http or https address", ()),
    ("http://[::1/file", "host or port is malformed", ()),
    ("http://{}/file", "longer than the 1,048,576 bytes", (OK, b"\r\n", *[b"x" * 65536] * MANY)),
    ("http://{}/file", "gave up after 2 attempts", tuple([b"HTTP/1.1 100 Continue\r\n\r\n"] * MANY)),
    ("http://{}/file", "gave up after 2 attempts", (OK, b"X: ", *[b"x" * 65536] * MANY)),
    ("http://{}/file", "", (OK, b"Content-Length: \x1b[31m\r\n\r\n", BODY)),
    ("http://{}/file", "gave up after 2 attempts", (b"\x1b]0;title\x07\0\0\0\n" * 3,)),
    ("http://{}/file", r"HTTP 403 \\x1b", (b"HTTP/1.1 403 \x1b[2J\r\n\r\n",)),
)
# fmt: on


@pytest.mark.parametrize(("address", "told", "blocks"), TABLE)
def test_hostile_addresses_are_refused_by_name(
    address: str, told: str, blocks: tuple[bytes, ...], tmp_path: Path
) -> None:
    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            for block in blocks:
                self.wfile.write(block)

    class Server(ThreadingTCPServer):
        daemon_threads = True
        block_on_close = False

    said, path = "", tmp_path / "file"
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asked = address.replace("{}", f"127.0.0.1:{server.server_address[1]}")
        try:
            download(asked, path, hashlib.sha256(BODY).hexdigest(), config=CONFIG)
        except (OSError, ValueError) as error:  # what the commands tell in one sentence
            said = str(error)
        server.shutdown()
    assert path.exists() == (not told)
    assert re.search(told, said)
    assert not said or said.startswith(asked.partition("://")[0] + "://")
    assert said == printable(said) and "hun/ter" not in said
    assert sum(file.stat().st_size for file in tmp_path.glob("*")) <= MOST_BYTES
