"""DownloadSentEval as Luigi runs it: what fails, what is kept, what a second run asks for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import luigi
import pytest

from tests.support.download_server import DownloadServer, serving
from tests.support.luigi_builds import build
from treeviews.pipeline.downloads.senteval_data import read_manifest
from treeviews.tasks import DownloadSentEval

TENSE = b"tr\tPAST\tIt rained .\n"


@pytest.fixture
def server() -> Iterator[DownloadServer]:
    with serving({"past_present.txt": TENSE}) as found:
        yield found


def download(server: DownloadServer, folder: Path, datasets: str, **options: bool):
    return DownloadSentEval(work_folder=folder, mirror=server.address, datasets=datasets, **options)


def test_an_absent_set_fails_the_task_which_keeps_the_others(server, tmp_path):
    task = download(server, tmp_path, "past_present,obj_number", accept_unverified=True)
    assert not build(task)
    assert not task.complete()
    assert download(server, tmp_path, "past_present").complete()
    assert read_manifest(task.folder).datasets["obj_number"].state == "absent"

    server.files["obj_number.txt"] = b"tr\tNN\tA dog ran .\n"
    before = server.paths.count("past_present.txt")
    assert build(task)
    assert server.paths.count("past_present.txt") == before


def begin_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does what a new process of Luigi does: it begins now and knows no tasks."""
    monkeypatch.setattr("treeviews.tasks.evaluation_data.RUN_BEGAN_AT", time.time())
    luigi.task_register.Register.clear_instance_cache()


def test_each_run_asks_once_more_for_what_may_be_absent(server, tmp_path, monkeypatch):
    options = {"accept_unverified": True, "allow_absent": True}
    assert build(download(server, tmp_path, "past_present,obj_number", **options))
    assert build(download(server, tmp_path, "past_present,obj_number", **options))
    assert server.paths.count("obj_number.txt") == 1

    begin_another_run(monkeypatch)
    server.files["obj_number.txt"] = b"tr\tNN\tA dog ran .\n"
    task = download(server, tmp_path, "past_present,obj_number", **options)
    assert not task.complete()
    assert build(task)
    assert read_manifest(task.folder).datasets["obj_number"].state == "present"
    assert server.paths.count("past_present.txt") == 1

    begin_another_run(monkeypatch)
    assert download(server, tmp_path, "past_present,obj_number", **options).complete()


def test_a_file_that_was_damaged_is_made_again(server, tmp_path):
    task = download(server, tmp_path, "past_present", accept_unverified=True)
    assert build(task)
    path = task.folder / "probing/past_present.txt"
    path.write_bytes(TENSE.replace(b"rained", b"snowed"))
    assert not task.complete()
    assert build(task)
    assert path.read_bytes() == TENSE
