"""The frame of a job: progress lines, exit codes, and its end when its parent dies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from treeviews.pipeline.base.job import (
    JobFailedError,
    JobMistakeError,
    run_from_command_line,
    run_job_process,
)


def write_job(folder: Path, **job: object) -> str:
    path = folder / "job.json"
    path.write_text(json.dumps(job), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("row 7 is no tree"), 2),
        (FileNotFoundError("no such text"), 2),
        (KeyError("k"), 1),
    ],
)
def test_a_failure_is_one_line_and_its_traceback_a_file(
    error: Exception, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def where_it_happens(job: object, progress: object) -> None:
        raise error

    assert run_from_command_line(where_it_happens, [write_job(tmp_path)]) == code
    path = tmp_path / "job.json.traceback.txt"
    name = type(error).__name__
    assert capsys.readouterr().err == f"{name}: {error} [traceback: {path}]\n"
    text = path.read_text(encoding="utf-8")
    assert "in where_it_happens" in text
    assert text.endswith(f"{name}: {error}\n")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "job.json: no job ([Errno 2] No such file or directory"),
        ("{'epochs': 1}", "job.json: no job (Expecting property name"),
        ("\xff", "job.json: no job ('utf-8' codec can't decode"),
    ],
)
def test_a_file_that_is_no_job_is_told_in_one_line(
    content: str | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "job.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))

    assert run_from_command_line(lambda job, progress: None, [str(path)]) == 2

    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert error.endswith("); give a JSON file of its settings\n")


def test_processes_of_one_job_leave_a_traceback_each(tmp_path: Path) -> None:
    def fail(job: object, progress: object) -> None:
        raise ValueError("row 7 is no tree")

    path = write_job(tmp_path)
    for part in ("rank-0", "rank-1"):
        assert run_from_command_line(fail, [path], part=part) == 2
    names = ["job.json.rank-0.traceback.txt", "job.json.rank-1.traceback.txt"]
    assert sorted(trace.name for trace in tmp_path.glob("*.txt")) == names

    assert run_from_command_line(lambda job, progress: None, [path], part="rank-0") == 0
    assert [trace.name for trace in tmp_path.glob("*.txt")] == names[1:]

    assert run_from_command_line(lambda job, progress: None, [path]) == 0
    assert list(tmp_path.glob("*.txt")) == []


@pytest.mark.parametrize(
    ("content", "kind", "told"),
    [
        ("raise ValueError('row 7 is no tree\\n; cut it')", JobMistakeError, "row 7 is no tree"),
        ("raise KeyError('k')", JobFailedError, "KeyError: 'k'"),
    ],
)
def test_whoever_started_a_job_gets_its_own_sentence_and_its_traceback(
    content: str, kind: type[Exception], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_job.py").write_text(
        "import sys\n"
        "from treeviews.pipeline.base.job import run_from_command_line\n"
        "def execute(job, progress):\n"
        "    print('a line of a library', file=sys.stderr)\n"
        f"    {content}\n"
        "sys.exit(run_from_command_line(execute))\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{REPOSITORY}")
    path = tmp_path / "job.json"
    with pytest.raises(kind) as caught:
        run_job_process("failing_job", {}, path, lambda *_: None, threads=1)
    assert type(caught.value) is kind
    assert str(caught.value).startswith(told)
    assert str(caught.value).endswith(f" [traceback: {path}.traceback.txt]")
