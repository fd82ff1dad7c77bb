"""Published word vectors by name: verified, resumed, refused where nothing vouches for them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from pipeline.downloads.word_vectors import PUBLISHED_VECTORS, expected_sha256, vectors_named
from tasks import DownloadVectors
from tests.support.download_server import serving
from tests.support.luigi_builds import build

ARCHIVE = b"PK an archive" * 1_000
SHA256 = hashlib.sha256(ARCHIVE).hexdigest()
NAME = "crawl-300d-2M.vec.zip"


def facts_of(task: DownloadVectors) -> dict[str, object]:
    facts: dict[str, object] = json.loads((task.folder / "download.json").read_text())
    return facts


def test_a_download_goes_on_where_it_broke_off_and_is_verified(tmp_path: Path) -> None:
    with serving({NAME: ARCHIVE}) as server:
        server.scripts[NAME] = [f"cut:{len(ARCHIVE) // 2}"]
        task = DownloadVectors(
            name="fasttext-crawl", sha256=SHA256, mirror=server.address, work_folder=tmp_path
        )
        assert build(task)

    assert (task.folder / NAME).read_bytes() == ARCHIVE
    assert "Range" in server.requests[1]
    assert facts_of(task)["sha256"] == SHA256 and facts_of(task)["proof"] == "sha256"
    assert task.complete()


def test_other_bytes_than_declared_are_refused(tmp_path: Path) -> None:
    with serving({"glove.6B.zip": ARCHIVE}) as server:
        task = DownloadVectors(name="glove-6b", mirror=server.address, work_folder=tmp_path)
        assert not build(task)
    assert not (task.folder / "glove.6B.zip").exists()


def test_what_nobody_vouches_for_is_taken_only_where_that_is_said(tmp_path: Path) -> None:
    given = {"name": "fasttext-crawl", "work_folder": tmp_path}
    with pytest.raises(ValueError, match=r"nobody has published a sha256 .*--accept-unverified"):
        DownloadVectors(**given).requires()
    with serving({NAME: ARCHIVE}) as server:
        task = DownloadVectors(**given, mirror=server.address, accept_unverified=True)
        assert build(task)
    assert facts_of(task)["proof"] == "none" and facts_of(task)["sha256"] == SHA256


def test_a_sha256_in_capitals_is_the_same_download(tmp_path: Path) -> None:
    given = {"name": "fasttext-crawl", "work_folder": tmp_path}
    small, large = (DownloadVectors(sha256=typed, **given) for typed in (SHA256, SHA256.upper()))
    assert small.folder == large.folder
    assert DownloadVectors(sha256="0" * 64, **given).folder != small.folder


def test_a_sha256_that_is_given_goes_before_the_declared_one() -> None:
    declared = vectors_named("glove-840b")
    assert expected_sha256(declared, SHA256.upper(), accept_unverified=False) == SHA256
    assert expected_sha256(declared, "", accept_unverified=True) == declared.sha256
    with pytest.raises(ValueError, match="not 64 hexadecimal digits"):
        expected_sha256(declared, "12", accept_unverified=False)


def test_names_that_are_not_there_are_mended() -> None:
    with pytest.raises(ValueError, match=r"no word vectors named 'glove-840'.*glove-840b"):
        vectors_named("glove-840")


def test_every_declaration_has_an_address_a_licence_and_a_sha256_or_none() -> None:
    assert len({one.name for one in PUBLISHED_VECTORS}) == len(PUBLISHED_VECTORS)
    for one in PUBLISHED_VECTORS:
        assert one.url.startswith("https://") and one.file_name and one.licence
        assert one.sha256 is None or len(bytes.fromhex(one.sha256)) == 32
