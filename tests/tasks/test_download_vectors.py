"""Published word vectors by name: verified, resumed, refused where nothing vouches for them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest

from tests.support.download_server import serving
from tests.support.luigi_builds import build
from treeviews.command.app import main
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.tasks import DownloadVectors
from treeviews.tasks.checks import mistakes_in

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


def test_what_nobody_vouches_for_is_taken_only_where_that_is_said(tmp_path: Path) -> None:
    given = {"name": "fasttext-crawl", "work_folder": tmp_path}
    (told,) = mistakes_in(DownloadVectors(**given))
    assert "nobody has published a sha256" in told
    assert "--accept-unverified" in told
    with serving({NAME: ARCHIVE}) as server:
        task = DownloadVectors(**given, mirror=server.address, accept_unverified=True)
        assert build(task)
    assert facts_of(task)["proof"] == "none" and facts_of(task)["sha256"] == SHA256


@pytest.mark.parametrize("by", ["name", "folder"])
def test_what_was_downloaded_is_imported_by_its_name_or_the_folder_that_was_printed(
    by: str, tmp_path: Path
) -> None:
    packed, work = io.BytesIO(), tmp_path / "work"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("crawl-300d-2M.vec", "the 1 2\n")
    given = {"name": "fasttext-crawl", "work_folder": work, "accept_unverified": True}
    with serving({NAME: packed.getvalue()}) as server:
        task = DownloadVectors(**given, mirror=server.address)
        assert build(task)

    what = "fasttext-crawl" if by == "name" else str(task.folder)
    named = ["--out", str(tmp_path / "out"), "--work-folder", str(work)]
    assert main(["vectors", "import", what, *named]) == 0
    assert load_word_vectors(tmp_path / "out").words == ("", "the")
