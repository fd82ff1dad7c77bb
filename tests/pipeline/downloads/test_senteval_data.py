"""SentEval's data: its declaration, and sets brought from a server that fails or from a folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.download_server import DownloadServer, serving
from tests.support.evaluation_archives import tarred
from treeviews.models.evaluation.senteval_format import DATASETS as LAYOUT
from treeviews.models.evaluation.task_registry import DISCOURSE
from treeviews.pipeline.downloads.download import DownloadConfig
from treeviews.pipeline.downloads.senteval_data import (
    SENTEVAL_SETS,
    DataFile,
    DataManifest,
    Dataset,
    collect_datasets,
    datasets_named,
    read_manifest,
)

POSITIVE, NEGATIVE, QUESTIONS = b"good .\nfine .\n", b"bad .\n", b"HUM:ind Who ?\n" * 100
FILES = {
    "reviews.tar": tarred({"./data/MR/pos": POSITIVE, "data/MR/neg": NEGATIVE, "../x": b"x"}),
    "questions": QUESTIONS,
}
GONE = "http://127.0.0.1:9"
IMPATIENT = DownloadConfig(attempts=2, timeout_seconds=0.4, backoff_seconds=0.01, max_bytes=1 << 20)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def reviews(*, known: bool = True, num_lines: int = 2, name: str = "MR") -> Dataset:
    """A set of two files of an archive."""
    digests = [sha256(POSITIVE), sha256(NEGATIVE)] if known else [None, None]
    files = (
        DataFile("downstream/MR/pos", num_lines, digests[0], "MR/pos"),
        DataFile("downstream/MR/neg", 1, digests[1], "MR/neg"),
    )
    return Dataset(name, "none stated", f"{GONE}/reviews.tar", files)


def single(name: str, digest: str | None) -> Dataset:
    """A set of one file that is a download."""
    file = DataFile(f"downstream/{name}", sha256=digest)
    return Dataset(name, "", f"{GONE}/{name}", (file,))


KNOWN, UNKNOWN = single("questions", sha256(QUESTIONS)), single("questions", None)


@pytest.fixture
def server() -> Iterator[DownloadServer]:
    with serving(FILES) as running:
        yield running


def collect(
    server: DownloadServer, folder: Path, *datasets: Dataset, accept: bool = False
) -> DataManifest:
    return collect_datasets(
        datasets,
        folder / "data",
        folder / "downloads",
        mirror=server.address,
        accept_unverified=accept,
        patience=IMPATIENT,
    )


def test_every_file_that_a_task_reads_is_declared_with_an_address() -> None:
    declared = {dataset.name: {file.path for file in dataset.files} for dataset in SENTEVAL_SETS}
    # The first is licensed by the LDC, never part of SentEval; that on discourse is derived.
    elsewhere = {"STS13-SMT", *(task.dataset for task in DISCOURSE)}
    read = {name: set(one.files.values()) for name, one in LAYOUT.items() if name not in elsewhere}
    assert declared == read
    for dataset in SENTEVAL_SETS:
        assert dataset.licence and dataset.address.startswith("https://")
        digests = [file.sha256 for file in dataset.files if file.sha256]
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in digests)
    assert len({dataset.address for dataset in SENTEVAL_SETS}) == 11


def test_sets_are_chosen_by_name_in_either_case() -> None:
    assert [dataset.name for dataset in datasets_named("sts14, mr")] == ["MR", "STS14"]
    assert datasets_named("all") == SENTEVAL_SETS
    for names in ("MR,MRS", " , "):
        with pytest.raises(ValueError, match=r"give 'all' or some of MR, CR, .*coordination_inv"):
            datasets_named(names)


def test_sets_of_an_archive_are_brought_by_one_request_and_named_in_the_manifest(
    server: DownloadServer, tmp_path: Path
) -> None:
    lacking = Dataset("CR", "", reviews().address, (DataFile("downstream/CR", member="CR/pos"),))
    sets = (reviews(), lacking, reviews(name="copy"), KNOWN)
    manifest = collect(server, tmp_path, *sets)

    assert (tmp_path / "data/downstream/MR/pos").read_bytes() == POSITIVE
    entry = manifest.datasets["MR"]
    assert (entry.state, entry.licence) == ("present", "none stated")
    file = entry.files["downstream/MR/neg"]
    assert (file.sha256, file.num_bytes, file.num_lines) == (sha256(NEGATIVE), 6, 1)
    assert (file.proof, file.as_senteval) == ("finished", True)
    assert file.source == f"{server.address}/reviews.tar"
    assert "no member named CR/pos (delete " in manifest.datasets["CR"].reason
    assert read_manifest(tmp_path / "data") == manifest
    assert not (tmp_path / "x").exists()

    again = collect(server, tmp_path, *sets)
    assert again.datasets["MR"] == entry
    assert server.paths == ["reviews.tar", "questions"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"questions": None}, "HTTP 404"),
        ({"questions": b"another\n"}, "sha256 is .*, SentEval's file has"),
        ({"reviews.tar": b"no archive"}, "not a whole archive"),
        ({"reviews.tar": FILES["reviews.tar"][:60]}, "not a whole archive"),
        ({"reviews.tar": tarred({"MR/pos": b"x\n", "MR/neg": NEGATIVE})}, "1 lines, expected 2"),
    ],
)
def test_a_set_that_fails_is_absent_with_its_reason_and_asked_for_again(
    server: DownloadServer, tmp_path: Path, files: dict[str, bytes], reason: str
) -> None:
    (name,) = files
    server.files = {**FILES, **files} if files[name] is not None else {"reviews.tar": b"no archive"}
    absent = collect(server, tmp_path, reviews(), KNOWN, accept=True).datasets
    entry = absent["MR" if name == "reviews.tar" else "questions"]
    assert (entry.state, entry.files) == ("absent", {})
    assert re.search(reason, entry.reason)

    server.files = dict(FILES)
    states = {
        entry.state for entry in collect(server, tmp_path, reviews(), KNOWN).datasets.values()
    }
    assert states == {"present"}


def test_what_nothing_can_verify_is_taken_once_accepted_and_asked_for_as_it_was(
    server: DownloadServer, tmp_path: Path
) -> None:
    reason = collect(server, tmp_path, UNKNOWN).datasets["questions"].reason
    assert "--accept-unverified" in reason and sha256(QUESTIONS) in reason

    manifest = collect(server, tmp_path, UNKNOWN, accept=True)
    file = manifest.datasets["questions"].files["downstream/questions"]
    assert (file.proof, file.as_senteval) == ("first use", None)
    assert manifest.trusted == {"questions": sha256(QUESTIONS)}
    assert server.paths == ["questions"]

    for content, state in ((QUESTIONS, "present"), (b"another\n", "absent")):
        for path in ("data/downstream/questions", "downloads/questions"):
            (tmp_path / path).unlink()
        server.files["questions"] = content
        entry = collect(server, tmp_path, UNKNOWN).datasets["questions"]
        assert entry.state == state
    assert "was accepted with this sha256 before" in entry.reason
