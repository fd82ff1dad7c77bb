"""Downloads one file over HTTP: goes on where it broke off, and trusts nothing but the sha256.

Where no sha256 is known, ``sha256=None`` takes what comes, and the caller judges it.

What has arrived waits in ``NAME.part``, with the server's validator in ``NAME.part.json``. A part
is continued by a range request that the server answers with the rest or some of it (206) or, if the
file has changed or it knows no ranges, with the whole file (200), which then starts over. Only a
strong validator says that two answers are of the same bytes, so without one a part is not continued
(RFC 9110, sections 8.8, 13.1.5, 14.4 and 15.3.7).
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
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import Path

from pipeline.base.digest import sha256_of_file
from pipeline.base.foreign_text import printable, told, without_secrets
from pipeline.base.job import Progress
from pipeline.downloads.connection import Pace, TooSlowError, ask, checked_address

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
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")
_SHOWN_CHARACTERS = 100
"""Of what a server said, in an error."""
MAX_BYTES = 10_000_000_000
"""Longest file that is taken unless somebody says otherwise."""

_SECONDS_UNTIL_STRONG = 60.0
"""So long unchanged when it was sent, a file's date tells its versions apart (RFC 9110, 8.8.2.2,
which asks for one second, and RFC 7232, 2.2.2, for this)."""


class DownloadError(OSError):
    """A file could not be downloaded; the message names the address and what to do."""


class UnreachableError(DownloadError):
    """The server never answered: no file of its is to be had at present."""


class _Malformed(http.client.HTTPException):
    """The answer's headers do not say what it holds, or say that it is not what was asked for."""


