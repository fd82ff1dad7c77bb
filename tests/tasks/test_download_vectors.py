"""Published word vectors by name: verified, resumed, refused where nothing vouches for them."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest

from models.words.vector_files import load_word_vectors
from pipeline.downloads.word_vectors import PUBLISHED_VECTORS, expected_sha256, vectors_named
from tasks import DownloadVectors
from tests.support.download_server import serving
from tests.support.luigi_builds import build
from treeviews.command.app import main

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


def downloaded(work_folder: Path, text: str = "the 1 2\n", **changes: str) -> Path:
    """Returns the folder of an archive that holds a text."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("crawl-300d-2M.vec", text)
    with serving({NAME: packed.getvalue()}) as server:
        task = DownloadVectors(
            name="fasttext-crawl",
            mirror=server.address,
            accept_unverified=True,
            work_folder=work_folder,
            **changes,
        )
        assert build(task)
    return task.folder


@pytest.mark.parametrize("by", ["name", "folder"])
def test_what_was_downloaded_is_imported_by_its_name_or_the_folder_that_was_printed(
    by: str, tmp_path: Path
) -> None:
    folder = downloaded(tmp_path / "work")
    given = "fasttext-crawl" if by == "name" else str(folder)
    named = ["--out", str(tmp_path / "out"), "--work-folder", str(tmp_path / "work")]
    assert main(["vectors", "import", given, *named]) == 0
    assert load_word_vectors(tmp_path / "out").words == ("", "the")


def test_what_was_not_downloaded_cannot_be_imported_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["--out", str(tmp_path / "out"), "--work-folder", str(tmp_path / "work")]
    assert main(["vectors", "import", "glove-840b", *named]) == 2
    assert "download it first (treeviews data download vectors glove-840b)" in (
        capsys.readouterr().err
    )
    assert main(["vectors", "import", "glove-840", *named]) == 2
    assert "no such word vectors; did you mean glove-840b?" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_of_several_downloads_one_is_to_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = downloaded(tmp_path / "work")
    other = folder.with_name("fasttext-crawl-other")
    other.mkdir()
    (other / "download.json").write_bytes((folder / "download.json").read_bytes())
    named = ["--out", str(tmp_path / "out"), "--work-folder", str(tmp_path / "work")]
    assert main(["vectors", "import", "fasttext-crawl", *named]) == 2
    assert "was downloaded several times; give one of" in capsys.readouterr().err
    assert main(["vectors", "import", str(other), *named]) == 2
    assert f"gone; delete {other} and download it again" in capsys.readouterr().err
