"""Hostile addresses and servers on 127.0.0.1: refused with address and reason, or taken whole.

Each download is asked for with its right sha256, so whatever is taken is the file; and none takes
longer, fills more of the disk or tells more of a password than it may.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.chaos.parts.hostile_texts import within
from benchmarks.chaos.trial import Options, Trial
from pipeline.base.foreign_text import printable
from pipeline.downloads.download import DownloadConfig, download

BODY = b"".join(b"line %d of the file\n" % number for number in range(2_000))
SHA256 = hashlib.sha256(BODY).hexdigest()
MOST_SECONDS = 60.0
MOST_BYTES = 1 << 20
CONFIG = DownloadConfig(
    attempts=3,
    timeout_seconds=1.0,
    backoff_seconds=0.01,
    max_bytes=MOST_BYTES,
    pace_seconds=0.5,
)
EVERY_IN_QUICK = 3

Answer = Callable[[socket.socket, bytes], None]
"""Answers a request, given the socket and the request's bytes."""


@dataclass(frozen=True, slots=True)
class HostileAddress:
    """One line of the table."""

    what: str
    address: str
    """``{}`` stands for the server's host and port."""
    told: str
    """A pattern of the error; empty where the file must be taken."""
    answer: Answer | None = None


def _sent(*blocks: bytes) -> Answer:
    return lambda stream, _: stream.sendall(b"".join(blocks))


def _whole(*headers: bytes, body: bytes = BODY) -> Answer:
    lines = [b"HTTP/1.1 200 OK", *headers]
    return _sent(b"\r\n".join(lines), b"\r\n\r\n", body)


def _endless(start: bytes, block: bytes, pause: float = 0.0) -> Answer:
    def answer(stream: socket.socket, _: bytes) -> None:
        stream.sendall(start)
        while True:
            stream.sendall(block)
            time.sleep(pause)

    return answer


def _redirect(place: bytes) -> Answer:
    return _sent(b"HTTP/1.1 302 Found\r\nLocation: ", place, b"\r\nContent-Length: 0\r\n\r\n")


def _for_login(stream: socket.socket, request: bytes) -> None:
    login = b"Authorization: Basic dXNlcjpodW50ZXIy" in request  # user:hunter2
    _whole()(stream, request) if login else _sent(b"HTTP/1.1 401 No\r\n\r\n")(stream, request)


def _lying_range(stream: socket.socket, request: bytes) -> None:
    """Cuts the first answer; answers ranges with bytes from elsewhere."""
    if b"Range: bytes=" in request:
        head = b"HTTP/1.1 206 Partial\r\nContent-Range: bytes 7-99/100\r\n\r\n"
        _sent(head, BODY[7:100])(stream, request)
    else:
        _cut(stream, request)


def _cut(stream: socket.socket, request: bytes) -> None:
    del request
    head = b'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: %d\r\n\r\n' % len(BODY)
    stream.sendall(head + BODY[:1000])


