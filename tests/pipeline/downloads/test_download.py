from __future__ import annotations

import base64
import hashlib
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from pipeline.downloads.connection import file_name_of
from pipeline.downloads.download import DownloadConfig, DownloadError, download
from tests.support.download_server import DownloadServer, serving

CONTENT = b"".join(b"line %d of the file\n" % number for number in range(20_000))
SHA256 = hashlib.sha256(CONTENT).hexdigest()
IMPATIENT = DownloadConfig(attempts=3, timeout_seconds=0.5, backoff_seconds=0.01)


@pytest.fixture
def server() -> Iterator[DownloadServer]:
    with serving({"corpus.txt": CONTENT}) as found:
        yield found


def fetch(server: DownloadServer, folder, sha256=SHA256, config=IMPATIENT, **keywords):
    url = f"{server.address}/corpus.txt"
    return download(url, folder / "corpus.txt", sha256, config=config, **keywords)


def test_a_file_arrives_whole_and_leaves_nothing_beside_it(server, tmp_path):
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_a_file_that_is_there_is_not_asked_for(server, tmp_path):
    (tmp_path / "corpus.txt").write_bytes(CONTENT)
    fetch(server, tmp_path)
    assert server.requests == []


def test_a_cut_connection_is_resumed_by_range(server, tmp_path):
    server.script = ["cut:1000", "cut:500"]
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert [request.get("Range") for request in server.requests] == [
        None,
        "bytes=1000-",
        "bytes=1500-",
    ]
    assert server.requests[1]["If-Range"] == '"one"'


def test_a_server_that_starts_over_each_time_is_given_up(server, tmp_path):
    server.etag = None
    server.script = ["cut:900", "cut:1200"] * 20
    with pytest.raises(DownloadError, match="gave up after 3 attempts that got no further"):
        fetch(server, tmp_path)
    assert len(server.requests) == 4


def test_an_untrusted_certificate_is_an_error_at_once(tmp_path, monkeypatch):
    calls = []

    def untrusted(*arguments, **keywords):
        calls.append(arguments)
        raise urllib.error.URLError(ssl.SSLCertVerificationError(1, "self-signed"))

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", untrusted)
    with pytest.raises(DownloadError, match=r"certificate is not trusted.*self-signed"):
        download("https://127.0.0.1/x", tmp_path / "x", SHA256, config=IMPATIENT)
    assert len(calls) == 1


@pytest.mark.parametrize("status", ["500", "503", "429"])
def test_a_faltering_server_is_asked_again(server, tmp_path, status):
    server.script = [status, "cut:1000", status]
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def test_a_server_that_keeps_failing_is_given_up_and_the_part_is_kept(server, tmp_path):
    server.script = ["cut:1000", "500", "500", "500"]
    with pytest.raises(DownloadError, match=r"gave up after 3 attempts.*1,000 bytes are kept"):
        fetch(server, tmp_path)
    assert not (tmp_path / "corpus.txt").exists()
    assert fetch(server, tmp_path).read_bytes() == CONTENT
    assert server.requests[-1]["Range"] == "bytes=1000-"


def test_nobody_listening_is_given_up(tmp_path):
    with pytest.raises(DownloadError, match="gave up after 3 attempts"):
        download("http://127.0.0.1:9/x", tmp_path / "x", SHA256, config=IMPATIENT)


@pytest.mark.parametrize(
    ("status", "remedy"),
    [("404", "no such file: check the address"), ("403", "download it yourself"), ("416", "416")],
)
def test_a_refusal_is_an_error_at_once(server, tmp_path, status, remedy):
    server.script = [status]
    with pytest.raises(DownloadError, match=f"corpus.txt: HTTP {status} .*{remedy}|{remedy}"):
        fetch(server, tmp_path)
    assert len(server.requests) == 1


def test_a_server_that_ignores_ranges_sends_it_all_again(server, tmp_path):
    server.script = ["cut:1000", "whole"]
    assert fetch(server, tmp_path).read_bytes() == CONTENT


OTHER = b"".join(b"line %d of another\n" % number for number in range(20_000))


@pytest.mark.parametrize("etag", ['W/"1"', None])
def test_a_part_is_not_continued_by_what_may_be_another_version(server, tmp_path, etag):
    server.etag = etag
    server.script = ["cut:1000", "500", "500"]
    with pytest.raises(DownloadError):
        fetch(server, tmp_path, sha256=None)
    server.files["corpus.txt"] = OTHER
    assert fetch(server, tmp_path, sha256=None).read_bytes() == OTHER
    assert not any("Range" in request for request in server.requests)


@pytest.mark.parametrize("sha256", [SHA256, None])
@pytest.mark.parametrize("step", ["short:500", "sizeless:500", "placeless", "shifted:10"])
def test_a_range_that_is_not_the_whole_rest_is_not_taken_for_it(server, tmp_path, step, sha256):
    server.script = ["cut:1000", step]
    assert fetch(server, tmp_path, sha256=sha256).read_bytes() == CONTENT


