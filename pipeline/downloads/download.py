"""Downloads one file over HTTP: resumes where it broke off, and trusts nothing but the sha256.

Where no sha256 is known, ``sha256=None`` takes what comes, and the caller judges it.

What has arrived waits in ``NAME.part``. It is continued by a range request that the server answers
with the rest (206) or, if it knows no ranges, with the whole file (200), which then starts over.
Only a sha256 says that two answers are of the same bytes, so without one a part is not continued.

A login in the address, ``https://user:password@host``, is sent as basic authentication to that host
alone.
"""

from __future__ import annotations

import errno
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.job import Progress

if TYPE_CHECKING:  # a bare GPU machine has none
    import requests

MAX_BYTES = 10_000_000_000
"""Longest file that is taken unless somebody says otherwise."""
_BLOCK_BYTES = 1 << 16
_LONGEST_NAME = 100
_SHOWN_CHARACTERS = 200
"""Of what a server said, in an error."""
_NOT_OF_ADDRESSES = re.compile(r"[^!-~]")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18})")
_WEB_PAGE = re.compile(rb"\s*<(!doctype html|html)", re.IGNORECASE)
_LONGEST_PAUSE_SECONDS = 60.0
_RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_REMEDIES = {
    401: "the server asks for a login: download it yourself and name your copy",
    403: "the server forbids it: download it yourself and name your copy",
    404: "there is no such file: check the address",
    410: "the file is gone: find another address",
}


class DownloadError(OSError):
    """A file could not be downloaded; the message names the address and what to do."""


@dataclass(frozen=True, slots=True)
class DownloadConfig:
    """How patient a download is."""

    attempts: int = 6
    """Attempts in a row that get no further than an earlier one before giving up."""
    timeout_seconds: float = 30.0
    """Longest silence of the server."""
    backoff_seconds: float = 1.0
    """Pause before the second attempt; doubles with each further one."""
    max_bytes: int = MAX_BYTES
    """Longest file that is taken."""


def check_address(url: str) -> None:
    """Refuses what cannot be asked for.

    Raises:
        ValueError: it is no address; says why, and hides a password.
    """
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # its words may hold a part of a password
        is_address = False
    if not is_address or _NOT_OF_ADDRESSES.search(url):
        raise ValueError(
            f"{told(url)}: not an http or https address, or its host or port is malformed, or it "
            "holds a character that no address can: give http://host/path, percent-encode spaces, "
            "and the / : and @ of a password, and name a file that is here already by its path"
        )


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


