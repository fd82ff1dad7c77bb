"""Whose fault an error is, how it is told, what may have been meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from treeviews.pipeline.base.job import JobFailedError, JobMistakeError
from treeviews.pipeline.base.mistakes import code_of, did_you_mean, sentence_of


def error_of_opening(path: Path) -> OSError:
    try:
        path.open()
    except OSError as error:
        return error
    raise AssertionError("it can be opened")


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (ValueError("epochs must be at least 1"), 2, "epochs must be at least 1"),
        (ModuleNotFoundError("no ray: pip install ray"), 2, "no ray: pip install ray"),
        (ValueError(), 2, "ValueError"),
        (KeyError("views"), 1, "KeyError: 'views'"),
        (JobFailedError("KeyError: 'a'"), 1, "KeyError: 'a'"),
        (JobMistakeError("no such text"), 2, "no such text"),
        (ValueError("https://me:secret@host/ is gone"), 2, "https://***@host/ is gone"),
        (ValueError("a\x1b[31mred"), 2, "a\\x1b[31mred"),
    ],
)
def test_an_error_is_one_sentence_and_a_code(error: Exception, code: int, sentence: str) -> None:
    assert (code_of(error), sentence_of(error)) == (code, sentence)


def test_an_error_of_the_system_is_told_with_a_remedy(tmp_path: Path) -> None:
    missing, folder = tmp_path / "none", tmp_path
    told = sentence_of(error_of_opening(missing))
    assert told == f"{missing}: No such file or directory; check the path"
    assert sentence_of(error_of_opening(folder)) == f"{folder}: Is a directory; give a file"


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["DEPP"], "; did you mean DEP?"),
        (["seq"], "; did you mean SEQ?"),
        (["DEPP", "CONTS"], "; did you mean DEP, CONST?"),
        (["nothing like it"], ""),
    ],
)
def test_what_may_have_been_meant(given: list[str], meant: str) -> None:
    assert did_you_mean(*given, known=["SEQ", "DEP", "CONST"]) == meant