class _Truncated(http.client.HTTPException):
    """Not all of the file has come yet."""


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
    min_bytes_per_second: float = 1000.0
    """A body that comes slower is given up, whatever it still brings."""
    pace_seconds: float = 60.0
    """So long it may be slower."""

    @property
    def pace(self) -> Pace:
        """The slowest answer that is waited for."""
        return Pace(self.min_bytes_per_second, self.pace_seconds)


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
        DownloadError: the server refuses, keeps failing or trickles; what has arrived is kept. An
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
    checked_address(url)
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
    """What has arrived of a file, and the validator of the version it belongs to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._validator_path = path.with_name(f"{path.name}.json")

    @property
    def size(self) -> int:
        """Bytes that have arrived."""
        return self.path.stat().st_size if self.path.exists() else 0

    def validator(self, url: str) -> str | None:
        """Returns the strong entity tag or date that the server gave for this address, if any."""
        try:
            noted = json.loads(self._validator_path.read_text(encoding="utf-8"))
            return str(noted["validator"]) if noted["url"] == without_secrets(url) else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def note_validator(self, url: str, validator: str | None) -> None:
        """Keeps the validator for a later run, which may have another token."""
        noted = {"url": without_secrets(url), "validator": validator} if validator else {}
        self._validator_path.write_text(json.dumps(noted), encoding="utf-8")

    def discard(self) -> None:
        """Removes what has arrived."""
        self.path.unlink(missing_ok=True)
        self._validator_path.unlink(missing_ok=True)


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
        except TooSlowError as error:
            raise DownloadError(
                f"{told(url)}: the server sends {error}, less than the "
                f"{config.min_bytes_per_second:,.0f} a second that are waited for; "
                f"{part.size:,} bytes are kept, so run it again later, or take another address"
            ) from error
        failures = 1 if part.size > reached else failures + 1
        reached = max(reached, part.size)
        if failures >= config.attempts:
            answered = part.size or isinstance(fault, urllib.error.HTTPError | _Malformed)
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
    try:
        response = _open(url, part, config)
    except urllib.error.HTTPError as error:
        if error.code != 416 or part.size == 0:
            raise
        whole = error.headers.get("Content-Range") == f"bytes */{part.size}"
        if whole and not _is_another(error.headers, part.validator(url)):
            return
        part.discard()
        response = _open(url, part, config)
    with response:
        try:
            extent = _extent(response, part.size, part.validator(url))
        except _Malformed:
            part.discard()  # the next attempt asks for the whole file
            raise
        if extent.start == 0:
            part.discard()
            part.note_validator(url, _strong_validator(response.headers))
        _append(response, extent, part, config.max_bytes, on_progress)


def _open(url: str, part: _Part, config: DownloadConfig) -> http.client.HTTPResponse:
    headers = {"Accept-Encoding": "identity", "User-Agent": "treeviews"}
    validator = part.validator(url)
    if validator is None:
        part.discard()  # nothing says that the server still has the same file
    elif part.size:
        headers |= {"Range": f"bytes={part.size}-", "If-Range": validator}
    return ask(url, headers, timeout_seconds=config.timeout_seconds, pace=config.pace)


def _strong_validator(headers: Message) -> str | None:
    """Returns what tells this version's bytes from every other's: its tag, or its date if old."""
    tag: str = headers.get("ETag", "")
    if tag.startswith('"') and tag.isascii() and tag == printable(tag):  # a weak one begins W/
        return tag
    changed: str | None = headers.get("Last-Modified")
    try:
        age = parsedate_to_datetime(headers["Date"]) - parsedate_to_datetime(changed or "")
    except (TypeError, ValueError):  # one is missing or malformed
        return None
    return changed if age.total_seconds() >= _SECONDS_UNTIL_STRONG else None


def _is_another(headers: Message, validator: str | None) -> bool:
    """Returns whether an answer names another version; most do not name a date again."""
    name = "ETag" if validator is not None and validator.startswith('"') else "Last-Modified"
    return headers.get(name, validator) != validator


@dataclass(frozen=True, slots=True)
class _Extent:
    """Which bytes of the file an answer holds; None where it does not say."""

    start: int
    stop: int | None
    """Behind the last one."""
    total: int | None
    """Of the whole file."""


def _extent(response: http.client.HTTPResponse, num_bytes: int, validator: str | None) -> _Extent:
    """Returns which bytes an answer holds: from the file's first, or from ``num_bytes`` on.

    Raises:
        _Malformed: its headers do not say so or contradict themselves, or it is of other bytes than
            were asked for or of another version.
    """
    if response.status == 206:
        announced = response.headers.get("Content-Range", "")
        match = _RANGE.fullmatch(announced)
        if match is None:
            raise _Malformed(
                f"a part of the file without its place (Content-Range {_excerpt(announced)})"
            )
        start, stop = int(match.group(1)), int(match.group(2)) + 1
        total = None if match.group(3) == "*" else int(match.group(3))
        if stop <= start or (total is not None and stop > total):
            raise _Malformed(f"a part of the file at an impossible place ({announced})")
        if start not in (0, num_bytes):
            raise _Malformed(f"bytes from {start:,} on, which were not asked for")
        if start and _is_another(response.headers, validator):
            raise _Malformed("the rest of another version of the file")
        return _Extent(start, stop, total)
    length = response.headers.get("Content-Length")
    if response.length is None and length is not None and not response.chunked:
        raise _Malformed(f"Content-Length is {_excerpt(length)}")
    return _Extent(0, response.length, response.length)


def _excerpt(said: str) -> str:
    return repr(said[:_SHOWN_CHARACTERS])


def _append(
    response: http.client.HTTPResponse,
    extent: _Extent,
    part: _Part,
    max_bytes: int,
    on_progress: Progress | None,
) -> None:
    total = extent.total
    _check_length(total or extent.stop or 0, response, part, max_bytes)
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
    if extent.stop is not None and arrived > extent.stop:
        part.discard()
        raise _Malformed(f"{arrived:,} bytes where {extent.stop:,} were announced")
    if response.status == 206 and total is None:
        raise _Truncated(f"{arrived:,} bytes came of a file of unknown length")
    if total is not None and arrived < total:
        raise _Truncated(f"the answer ended after {arrived:,} of {total:,} bytes")


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
