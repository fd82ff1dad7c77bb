"""Files downloaded from a server of this machine that fails in every way."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.download_server import DownloadServer, serving
from treeviews.pipeline.downloads.download import DownloadConfig, DownloadError, download

CONTENT = b"".join(b"line %d of the file\n" % number for number in range(20_000))
OTHER = b"".join(b"line %d of another\n" % number for number in range(20_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()
IMPATIENT = DownloadConfig(attempts=3, timeout_seconds=0.5, backoff_seconds=0.01)


@pytest.fixture
def server() -> Iterator[DownloadServer]:
    with serving({"corpus.txt": CONTENT}) as running:
        yield running


def fetch(server: DownloadServer, folder: Path, sha256: str | None = SHA256, **named: Any) -> bytes:
    url = f"{server.address}/corpus.txt"
    named = {"config": IMPATIENT, **named}
    return download(url, folder / "corpus.txt", sha256, **named).read_bytes()


def test_a_file_is_fetched_once_and_leaves_nothing_beside_it(
    server: DownloadServer, tmp_path: Path
) -> None:
    for _ in range(2):
        assert fetch(server, tmp_path) == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]
    assert len(server.requests) == 1


def test_a_full_disk_is_named_by_the_file(
    server: DownloadServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left") as raised:
        fetch(server, tmp_path)
    assert raised.value.filename == str(tmp_path / "corpus.txt.part")


def test_a_cut_connection_is_resumed_by_range(server: DownloadServer, tmp_path: Path) -> None:
    progress: list[tuple[float, str]] = []
    server.script = ["cut:1000", "cut:500"]
    assert fetch(server, tmp_path, on_progress=lambda *said: progress.append(said)) == CONTENT
    asked = [request.get("Range") for request in server.requests]
    assert asked == [None, "bytes=1000-", "bytes=1500-"]
    assert progress[-1] == (1, "0.4 of 0.4 MB downloaded")


@pytest.mark.parametrize("sha256", [SHA256, None])
@pytest.mark.parametrize(
    "script",
    [
        *(["500"], ["503", "cut:1000", "429"], ["stall:1000"], ["to:corpus.txt"]),
        *(["cut:1000", step] for step in ("whole", "short:500", "sizeless:500", "placeless")),
        ["cut:1000", "shifted:10"],
    ],
)
def test_a_server_that_falters_gives_the_whole_file_in_the_end(
    server: DownloadServer, tmp_path: Path, script: list[str], sha256: str | None
) -> None:
    server.script = script
    assert fetch(server, tmp_path, sha256) == CONTENT


def leave_part(server: DownloadServer, folder: Path, sha256: str | None = SHA256) -> None:
    server.script = ["cut:1000", "500", "500", "500"]
    remedy = "1,000 bytes are kept" if sha256 else "without a sha256 it then starts over$"
    with pytest.raises(DownloadError, match=f"gave up after 3 attempts.*{remedy}"):
        fetch(server, folder, sha256)


@pytest.mark.parametrize("part", [CONTENT[:1000], CONTENT, b"x" * 1000])
def test_a_later_run_goes_on_with_the_part_unless_its_bytes_are_wrong(
    server: DownloadServer, tmp_path: Path, part: bytes
) -> None:
    leave_part(server, tmp_path)
    (tmp_path / "corpus.txt.part").write_bytes(part)
    assert fetch(server, tmp_path) == CONTENT
    assert server.requests[4]["Range"] == f"bytes={len(part)}-"


def test_a_part_is_not_continued_by_what_may_be_another_version(
    server: DownloadServer, tmp_path: Path
) -> None:
    leave_part(server, tmp_path, None)
    server.files["corpus.txt"] = OTHER
    assert fetch(server, tmp_path, None) == OTHER
    assert not any("Range" in request for request in server.requests)


@pytest.mark.parametrize(
    ("script", "changes", "error", "reason"),
    [
        (["404"], {}, DownloadError, "corpus.txt: HTTP 404 .*; there is no such file: check the"),
        (["403"], {}, DownloadError, "HTTP 403 .*; .*download it yourself"),
        (["416"], {}, DownloadError, "HTTP 416"),
        (["wrong"], {}, ValueError, f"sha256 is [0-9a-f]{{64}}, expected {SHA256}; the file was"),
        ([], {"max_bytes": 1000}, ValueError, "longer than the 1,000 bytes"),
        (["endless"], {"max_bytes": 1000}, ValueError, "longer than the 1,000 bytes"),
    ],
)
def test_what_is_refused_at_once_leaves_nothing(
    server: DownloadServer,
    tmp_path: Path,
    script: list[str],
    changes: dict[str, int],
    error: type[Exception],
    reason: str,
) -> None:
    server.script = script
    with pytest.raises(error, match=reason):
        fetch(server, tmp_path, config=DownloadConfig(attempts=3, **changes))
    assert len(server.requests) == 1 and list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("sha256", [SHA256, None])
def test_a_web_page_is_not_taken_for_the_file(
    server: DownloadServer, tmp_path: Path, sha256: str | None
) -> None:
    server.files["corpus.txt"] = b"<!DOCTYPE html>\n<html>Please log in</html>"
    with pytest.raises(ValueError, match=r"corpus\.txt: the server sent a web page"):
        fetch(server, tmp_path, sha256)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("CERTIFICATE_VERIFY_FAILED] self-signed", "after 1 attempt .*certificates and clock"),
        ("UNEXPECTED_EOF_WHILE_READING] EOF occurred", "after 3 attempts .*run it again later"),
    ],
)
def test_an_untrusted_certificate_is_told_at_once_and_a_cut_handshake_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, said: str
) -> None:
    import requests

    def refused(url: str, **named: Any) -> None:
        raise requests.exceptions.SSLError(f"[SSL: {fault}")

    monkeypatch.setattr(requests, "get", refused)
    with pytest.raises(DownloadError, match=said):
        download("https://127.0.0.1:9/x", tmp_path / "x", SHA256, config=IMPATIENT)


@pytest.mark.parametrize(
    ("url", "sha256", "reason"),
    [
        ("file:///etc/hosts", SHA256, "not an http or https address"),
        ("http://127.0.0.1/x", "abc", "not 64 hexadecimal digits; compute it"),
        ("http://127.0.0.1/a b", SHA256, "percent-encode spaces"),
        ("http://", SHA256, "host or port is malformed"),
        ("http://user:pa/ss@127.0.0.1/x", SHA256, r"^http://\*\*\*@127.0.0.1/x: "),
    ],
)
def test_malformed_arguments_are_errors(
    tmp_path: Path, url: str, sha256: str | None, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        download(url, tmp_path / "x", sha256)


def test_a_login_is_sent_to_its_server_alone_and_stands_in_no_error(
    server: DownloadServer, tmp_path: Path
) -> None:
    server.authorization = "Basic " + base64.b64encode(b"user:p@ss").decode()
    server.files["corpus.txt?token=abc"] = CONTENT
    address = f"{server.address.replace('://', '://user:p%40ss@')}/corpus.txt?token=abc"
    with serving({"corpus.txt": CONTENT}) as other:
        server.script = ["cut:1000", f"away:{other.address}/corpus.txt"]
        path = download(address, tmp_path / "a", SHA256, config=IMPATIENT)
        assert path.read_bytes() == CONTENT
        assert "Authorization" not in other.requests[0]
    assert server.requests[1]["Authorization"] == server.authorization

    server.script = ["cut:1000", "500", "404"]
    with pytest.raises(DownloadError, match="HTTP 404") as refused:
        download(address, tmp_path / "b", SHA256, config=IMPATIENT)
    said = str(refused.value) + "".join(path.name for path in tmp_path.iterdir())
    assert "p%40ss" not in said and "abc" not in said
