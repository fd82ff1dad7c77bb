"""Downloads one file over HTTP: goes on where it broke off, and trusts nothing but the sha256.

Where no sha256 is known, ``sha256=None`` takes what comes, and the caller judges it.

What has arrived waits in ``NAME.part``, with the server's entity tag in ``NAME.part.json``. A part
is continued by a range request that the server answers with the rest (206) or, if the file has
changed or it knows no ranges, with the whole file (200), which then starts over. Only a strong tag
says that two answers are of the same bytes, so without one a part is not continued (RFC 9110,
sections 8.8.3 and 13.1.5).
"""

from __future__ import annotations

import http.client
import json
import os
import re
import ssl
import time
import urllib.error
from dataclasses import dataclass
from pathlib import Path

from pipeline.base.digest import sha256_of_file
from pipeline.base.foreign_text import printable, told, without_secrets
from pipeline.base.job import Progress
from pipeline.downloads.connection import ask, check_address

_BLOCK_BYTES = 1 << 16
_RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_RETRIED_ERRORS = (
    urllib.error.URLError,
    http.client.HTTPException,
    ConnectionError,
    TimeoutError,
    ssl.SSLError,
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})")
_SHOWN_CHARACTERS = 100
"""Of what a server said, in an error."""
MAX_BYTES = 10_000_000_000
"""Longest file that is taken unless somebody says otherwise."""


class DownloadError(OSError):
    """A file could not be downloaded; the message names the address and what to do."""


class UnreachableError(DownloadError):
    """The server never answered: no file of its is to be had at present."""


class _IncompleteError(http.client.HTTPException):
    """An answer holds not all of the file that was asked for, or something else."""


@dataclass(frozen=True, slots=True)
class DownloadConfig:
    """How patient a download is."""

    attempts: int = 6
    """Attempts in a row that get no further than an earlier one before giving up."""
    timeout_seconds: float = 30.0
    """Longest silence of the server."""
    backoff_seconds: float = 1.0
    """Pause before the second attempt; doubles with each further one."""
    max_backoff_seconds: float = 60.0
    max_bytes: int = MAX_BYTES
    """Longest file that is taken."""


def download(
    url: str,
    destination: Path,
    sha256: str | None,
    *,
    config: DownloadConfig | None = None,
    on_progress: Progress | None = None,
) -> Path:
    """Downloads ``url`` to ``destination``, which appears whole and verified or not at all.

    Args:
        sha256: of the file, in hexadecimal; None where it is unknown, and whatever comes is taken.
        on_progress: called as bytes arrive.

    Returns:
        ``destination``; at once where the right file is there already, or any without a sha256.

    Raises:
        ValueError: the address or sha256 is malformed, the destination is a folder, or the file has
            another sha256 or is longer than the configuration allows.
        DownloadError: the server refuses or keeps failing; what has arrived is kept. An
            `UnreachableError` where it never answered.
    """
    _check_arguments(url, destination, sha256)
    sha256 = sha256 and sha256.lower()
    config = config or DownloadConfig()
    if destination.exists() and (sha256 is None or sha256_of_file(destination) == sha256):
        return destination
    destination.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(destination.with_name(f"{destination.name}.part"))
    while True:
        resumed = part.size > 0
        _fetch_patiently(url, part, config, on_progress)
        if sha256 is None or (found := sha256_of_file(part.path)) == sha256:
            part.path.replace(destination)
            part.discard()
            return destination
        part.discard()
        if not resumed:  # a part from an earlier run may have been of another file: once more
            raise ValueError(
                f"{told(url)}: sha256 is {found}, expected {sha256}; the file was changed or is "
                "not the one you mean: check the address, then the sha256"
            )


def _check_arguments(url: str, destination: Path, sha256: str | None) -> None:
    check_address(url)
    if destination.name in {"", ".."} or destination.is_dir():
        raise ValueError(f"{told(destination)}: is a folder; give the name of a file")
    if sha256 is not None:
        check_sha256(url, sha256)


def check_sha256(url: str, sha256: str) -> None:
    """Refuses what is no sha256 of a file.

    Args:
        url: of the file, for the message.
        sha256: that was given for it.

    Raises:
        ValueError: it is none; says how to get one.
    """
    if not _SHA256.fullmatch(sha256.lower()):
        raise ValueError(
            f"{told(url)}: sha256 is {sha256!r}, not 64 hexadecimal digits; compute it from a copy "
            "you trust with `sha256sum FILE`"
        )