def file_name_of(url: str) -> str:
    """Returns the name that a download has: the last part of its path that can be one."""
    try:
        name = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    except ValueError:  # no address; who asks for it says so, see `check_address`
        name = ""
    return "download" if name in {"", ".", ".."} else name[-_LONGEST_NAME:]


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
        ValueError: the address or sha256 is malformed, or the file has another sha256, is a web
            page or is longer than the configuration allows.
        DownloadError: the server refuses or keeps failing; with a sha256, what has arrived is kept.
        OSError: the disk is full.
    """
    check_address(url)
    if sha256 is not None:
        check_sha256(url, sha256)
        sha256 = sha256.lower()
    if destination.exists() and sha256 in (None, sha256_of_file(destination)):
        return destination
    destination.parent.mkdir(parents=True, exist_ok=True)
    part = destination.with_name(f"{destination.name}.part")
    is_resumed = part.exists() and sha256 is not None
    try:
        _fetch_patiently(url, part, sha256, config or DownloadConfig(), on_progress)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            error.filename = str(part)  # writing, unlike opening, names none
        raise
    if fault := _fault(part, sha256):
        part.unlink()
        if is_resumed:  # the part may have been of another file: once more
            return download(url, destination, sha256, config=config, on_progress=on_progress)
        raise ValueError(f"{told(url)}: {fault}")
    part.replace(destination)
    return destination


def _size_of(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0


def _fault(part: Path, sha256: str | None) -> str | None:
    """Returns why a whole file is not the one that was meant, if it is not."""
    actual = sha256_of_file(part)
    if actual == sha256:
        return None
    with part.open("rb") as stream:
        if _WEB_PAGE.match(stream.read(1024)):
            return "the server sent a web page in place of the file; open the address in a browser"
    return sha256 and (
        f"sha256 is {actual}, expected {sha256}; the file was changed or is not the one you "
        "mean: check the address, then the sha256"
    )


def _fetch_patiently(
    url: str,
    part: Path,
    sha256: str | None,
    config: DownloadConfig,
    on_progress: Progress | None,
) -> None:
    """Completes the part, trying again while the server falters.

    Only what no attempt had reached before counts as progress: a server whose file cannot be
    continued starts over each time, and may break off earlier or later for ever.
    """
    import requests
    import urllib3

    failures, reached = 0, _size_of(part)
    while True:
        if sha256 is None:
            part.unlink(missing_ok=True)  # nothing says that the server still has the same file
        try:
            return _fetch(url, part, config, on_progress)
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            fault: Exception = error
        size = _size_of(part)
        failures = 1 if size > reached else failures + 1
        reached = max(reached, size)
        if is_untrusted := "CERTIFICATE_VERIFY_FAILED" in str(fault):  # not a cut connection
            remedy = "check the address and this machine's certificates and clock"
        elif sha256:
            remedy = f"{size:,} bytes are kept, so run it again later to go on"
        else:
            remedy = "run it again later; without a sha256 it then starts over"
        if is_untrusted or failures >= config.attempts:
            reason = getattr(next(iter(fault.args), None), "reason", fault)
            attempts = f"{failures} attempt{'s' * (failures > 1)}"
            raise DownloadError(
                f"{told(url)}: gave up after {attempts} that got no further "
                f"({told(reason)[:_SHOWN_CHARACTERS]}); {remedy}"
            ) from fault
        pause = config.backoff_seconds * 2 ** (failures - 1)
        time.sleep(min(pause, _LONGEST_PAUSE_SECONDS))


def _fetch(url: str, part: Path, config: DownloadConfig, on_progress: Progress | None) -> None:
    """Asks once for what is missing and appends what comes.

    Raises:
        RequestException, HTTPError: the connection failed or ended early, or the answer is not the
            rest of the file.
        DownloadError: the server refuses.
        ValueError: the file is, or says it is, longer than the configuration allows.
    """
    import requests

    headers = {"Accept-Encoding": "identity", "User-Agent": "treeviews"}
    if size := _size_of(part):
        headers["Range"] = f"bytes={size}-"
    timeout = config.timeout_seconds
    with requests.get(url, headers=headers, stream=True, timeout=timeout) as response:
        total = _accepted_size(response, url, part)
        with part.open("ab") as stream:
            reported = arrived = stream.tell()
            # Not `iter_content`, which loses what came of a block before a silence.
            while block := response.raw.read1(_BLOCK_BYTES):
                stream.write(block)
                arrived += len(block)
                if max(arrived, total or 0) > config.max_bytes:
                    part.unlink()
                    raise ValueError(
                        f"{told(url)}: longer than the {config.max_bytes:,} bytes that are taken "
                        "at most; check the address and, where the file is so long, raise the "
                        "limit (of a corpus --max-download-gigabytes)"
                    )
                if on_progress and (arrived - reported >= _BLOCK_BYTES or arrived == total):
                    reported = arrived
                    of_all = f" of {total / 1e6:,.1f}" if total else ""
                    fraction = arrived / total if total else 0.0
                    on_progress(fraction, f"{arrived / 1e6:,.1f}{of_all} MB downloaded")
            stream.flush()
            os.fsync(stream.fileno())
    if total not in (None, arrived):
        raise requests.ConnectionError(f"{arrived:,} bytes of {total:,} came")


def _accepted_size(response: requests.Response, url: str, part: Path) -> int | None:
    """Returns the size of the file of which an answer is the rest, or all, if it is known.

    A part that the answer does not continue is removed. Raises as `_fetch`.
    """
    import requests

    status, size = response.status_code, _size_of(part)
    # Cut before, a login in it would show.
    reason = f"HTTP {status} {told(' '.join(str(response.reason).split()))[:_SHOWN_CHARACTERS]}"
    if status == 200:
        part.unlink(missing_ok=True)
        total: int | None = response.raw.length_remaining
        return total
    if size and status in (206, 416):
        range_ = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if range_ is None or int(range_[1]) != size:
            part.unlink()  # the next attempt asks for the whole file
            raise requests.ConnectionError("another part of the file than was asked for")
        return int(range_[2])
    if status in _RETRIED_STATUS or status == 206:
        raise requests.ConnectionError(reason)
    remedy = _REMEDIES.get(status, "check the address in a browser")
    raise DownloadError(f"{told(url)}: {reason}; {remedy}")
