"""Sets brought together from a server that fails in every way, and from a folder."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.downloads.download import DownloadConfig
from pipeline.downloads.evaluation_data import (
    DataManifest,
    FetchConfig,
    collect_datasets,
    examine_folder,
    read_manifest,
)
from pipeline.downloads.evaluation_data.manifest import DataFile, Dataset, Download
from tests.support.download_server import DownloadServer, serving
from tests.support.evaluation_archives import tarred
from tests.support.waiting import wait_until

POSITIVE, NEGATIVE = b"good .\nfine .\n", b"bad .\n"
QUESTIONS = b"HUM:ind Who ?\n" * 100
IMPATIENT = DownloadConfig(attempts=2, timeout_seconds=0.4, backoff_seconds=0.01, max_bytes=1 << 20)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


FILES = {
    "reviews.tar": tarred({"data/MR/pos": POSITIVE, "data/MR/neg": NEGATIVE}, mode="w"),
    "questions": QUESTIONS,
    "unknown": b"a\nb\n",
}
REVIEWS = Download("reviews.tar", ("http://127.0.0.1:9/reviews.tar",))


def reviews(*, known: bool = True, num_lines: int = 2, name: str = "MR") -> Dataset:
    """A set of two files of an archive."""
    files = (
        DataFile(
            "downstream/MR/pos", REVIEWS, "MR/pos", num_lines, sha256(POSITIVE) if known else None
        ),
        DataFile("downstream/MR/neg", REVIEWS, "MR/neg", 1, sha256(NEGATIVE) if known else None),
    )
    return Dataset(name, "none stated", files)


def single(name: str, content: bytes | None) -> Dataset:
    """A set of one file that is a download; its sha256 is known if its content is."""
    digest = None if content is None else sha256(content)
    download = Download(name, ("http://127.0.0.1:9/gone", "http://127.0.0.1:9/gone-too"))
    file = DataFile(f"downstream/{name}", download, sha256=digest)
    return Dataset(name, "none stated", (file,))


QUESTIONS_SET = single("questions", QUESTIONS)
UNKNOWN_SET = single("unknown", None)


@pytest.fixture
def server() -> Iterator[DownloadServer]:
    with serving(FILES) as found:
        yield found


def collect(
    server: DownloadServer, folder: Path, *datasets: Dataset, accept: bool = False
) -> DataManifest:
    config = FetchConfig(mirror=server.address, accept_unverified=accept, download=IMPATIENT)
    return collect_datasets(datasets, folder / "data", folder / "downloads", config)


def test_a_set_is_unpacked_and_named_in_the_manifest(server, tmp_path):
    manifest = collect(server, tmp_path, reviews())
    entry = manifest.datasets["MR"]
    assert (tmp_path / "data/downstream/MR/pos").read_bytes() == POSITIVE
    assert (entry.state, entry.licence) == ("present", "none stated")
    file = entry.files["downstream/MR/neg"]
    assert (file.sha256, file.num_bytes, file.num_lines) == (sha256(NEGATIVE), 6, 1)
    assert (file.proof, file.as_senteval) == ("finished", True)
    assert file.source == f"{server.address}/reviews.tar"
    assert read_manifest(tmp_path / "data") == manifest


def test_a_second_run_asks_for_nothing(server, tmp_path):
    first = collect(server, tmp_path, reviews(), QUESTIONS_SET)
    asked = len(server.paths)
    assert collect(server, tmp_path, reviews(), QUESTIONS_SET) == first
    assert len(server.paths) == asked


@pytest.mark.parametrize(
    ("step", "reason"),
    [("404", "HTTP 404"), ("416", "HTTP 416"), ("wrong", "sha256 is .*, SentEval's file has")],
)
def test_a_failed_set_is_absent_with_its_reason_and_loses_no_other(server, tmp_path, step, reason):
    server.scripts["questions"] = [step] * 3
    manifest = collect(server, tmp_path, QUESTIONS_SET, reviews())
    absent = manifest.datasets["questions"]
    assert absent.state == "absent"
    assert absent.files == {}
    assert manifest.datasets["MR"].state == "present"
    assert not (tmp_path / "data/downstream/questions").exists()
    assert re.search(reason, absent.reason)


def test_a_failed_set_is_asked_for_again(server, tmp_path):
    server.scripts["questions"] = ["404"]
    collect(server, tmp_path, QUESTIONS_SET, reviews())
    before = server.paths.count("reviews.tar")
    manifest = collect(server, tmp_path, QUESTIONS_SET, reviews())
    assert manifest.datasets["questions"].state == "present"
    assert server.paths.count("reviews.tar") == before


def test_a_server_that_never_answers_is_asked_patiently_only_once(tmp_path, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr("pipeline.downloads.download.time.sleep", pauses.append)
    sets = [single(name, QUESTIONS) for name in ("one", "two", "three")]
    fetch = FetchConfig(mirror="http://127.0.0.1:9", download=IMPATIENT)
    manifest = collect_datasets(sets, tmp_path / "data", tmp_path / "downloads", fetch)
    assert {entry.state for entry in manifest.datasets.values()} == {"absent"}
    assert len(pauses) == IMPATIENT.attempts - 1


def test_addresses_are_tried_in_order_without_a_mirror(server, tmp_path):
    addresses = (f"{server.address}/gone", f"{server.address}/questions")
    file = DataFile("downstream/q", Download("q", addresses), sha256=sha256(QUESTIONS))
    config = FetchConfig(download=IMPATIENT)
    places = tmp_path / "data", tmp_path / "downloads"
    manifest = collect_datasets([Dataset("q", "", (file,))], *places, config)
    source = manifest.datasets["q"].files["downstream/q"].source
    assert source == f"{server.address}/questions"


@pytest.mark.parametrize(
    ("damaged", "reason"),
    [
        (b"<html>moved</html>", "not a whole archive"),
        (tarred({"MR/pos": b"a\nb\n", "MR/neg": NEGATIVE}), "SentEval's file has"),
        (tarred({"MR/pos": POSITIVE}), "no member named MR/neg"),
    ],
)
def test_what_is_not_the_archive_is_refused_and_asked_for_again(server, tmp_path, damaged, reason):
    server.files["reviews.tar"] = damaged
    entry = collect(server, tmp_path, reviews(), accept=True).datasets["MR"]
    assert entry.state == "absent" and reason in entry.reason
    server.files["reviews.tar"] = FILES["reviews.tar"]
    assert collect(server, tmp_path, reviews()).datasets["MR"].state == "present"


def test_a_wrong_number_of_lines_is_never_accepted(server, tmp_path):
    dataset = reviews(known=False, num_lines=3)
    reason = collect(server, tmp_path, dataset, accept=True).datasets["MR"].reason
    assert "downstream/MR/pos from reviews.tar: 2 lines, expected 3" in reason


def test_what_nothing_can_verify_is_refused_and_says_what_to_do(server, tmp_path):
    entry = collect(server, tmp_path, UNKNOWN_SET).datasets["unknown"]
    assert entry.state == "absent"
    assert "--accept-unverified" in entry.reason
    assert sha256(FILES["unknown"]) in entry.reason


def test_what_was_accepted_once_is_asked_for_later(server, tmp_path):
    manifest = collect(server, tmp_path, UNKNOWN_SET, accept=True)
    file = manifest.datasets["unknown"].files["downstream/unknown"]
    assert (file.proof, file.as_senteval) == ("first use", None)
    assert manifest.trusted == {"unknown": sha256(FILES["unknown"])}
    for path in ("data/downstream/unknown", "downloads/unknown"):
        (tmp_path / path).unlink()

    again = collect(server, tmp_path, UNKNOWN_SET)
    assert again.datasets["unknown"].state == "present"

    for path in ("data/downstream/unknown", "downloads/unknown"):
        (tmp_path / path).unlink()
    server.files["unknown"] = b"another\n"
    reason = collect(server, tmp_path, UNKNOWN_SET, accept=True).datasets["unknown"].reason
    assert "was accepted with this sha256 before" in reason
    assert read_manifest(tmp_path / "data").trusted == manifest.trusted


def test_an_archive_of_several_sets_is_asked_for_once(server, tmp_path):
    collect(server, tmp_path, reviews(), reviews(name="copy"))
    assert server.paths == ["reviews.tar"]


def test_an_archive_that_lacks_one_set_is_kept_for_the_others(server, tmp_path):
    lacking = Dataset("CR", "", (DataFile("downstream/CR/pos", REVIEWS, "CR/pos"),))
    for _ in range(2):
        manifest = collect(server, tmp_path, lacking, reviews())
        (tmp_path / "data/downstream/MR/pos").unlink()
    assert "no member named CR/pos" in manifest.datasets["CR"].reason
    assert server.paths == ["reviews.tar"]


def test_a_damaged_file_that_cannot_be_had_again_is_not_left_to_be_read(server, tmp_path):
    collect(server, tmp_path, QUESTIONS_SET)
    path = tmp_path / "data/downstream/questions"
    path.write_bytes(b"damaged")
    (tmp_path / "downloads/questions").unlink()
    del server.files["questions"]
    entry = collect(server, tmp_path, QUESTIONS_SET).datasets["questions"]
    assert entry.state == "absent"
    assert not path.exists()
    aside = path.with_name("questions.refused")
    assert aside.read_bytes() == b"damaged"
    assert entry.reason.endswith(f"what stood there is kept as {aside}")

    server.files["questions"] = QUESTIONS
    collect(server, tmp_path, QUESTIONS_SET)
    assert path.read_bytes() == QUESTIONS


def test_two_runs_at_once_take_turns_and_lose_nothing_of_each_other(server, tmp_path):
    said: list[str] = []
    server.scripts["questions"] = ["stall:100"]
    first = threading.Thread(target=collect, args=(server, tmp_path, QUESTIONS_SET))
    first.start()
    wait_until(lambda: server.paths == ["questions"])
    fetch = FetchConfig(mirror=server.address, download=IMPATIENT)
    manifest = collect_datasets(
        [QUESTIONS_SET, reviews()],
        tmp_path / "data",
        tmp_path / "downloads",
        fetch,
        on_progress=lambda _, status: said.append(status),
    )
    first.join()
    assert said[0] == "waiting for another run that downloads"
    assert server.paths == ["questions", "questions", "reviews.tar"]
    assert [entry.state for entry in manifest.datasets.values()] == ["present", "present"]
    assert read_manifest(tmp_path / "data") == manifest


def test_a_damaged_manifest_is_an_error_with_the_remedy(server, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/manifest.json").write_text(json.dumps({"version": 0}))
    with pytest.raises(ValueError, match=r"not a manifest of evaluation data \(version 0.*delete"):
        collect(server, tmp_path, QUESTIONS_SET)


def write_local(folder: Path, positive: bytes = POSITIVE) -> None:
    (folder / "downstream/MR").mkdir(parents=True)
    (folder / "downstream/MR/pos").write_bytes(positive)
    (folder / "downstream/MR/neg").write_bytes(NEGATIVE)


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (b"a\nb\nc\n", "3 lines, published 2"),
        (b"a\nb\n", "as many lines as SentEval's, other bytes"),
        (b"", "0 lines, published 2"),
        (POSITIVE, ""),
    ],
)
def test_what_a_user_has_is_present_and_its_departures_are_remarked(tmp_path, content, remark):
    write_local(tmp_path, content)
    entry = examine_folder([reviews()], tmp_path).datasets["MR"]
    assert (entry.state, entry.reason) == ("present", "")
    file = entry.files["downstream/MR/pos"]
    assert (file.remark, file.as_senteval) == (remark, content == POSITIVE)
    assert file.proof == ("finished" if content == POSITIVE else "none")


def test_a_folder_of_something_else_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="holds none of downstream, probing"):
        examine_folder([reviews()], tmp_path)