class _Part:
    """What has arrived of a file, and the entity tag of the version it belongs to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tag_path = path.with_name(f"{path.name}.json")

    @property
    def size(self) -> int:
        """Bytes that have arrived."""
        return self.path.stat().st_size if self.path.exists() else 0

    def tag(self, url: str) -> str | None:
        """Returns the strong entity tag that the server gave for this address, if any."""
        try:
            noted = json.loads(self._tag_path.read_text(encoding="utf-8"))
            return str(noted["tag"]) if noted["url"] == without_secrets(url) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def note_tag(self, url: str, tag: str) -> None:
        """Keeps a tag for a later run, which may have another token; a weak one says nothing."""
        is_strong = tag.startswith('"') and tag.isascii() and tag == printable(tag)
        noted = {"url": without_secrets(url), "tag": tag} if is_strong else {}
        self._tag_path.write_text(json.dumps(noted), encoding="utf-8")

    def discard(self) -> None:
        """Removes what has arrived."""
        self.path.unlink(missing_ok=True)
        self._tag_path.unlink(missing_ok=True)


def _fetch_patiently(
    url: str, part: _Part, config: DownloadConfig, on_progress: Progress | None
) -> None:
    """Completes the part, trying again while the server falters.

    Only what no attempt had reached before counts as progress: a server whose file cannot be
    continued starts over each time, and may break off earlier or later for ever.
    """
    failures, reached = 0, part.size
    while True:
        try:
            _fetch(url, part, config, on_progress)
            return
        except urllib.error.HTTPError as error:
            if error.code not in _RETRIED_STATUS:
                raise DownloadError(_refusal(url, error)) from error
            fault: Exception = error
        except _RETRIED_ERRORS as error:
            if isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError):
                raise DownloadError(
                    f"{told(url)}: the server's certificate is not trusted ({error}); check the "
                    "address and this machine's certificates and clock"
                ) from error
            fault = error
        failures = 1 if part.size > reached else failures + 1
        reached = max(reached, part.size)
        if failures >= config.attempts:
            answered = part.size or isinstance(fault, urllib.error.HTTPError | _IncompleteError)
            kind = DownloadError if answered else UnreachableError
            raise kind(
                f"{told(url)}: gave up after {failures} attempts that got no further "
                f"({told(fault)[:_SHOWN_CHARACTERS]}); "
                f"{part.size:,} bytes are kept, so run it again later to go on"
            ) from fault
        pause = config.backoff_seconds * 2 ** (failures - 1)
        time.sleep(min(pause, config.max_backoff_seconds))


def _refusal(url: str, error: urllib.error.HTTPError) -> str:
    remedy = {
        401: "the server asks for a login: download it yourself and name your copy",
        403: "the server forbids it: download it yourself and name your copy",
        404: "there is no such file: check the address",
        410: "the file is gone: find another address",
    }.get(error.code, "check the address in a browser")
    reason = told(" ".join(str(error.reason).split()))[:_SHOWN_CHARACTERS]  # cut, a login shows
    return f"{told(url)}: HTTP {error.code} {reason}; {remedy}"


def _fetch(url: str, part: _Part, config: DownloadConfig, on_progress: Progress | None) -> None:
    """Asks once for what is missing and appends what comes.

    Raises:
        HTTPError: a status other than success.
        HTTPException, OSError: the connection failed or ended early, or the answer is malformed.
        ValueError: the file is longer than the configuration allows.
    """
    headers = {"Accept-Encoding": "identity", "User-Agent": "treeviews"}
    tag = part.tag(url)
    if tag is None:
        part.discard()  # nothing says that the server still has the same file
    elif part.size:
        headers |= {"Range": f"bytes={part.size}-", "If-Range": tag}
    try:
        response = ask(url, headers, timeout_seconds=config.timeout_seconds)
    except urllib.error.HTTPError as error:
        if error.code != 416 or part.size == 0:
            raise
        part.discard()
        raise _IncompleteError("no bytes behind those that came") from error
    with response:
        total = response.length
        if response.status == 206:
            total = _total_behind(part.size, response)
            if total is None:
                part.discard()  # the next attempt asks for the whole file
                raise _IncompleteError("another part of the file than was asked for")
        else:
            part.discard()
            part.note_tag(url, response.headers.get("ETag", ""))
        _append(response, total, part, config.max_bytes, on_progress)


def _total_behind(num_bytes: int, response: http.client.HTTPResponse) -> int | None:
    """Returns the size of the file, of which an answer begins behind so many bytes; else None."""
    match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
    return int(match[2]) if match and int(match[1]) == num_bytes else None


def _append(
    response: http.client.HTTPResponse,
    total: int | None,
    part: _Part,
    max_bytes: int,
    on_progress: Progress | None,
) -> None:
    _check_length(total or 0, response, part, max_bytes)
    with part.path.open("ab") as stream:
        told_of = stream.tell()
        # Not `read`: asked for a block, it takes a chunk of negative length for all that comes.
        while block := response.read1(_BLOCK_BYTES):
            stream.write(block)
            arrived = stream.tell()
            _check_length(arrived, response, part, max_bytes)
            if on_progress is not None and (arrived - told_of >= _BLOCK_BYTES or arrived == total):
                told_of = arrived
                of_all = f" of {total / 1e6:,.1f}" if total else ""
                fraction = arrived / total if total else 0.0
                on_progress(fraction, f"{arrived / 1e6:,.1f}{of_all} MB downloaded")
        stream.flush()
        os.fsync(stream.fileno())
        arrived = stream.tell()
    if total is not None and arrived != total:
        raise _IncompleteError(f"{arrived:,} bytes of {total:,} came")


def _check_length(
    num_bytes: int, response: http.client.HTTPResponse, part: _Part, max_bytes: int
) -> None:
    """Refuses a file that is, or says it is, longer than any that could be meant."""
    if num_bytes > max_bytes:
        part.discard()
        raise ValueError(
            f"{told(response.url)}: longer than the {max_bytes:,} bytes that are taken at most; "
            "check the address and, where the file is so long, raise the limit (of a corpus "
            "--max-download-gigabytes)"
        )
