"""One answer over HTTP: its address checked, its login kept at home, its pace and head watched.

A login in the address, ``https://user:password@host``, is sent to that host as basic authentication
(RFC 7617) and to no other: a redirect to another host, port or scheme is asked without it.
"""

from __future__ import annotations

import base64
import http.client
import io
import re
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from pipeline.base.foreign_text import told

SCHEMES = frozenset({"http", "https"})
_HEAD_BYTES = 1 << 20
"""Longest head of an answer, with all that a server may send before it."""
_LABEL = r"[A-Za-z0-9_-]{1,63}"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]+(?:%25[\w.~-]+)?\]")
_NOT_OF_ADDRESSES = re.compile(r"[^!-~]")
_LONGEST_NAME = 100


class TooSlowError(Exception):
    """An answer trickles."""


@dataclass(frozen=True, slots=True)
class Pace:
    """The slowest answer that is waited for."""

    bytes_per_second: float
    over_seconds: float
    """So long it may be slower; time that this side takes does not count."""


def checked_address(url: str) -> SplitResult:
    """Returns the parts of an address that can be asked for.

    Raises:
        ValueError: it is none; says why, and hides a password.
    """
    if wrong := _NOT_OF_ADDRESSES.search(url):
        raise ValueError(
            f"{told(url)}: holds {wrong[0]!r}, which no address can; percent-encode it, a space "
            "as %20"
        )
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2].removesuffix(f":{parts.port}").removesuffix(":")
    except ValueError:  # its words may hold a part of a password
        parts, host = SplitResult("http", "", "", "", ""), ""
    if parts.scheme not in SCHEMES:
        raise ValueError(
            f"{told(url)}: not an http or https address; name a file that is here already by its "
            "path"
        )
    if not _HOST.fullmatch(host):
        raise ValueError(
            f"{told(url)}: its host or port is malformed; give http://host/path, and percent-encode"
            " the / : and @ of a password"
        )
    return parts


def file_name_of(url: str) -> str:
    """Returns the name that a download has: the last part of its path that can be one."""
    try:
        name = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    except ValueError:  # no address; who asks for it says so, see `checked_address`
        name = ""
    return "download" if name in {"", ".", ".."} else name[-_LONGEST_NAME:]


def ask(
    url: str, headers: dict[str, str], *, timeout_seconds: float, pace: Pace
) -> http.client.HTTPResponse:
    """Returns an answer whose body is still to be read, following redirects.

    Args:
        timeout_seconds: longest silence.

    Raises:
        HTTPError: a status other than success, or a redirect to what is no http or https address.
        HTTPException, OSError: the connection failed, or the answer is malformed.
        TooSlowError: it is slower than ``pace``, now or while the body is read.
    """
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        _PacedHTTP(pace),
        _PacedHTTPS(pace),
        _Redirects(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    bare, login = _without_login(url)
    request = urllib.request.Request(bare, headers=headers)
    if login:
        request.add_unredirected_header("Authorization", login)
    answer: http.client.HTTPResponse = opener.open(request, timeout=timeout_seconds)
    return answer


def _without_login(url: str) -> tuple[str, str]:
    """Returns an address without its login, and the header that sends the login, or nothing."""
    parts = urlsplit(url)
    login, mark, host = parts.netloc.rpartition("@")
    if not mark:
        return url, ""
    coded = base64.b64encode(unquote(login).encode()).decode()
    return parts._replace(netloc=host).geturl(), f"Basic {coded}"


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to http and https alone; a login is sent again to the same origin alone."""

    def http_error_302(
        self,
        req: urllib.request.Request,
        fp: Any,
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
    ) -> Any:
        try:
            return super().http_error_302(req, fp, code, msg, headers)
        except ValueError as error:  # what stands for an address cannot even be taken apart
            reason = f"redirects to what is no address ({error})"
            raise urllib.error.HTTPError(req.full_url, code, reason, headers, fp) from error

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: Any,
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        try:
            checked_address(newurl)
        except ValueError as error:
            reason = f"redirects to a place that is refused ({error})"
            raise urllib.error.HTTPError(req.full_url, code, reason, headers, fp) from error
        bare, login = _without_login(newurl)
        request = super().redirect_request(req, fp, code, msg, headers, bare)
        if request is not None and _origin(bare) == _origin(req.full_url):
            login = login or req.unredirected_hdrs.get("Authorization", "")
        if request is not None and login:
            request.add_unredirected_header("Authorization", login)
        return request


class _PacedBytes(io.RawIOBase):
    """What a server sends, as long as it keeps its pace and its head comes to an end."""

    def __init__(self, raw: Any, pace: Pace) -> None:
        self._raw, self._pace = raw, pace
        self._waited, self._arrived = 0.0, 0
        self.head_left: int | None = _HEAD_BYTES

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        began = time.monotonic()
        count: int | None = self._raw.readinto(buffer)
        self._waited += time.monotonic() - began
        self._arrived += count or 0
        if self.head_left is not None:
            self.head_left -= count or 0
            if self.head_left < 0:
                raise http.client.HTTPException(f"a head of more than {_HEAD_BYTES:,} bytes")
        if self._waited >= self._pace.over_seconds:
            if self._arrived < self._pace.bytes_per_second * self._waited:
                raise TooSlowError(f"{self._arrived:,} bytes in {self._waited:.0f} seconds")
            self._waited, self._arrived = 0.0, 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Paced(urllib.request.AbstractHTTPHandler):
    """Opens connections whose answers are `_PacedBytes`."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace = pace

    def do_open(self, http_class: Any, req: urllib.request.Request, **settings: Any) -> Any:
        pace = self._pace

        class Answer(http.client.HTTPResponse):
            def __init__(self, *arguments: Any, **keywords: Any) -> None:
                super().__init__(*arguments, **keywords)
                self._paced = _PacedBytes(self.fp.detach(), pace)
                self.fp = io.BufferedReader(self._paced)

            def begin(self) -> None:
                super().begin()
                self._paced.head_left = None

        def connection(*arguments: Any, **keywords: Any) -> Any:
            made = http_class(*arguments, **keywords)
            made.response_class = Answer
            return made

        return super().do_open(connection, req, **settings)


class _PacedHTTP(_Paced, urllib.request.HTTPHandler):
    pass


class _PacedHTTPS(_Paced, urllib.request.HTTPSHandler):
    pass
