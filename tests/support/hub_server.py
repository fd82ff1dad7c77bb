"""A hub on this machine that speaks as much of Hugging Face's language as models need."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

TEXTS = ("*.json", "*.md", "*.txt")


@dataclass
class Repository:
    """Its commits, oldest first, and the files of each."""

    private: bool = False
    commits: list[str] = field(default_factory=list)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def commit(self, files: dict[str, bytes]) -> str:
        """Makes these files the newest commit."""
        number = hashlib.sha1(repr((len(self.commits), sorted(files))).encode()).hexdigest()
        self.commits.append(number)
        self.files[number] = files
        return number

    def resolved(self, revision: str) -> str | None:
        """Returns the commit that a revision names."""
        if revision == "main":
            return self.commits[-1] if self.commits else None
        return revision if revision in self.files else None


class HubServer:
    """Keeps repositories in memory; large files come by LFS, as the hub has it."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.blobs: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.tokens: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def do_HEAD(self) -> None:
                outer.answer(self)

            def do_POST(self) -> None:
                outer.answer(self)

            def do_PUT(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.http.server_port}"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answers one request."""
        path = unquote(urlsplit(handler.path).path).strip("/")
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length)
        self.requests.append(f"{handler.command} /{path}")
        self.tokens.append(handler.headers.get("Authorization"))
        if handler.command == "PUT" and path.startswith("lfs/"):
            self.blobs[path.removeprefix("lfs/")] = body
            _send(handler, 200, b"")
        elif path == "api/validate-yaml":
            _send_json(handler, 200, {"errors": [], "warnings": []})
        elif path == "api/repos/create":
            self._create(handler, json.loads(body))
        elif path.endswith(".git/info/lfs/objects/batch"):
            self._batch(handler, json.loads(body))
        elif path.startswith("api/models/"):
            self._of_model(handler, path.removeprefix("api/models/"), body)
        else:
            owner, name, _, revision, *rest = path.split("/")
            self._file(handler, f"{owner}/{name}", revision, "/".join(rest))

    def _create(self, handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        if name in self.repositories:
            _send_json(handler, 409, {"url": f"{self.address}/{name}"})
            return
        self.repositories[name] = Repository(private=bool(asked.get("private")))
        self.repositories[name].commit({".gitattributes": b""})
        _send_json(handler, 200, {"url": f"{self.address}/{name}", "name": name})

    def _batch(self, handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        objects = [
            {
                **one,
                "actions": {"upload": {"href": f"{self.address}/lfs/{one['oid']}"}},
            }
            for one in asked["objects"]
        ]
        _send_json(handler, 200, {"transfer": "basic", "objects": objects})

    def _of_model(self, handler: BaseHTTPRequestHandler, path: str, body: bytes) -> None:
        owner, name, *rest = path.split("/")
        repository = self.repositories.get(f"{owner}/{name}")
        kind, revision = (rest[0], rest[1]) if len(rest) > 1 else ("revision", "main")
        commit = repository.resolved(revision) if repository else None
        if repository is None or commit is None:
            missing = "RepoNotFound" if repository is None else "RevisionNotFound"
            _send_json(handler, 404, {"error": "no"}, {"X-Error-Code": missing})
        elif kind == "preupload":
            asked = json.loads(body)["files"]
            modes = {one["path"]: "regular" if _is_text(one["path"]) else "lfs" for one in asked}
            files = [
                {"path": path, "uploadMode": mode, "shouldIgnore": False}
                for path, mode in modes.items()
            ]
            _send_json(handler, 200, {"files": files})
        elif kind == "commit":
            self._commit(handler, repository, body)
        else:
            siblings = [{"rfilename": path} for path in sorted(repository.files[commit])]
            value = {"id": f"{owner}/{name}", "sha": commit, "siblings": siblings}
            _send_json(handler, 200, {**value, "private": repository.private})

    def _commit(self, handler: BaseHTTPRequestHandler, repository: Repository, body: bytes) -> None:
        files = dict(repository.files[repository.commits[-1]])
        for line in body.decode().splitlines():
            entry = json.loads(line)
            value = entry["value"]
            if entry["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif entry["key"] == "lfsFile":
                files[value["path"]] = self.blobs[value["oid"]]
        commit = repository.commit(files)
        url = f"{self.address}/me/it/commit/{commit}"
        _send_json(handler, 200, {"commitUrl": url, "commitOid": commit, "success": True})

    def _file(self, handler: BaseHTTPRequestHandler, repo: str, revision: str, path: str) -> None:
        repository = self.repositories.get(repo)
        commit = repository.resolved(revision) if repository else None
        if repository is None or commit is None or path not in repository.files[commit]:
            _send(handler, 404, b"", {"X-Error-Code": "EntryNotFound"})
            return
        content = repository.files[commit][path]
        etag = hashlib.sha256(content).hexdigest()
        _send(handler, 200, content, {"ETag": f'"{etag}"', "X-Repo-Commit": commit})


def _is_text(path: str) -> bool:
    return any(fnmatch(path, pattern) for pattern in TEXTS)


def _send_json(
    handler: BaseHTTPRequestHandler,
    status: int,
    value: Any,
    headers: dict[str, str] | None = None,
) -> None:
    content = json.dumps(value).encode()
    _send(handler, status, content, {"Content-Type": "application/json", **(headers or {})})


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    content: bytes,
    headers: dict[str, str] | None = None,
) -> None:
    handler.send_response(status)
    for name, value in (headers or {}).items():
        handler.send_header(name, value)
    handler.send_header("Content-Length", str(len(content)))
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(content)


@contextmanager
def hub() -> Iterator[HubServer]:
    """Runs a hub for the time of a ``with`` block."""
    server = HubServer()
    threading.Thread(target=server.http.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
