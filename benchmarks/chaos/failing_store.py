"""An S3 of this machine that answers one call in so many with a failure."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

BUCKET = "treeviews"
REFUSED, BROKEN, CUT = "403 Forbidden", "500 Internal Server Error", "answer cut off"
FAULTS = (REFUSED, BROKEN, CUT)
"""A client tries the last two again by itself."""
_KEYS = {
    "AWS_ACCESS_KEY_ID": "of-no-account",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_ERROR = "<Error><Code>{code}</Code><Message>It fails on purpose.</Message></Error>"

Respond = Callable[..., Any]
Application = Callable[[Mapping[str, Any], Respond], Iterable[bytes]]


class FailingStore:
    """A store whose calls fail by chance while `share` is above 0."""

    def __init__(self, application: Application, chance: random.Random) -> None:
        self.share = 0.0
        """Of the calls that fail."""
        self.calls = 0
        self.failed: Counter[str] = Counter()
        self.address = ""
        self._application, self._chance, self._lock = application, chance, threading.Lock()

    def __call__(self, environment: Mapping[str, Any], respond: Respond) -> Iterable[bytes]:
        """Answers a call, as a server of WSGI has it."""
        with self._lock:
            self.calls += 1
            fails = self._chance.random() < self.share
            fault = self._chance.choice(FAULTS) if fails else ""
            self.failed[fault] += 1
        if not fault:
            return self._application(environment, respond)
        if fault == CUT:
            return self._cut_off(environment, respond)
        body = _ERROR.format(code="AccessDenied" if fault == REFUSED else "InternalError").encode()
        headers = [("Content-Length", str(len(body))), ("Content-Type", "application/xml")]
        respond(fault, headers)
        return [body]

    def _cut_off(self, environment: Mapping[str, Any], respond: Respond) -> Iterator[bytes]:
        """Ends the connection: after half of what is read, before anything is written."""
        if environment["REQUEST_METHOD"] == "GET":
            body = b"".join(self._application(environment, respond))
            yield body[: len(body) // 2]
        raise ConnectionResetError

    @property
    def num_failed(self) -> int:
        """How many calls have failed so far."""
        return sum(self.failed[fault] for fault in FAULTS)

    def so_far(self) -> str:
        """Returns how many calls there were and how many failed in which way."""
        faults = ", ".join(f"{fault} {self.failed[fault]}" for fault in FAULTS)
        return f"of {self.calls} calls: {faults}"


@contextmanager
def failing_store(chance: random.Random) -> Iterator[FailingStore]:
    """Runs a store for the time of a ``with`` block; nothing fails before `share` is set.

    Raises:
        ModuleNotFoundError: moto is not installed.
    """
    from moto.server import DomainDispatcherApplication, create_backend_app
    from pyarrow import fs
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Silent(WSGIRequestHandler):
        def log(self, *arguments: Any) -> None:
            """Keeps a line a call from the terminal."""

    store = FailingStore(DomainDispatcherApplication(create_backend_app), chance)
    server = make_server("127.0.0.1", 0, store, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    settings = f"endpoint_override=127.0.0.1:{server.server_port}&scheme=http&region=us-east-1"
    store.address = f"s3://{BUCKET}/prefix?{settings}"
    before = {name: os.environ.get(name) for name in _KEYS}
    os.environ.update(_KEYS)
    try:
        creating = f"s3://{BUCKET}?{settings}&allow_bucket_creation=true"
        files, path = fs.FileSystem.from_uri(creating)
        files.create_dir(path)
        yield store
    finally:
        server.shutdown()
        thread.join()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