def leave_part(server: DownloadServer, folder, content: bytes) -> None:
    """Leaves a part of the server's present version, with this content."""
    server.script = ["cut:1000", "500", "500", "500"]
    with pytest.raises(DownloadError):
        fetch(server, folder)
    (folder / "corpus.txt.part").write_bytes(content)


def test_a_part_that_is_whole_already_is_taken(server, tmp_path):
    leave_part(server, tmp_path, CONTENT)
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def test_a_part_with_wrong_bytes_starts_over(server, tmp_path):
    leave_part(server, tmp_path, b"x" * 1000)
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def test_wrong_bytes_are_an_error_that_names_both_checksums(server, tmp_path):
    server.script = ["wrong"]
    found = hashlib.sha256(bytes(reversed(CONTENT))).hexdigest()
    with pytest.raises(ValueError, match=f"corpus.txt: sha256 is {found}, expected {SHA256}; the"):
        fetch(server, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_progress_reaches_one(server, tmp_path):
    calls = []
    server.script = ["cut:1000"]
    fetch(server, tmp_path, on_progress=lambda *arguments: calls.append(arguments))
    assert calls[-1][0] == 1
    assert calls[-1][1] == "0.4 of 0.4 MB downloaded"


@pytest.mark.parametrize(
    ("url", "sha256", "message"),
    [
        ("file:///etc/hosts", SHA256, "not an http or https address"),
        ("ftp://127.0.0.1/x", SHA256, "not an http or https address"),
        ("http://127.0.0.1/x", "abc", "not 64 hexadecimal digits; compute it"),
        ("http://127.0.0.1/a b", SHA256, "no address can; .* percent-encode spaces"),
        ("http://127.0.0.1/a\x1b[2J", SHA256, r"/a\\x1b\[2J: .* no address can"),
        ("http://", SHA256, "host or port is malformed"),
        ("http://127.0.0.1:port/", SHA256, "host or port is malformed"),
        ("http://[::1/x", SHA256, "host or port is malformed"),
        ("http://user:pa/ss@127.0.0.1/x", SHA256, r"^http://\*\*\*@127.0.0.1/x: its host or port"),
    ],
)
def test_malformed_arguments_are_errors(tmp_path, url, sha256, message):
    with pytest.raises(ValueError, match=message):
        download(url, tmp_path / "x", sha256)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://h/a/corpus.txt.gz?token=x", "corpus.txt.gz"),
        ("http://h/a/..", "download"),
        ("http://h/a/", "a"),
        ("http://h", "download"),
        ("http://[::1/a.txt", "download"),
        (f"http://h/{'a' * 300}.txt", "a" * 96 + ".txt"),
    ],
)
def test_a_download_has_a_name_that_a_file_can_have(url, name):
    assert file_name_of(url) == name


def test_a_redirect_is_followed(server, tmp_path):
    server.script = ["to:corpus.txt"]
    assert fetch(server, tmp_path).read_bytes() == CONTENT


def with_login(address: str) -> str:
    return address.replace("://", "://user:p%40ss@")


LOGIN = "Basic " + base64.b64encode(b"user:p@ss").decode()


def test_a_login_in_the_address_is_sent_as_basic_authentication(server, tmp_path):
    server.authorization = LOGIN
    server.script = ["cut:1000"]
    path = download(
        f"{with_login(server.address)}/corpus.txt", tmp_path / "a", SHA256, config=IMPATIENT
    )
    assert path.read_bytes() == CONTENT
    assert [request["Authorization"] for request in server.requests] == [LOGIN] * 2
    assert all("p%40ss" not in request["Host"] for request in server.requests)


def test_a_login_is_sent_to_no_other_server(server, tmp_path):
    with serving({"corpus.txt": CONTENT}) as other:
        server.script = [f"away:{other.address}/corpus.txt"]
        address = f"{with_login(server.address)}/corpus.txt"
        download(address, tmp_path / "a", SHA256, config=IMPATIENT)
        assert "Authorization" not in other.requests[0]


def test_a_password_stands_in_no_error_and_in_no_file(server, tmp_path):
    server.authorization = "none"
    address = f"{with_login(server.address)}/corpus.txt?token=abc"
    with pytest.raises(DownloadError, match="HTTP 401") as refused:
        download(address, tmp_path / "a", SHA256, config=IMPATIENT)
    server.authorization = None
    server.script = ["cut:1000", "500", "500", "500"]
    server.files["corpus.txt?token=abc"] = CONTENT
    with pytest.raises(DownloadError, match="gave up") as given_up:
        download(address, tmp_path / "a", SHA256, config=IMPATIENT)
    written = "".join(path.read_text() for path in tmp_path.iterdir())
    for said in (str(refused.value), str(given_up.value), written):
        assert "p%40ss" not in said
        assert "abc" not in said


@pytest.mark.parametrize("step", ["good", "endless"])
def test_a_file_longer_than_expected_is_not_taken(server, tmp_path, step):
    server.script = [step]
    short = DownloadConfig(attempts=3, backoff_seconds=0.01, max_bytes=len(CONTENT) - 1)
    with pytest.raises(ValueError, match=r"corpus.txt: longer than the [\d,]+ bytes"):
        fetch(server, tmp_path, config=short)
    assert list(tmp_path.iterdir()) == []