_OK = b"HTTP/1.1 200 OK\r\n"
_LENGTH = b"Content-Length: %d" % len(BODY)
# fmt: off
# ruff: noqa: E501
ADDRESSES: tuple[HostileAddress, ...] = (
    HostileAddress("a well-behaved server", "http://{}/file", "", _whole(_LENGTH)),
    HostileAddress("a login", "http://user:hunter2@{}/file", "", _for_login),
    HostileAddress("a wrong login", "http://user:hunter3@{}/file", "HTTP 401", _for_login),
    HostileAddress("a login with a slash", "http://user:hun/ter2@{}/file", "host or port is malformed"),
    HostileAddress("a space", "http://{}/the file", "holds ' '"),
    HostileAddress("control characters", "http://{}/file\x1b[2J\r\nHost: other", r"holds '\\x1b'"),
    HostileAddress("letters beyond ASCII", "http://{}/café", "percent-encode"),
    HostileAddress("another kind of address", "ftp://{}/file", "not an http or https address"),
    HostileAddress("a local file", "file:///etc/hostname", "not an http or https address"),
    HostileAddress("a port that is none", "http://127.0.0.1:99999/file", "host or port is malformed"),
    HostileAddress("a host of empty labels", "http://a..b/file", "host or port is malformed"),
    HostileAddress("an open bracket", "http://[::1/file", "host or port is malformed"),
    HostileAddress("two dots at the end", "http://{}/..", "", _whole(_LENGTH)),
    HostileAddress("nobody who listens", "http://127.0.0.1:9/file", "gave up after 3 attempts"),
    HostileAddress("an endless body", "http://{}/file", "longer than the 1,048,576 bytes", _endless(_OK + b"\r\n", b"x" * 65536)),
    HostileAddress("an endless body in chunks", "http://{}/file", "longer than the 1,048,576 bytes", _endless(_OK + b"Transfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n")),
    HostileAddress("a length of a petabyte", "http://{}/file", "longer than the 1,048,576 bytes", _whole(b"Content-Length: 1000000000000000")),
    HostileAddress("a byte each hundredth of a second", "http://{}/file", "waited for", _endless(_OK + b"\r\n", b"x", 0.01)),
    HostileAddress("a head, a byte each hundredth of a second", "http://{}/file", "waited for", _endless(_OK + b"X: ", b"x", 0.01)),
    HostileAddress("a server that says nothing", "http://{}/file", "gave up after 3 attempts", lambda stream, _: time.sleep(5)),
    HostileAddress("an endless row of interim answers", "http://{}/file", "gave up after 3 attempts", _endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n")),
    HostileAddress("an endless row of headers", "http://{}/file", "gave up after 3 attempts", _endless(_OK, b"X: y\r\n")),
    HostileAddress("a header without an end", "http://{}/file", "gave up after 3 attempts", _endless(_OK + b"X: ", b"x" * 65536)),
    HostileAddress("a redirect to FTP", "http://{}/file", "HTTP 302", _redirect(b"ftp://127.0.0.1/file")),
    HostileAddress("a redirect to a local file", "http://{}/file", "HTTP 302", _redirect(b"file:///etc/hostname")),
    HostileAddress("a redirect to itself", "http://{}/file", "infinite loop", _redirect(b"/file")),
    HostileAddress("a redirect to what is no address", "http://{}/file", "HTTP 302", _redirect(b"http://[")),
    HostileAddress("more bytes than announced", "http://{}/file", "", _whole(_LENGTH, body=BODY + b"more")),
    HostileAddress("fewer bytes than announced", "http://{}/file", "gave up after 3 attempts", _cut),
    HostileAddress("a length that is no number", "http://{}/file", "Content-Length is", _whole(b"Content-Length: \x1b[31m")),
    HostileAddress("a negative length", "http://{}/file", "Content-Length is", _whole(b"Content-Length: -5")),
    HostileAddress("a length of 5,000 digits", "http://{}/file", "Content-Length is", _whole(b"Content-Length: " + b"9" * 5000)),
    HostileAddress("a chunk of negative length", "http://{}/file", "longer than|gave up|sha256 is", _endless(_OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n", b"x" * 65536)),
    HostileAddress("ranges of other bytes", "http://{}/file", "not asked for|gave up", _lying_range),
    HostileAddress("a compressed body that nobody asked for", "http://{}/file", "sha256 is", _whole(b"Content-Encoding: gzip", body=gzip.compress(bytes(64 << 20)))),
    HostileAddress("other bytes of the same length", "http://{}/file", "sha256 is", _whole(_LENGTH, body=BODY[::-1])),
    HostileAddress("no HTTP at all", "http://{}/file", "gave up after 3 attempts", _sent(b"\x1b]0;title\x07\0\0\0\n" * 3)),
    HostileAddress("a reason with an escape", "http://{}/file", r"HTTP 403 \\x1b", _sent(b"HTTP/1.1 403 \x1b[2J\r\n\r\n")),
)
# fmt: on


def trials(options: Options) -> Iterator[Trial]:
    """Yields a trial an address."""
    for number, one in enumerate(ADDRESSES[:: EVERY_IN_QUICK if options.quick else 1]):
        with _serving(one.answer) as place:
            yield _tried(one, one.address.replace("{}", place), options.work / str(number))


def _tried(one: HostileAddress, address: str, folder: Path) -> Trial:
    path = folder / "file"
    try:
        within(MOST_SECONDS, lambda: download(address, path, SHA256, config=CONFIG))
        said = ""
    except (OSError, ValueError) as error:  # what the commands tell in one sentence
        said = str(error)
    except Exception as error:
        said = f"not foreseen: {type(error).__name__}: {error}"
    problems = []
    if one.told and not re.search(one.told, said):
        problems.append(f"{one.told!r} was to be said")
    if bool(one.told) == path.exists():
        problems.append("taken" if path.exists() else "not taken")
    if said and not said.startswith(("http://", "ftp://", "file://")):
        problems.append("the address is not named")
    if said != printable(said) or re.search(r"hunter[23]|hun/ter", said):
        problems.append("control characters or a password are told")
    if sum(file.stat().st_size for file in folder.glob("*")) > MOST_BYTES:
        problems.append("more was kept than is allowed")
    return Trial(one.what, not problems, printable("; ".join([said or "taken", *problems])))


@contextmanager
def _serving(answer: Answer | None) -> Iterator[str]:
    """Gives the host and port of a server that answers every request so; without, of nobody."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = f"127.0.0.1:{server.getsockname()[1]}"
        if answer is not None:
            threading.Thread(target=_serve, args=(server, answer), daemon=True).start()
        yield place


def _serve(server: socket.socket, answer: Answer) -> None:
    with suppress(OSError):  # the trial is over
        while True:
            stream, _ = server.accept()
            threading.Thread(target=_answered, args=(stream, answer), daemon=True).start()


def _answered(stream: socket.socket, answer: Answer) -> None:
    with suppress(OSError), stream:
        stream.settimeout(MOST_SECONDS)
        request = b""
        while b"\r\n\r\n" not in request and (block := stream.recv(65536)):
            request += block
        answer(stream, request)
