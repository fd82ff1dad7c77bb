"""A scripted HTTP server on this machine for the tests of downloads."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class DownloadServer:
    """Serves named files; each request consumes one step of a script, and then it behaves well.

    Steps: a status to send, ``cut:N`` (N bytes, then the connection ends), ``stall:N`` (N bytes,
    then silence), ``wrong`` (other bytes of the same length), ``whole`` (ignores ranges),
    ``endless`` (no length announced, more and more bytes), ``to:PATH``, ``away:URL`` (redirects).
    Of answers to ranges: ``short:N`` (N bytes of the rest, announced as such), ``sizeless:N`` (the
    same without the file's length), ``placeless`` (no Content-Range), ``shifted:N`` (from N bytes
    later).
    """

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.script: list[str] = []
        """Steps for requests of any file, after those of `scripts`."""
        self.scripts: dict[str, list[str]] = {}
        """Steps for requests of one file, by its path."""
        self.requests: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.etag: str | None = '"one"'
        self.knows_ranges = True
        self.authorization: str | None = None
        """The header without which nothing is given."""
        self.released = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answers one request as the script says."""
        path = handler.path.lstrip("/")
        self.requests.append(dict(handler.headers))
        self.paths.append(path)
        script = self.scripts.get(path) or self.script
        kind, _, amount = (script.pop(0) if script else "good").partition(":")
        if kind.isdigit():
            handler.send_error(int(kind))
        elif kind == "to":
            handler.send_response(302)
            handler.send_header("Location", f"{self.address}/{amount}")
            handler.end_headers()
        elif kind == "away":
            handler.send_response(302)
            handler.send_header("Location", amount)
            handler.end_headers()
        elif self.authorization not in (None, handler.headers.get("Authorization")):
            handler.send_error(401)
        elif path not in self.files:
            handler.send_error(404)
        elif kind == "endless":
            handler.send_response(200)
            handler.end_headers()
            handler.wfile.write(b"x" * (1 << 20))
        else:
            self._send(handler, self.files[path], kind, int(amount) if amount else None)

    def _send(
        self, handler: BaseHTTPRequestHandler, body: bytes, kind: str, amount: int | None
    ) -> None:
        start, stop, wanted = 0, len(body), handler.headers.get("Range")
        current = handler.headers.get("If-Range") in (None, self.etag)
        if wanted and kind != "whole" and self.knows_ranges and current:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
        if start >= len(body):
            handler.send_response(416)
            handler.send_header("Content-Range", f"bytes */{len(body)}")
            handler.end_headers()
            return
        if kind == "shifted" and amount:
            start, amount = start + amount, None
        if kind in ("short", "sizeless") and amount:
            stop = start + amount
        handler.send_response(206 if start else 200)
        if start and kind != "placeless":
            size = "*" if kind == "sizeless" else str(len(body))
            handler.send_header("Content-Range", f"bytes {start}-{stop - 1}/{size}")
        handler.send_header("Content-Length", str(stop - start))
        if self.etag:
            handler.send_header("ETag", self.etag)
        handler.end_headers()
        body = bytes(reversed(body)) if kind == "wrong" else body[start:stop]
        handler.wfile.write(body[:amount])
        if kind == "stall":
            handler.wfile.flush()
            self.released.wait(10)


@contextmanager
def serving(files: Mapping[str, bytes]) -> Iterator[DownloadServer]:
    """Runs a server of these files for the time of a ``with`` block."""
    server = DownloadServer(files)
    threading.Thread(target=server.http.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.released.set()
        server.http.shutdown()
        server.http.server_close()
