"""One answer over HTTP: its address checked, its login kept at home.

A login in the address, ``https://user:password@host``, is sent to that address as basic
authentication (RFC 7617), and not to where it redirects.
"""

from __future__ import annotations

import base64
import http.client
import re
import urllib.request
from urllib.parse import unquote, urlsplit

from pipeline.base.foreign_text import told

SCHEMES = frozenset({"http", "https"})
_NOT_OF_ADDRESSES = re.compile(r"[^!-~]")
_LONGEST_NAME = 100


def check_address(url: str) -> None:
    """Refuses what cannot be asked for.

    Raises:
        ValueError: it is no address; says why, and hides a password.
    """
    try:
        parts = urlsplit(url)
        is_malformed = parts.port == 0 or not parts.hostname or _NOT_OF_ADDRESSES.search(url)
    except ValueError:  # its words may hold a part of a password
        parts, is_malformed = urlsplit("http:"), True
    if parts.scheme not in SCHEMES:
        raise ValueError(
            f"{told(url)}: not an http or https address; name a file that is here already by its "
            "path"
        )
    if is_malformed:
        raise ValueError(
            f"{told(url)}: its host or port is malformed, or it holds a character that no address "
            "can; give http://host/path, and percent-encode spaces, and the / : and @ of a password"
        )


def file_name_of(url: str) -> str:
    """Returns the name that a download has: the last part of its path that can be one."""
    try:
        name = urlsplit(url).path.rstrip("/").rpartition("/")[2]
    except ValueError:  # no address; who asks for it says so, see `check_address`
        name = ""
    return "download" if name in {"", ".", ".."} else name[-_LONGEST_NAME:]


def ask(url: str, headers: dict[str, str], *, timeout_seconds: float) -> http.client.HTTPResponse:
    """Returns an answer whose body is still to be read, following redirects to http and https.

    Args:
        timeout_seconds: longest silence.

    Raises:
        HTTPError: a status other than success.
        HTTPException, OSError: the connection failed, or the answer is malformed.
    """
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    parts = urlsplit(url)
    login, mark, host = parts.netloc.rpartition("@")
    request = urllib.request.Request(parts._replace(netloc=host).geturl(), headers=headers)
    if mark:
        coded = base64.b64encode(unquote(login).encode()).decode()
        request.add_unredirected_header("Authorization", f"Basic {coded}")
    answer: http.client.HTTPResponse = opener.open(request, timeout=timeout_seconds)
    return answer
