"""Files of sentences encoded piece by piece have the rows of encoding them at once."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treeviews import models
from treeviews.models import encode_lines as lines_module
from treeviews.models.encode_lines import encode_lines

SENTENCES = ["The cat sat.", "It rained\x0cand rained.", "Äpfel fallen.", "  ", "Why?"] * 3


@pytest.fixture(scope="module")
def english() -> Any:
    return models.load("english", on_refusal="zero")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines_module, "LINES_AT_ONCE", 4)


def text(end: str = "\n") -> io.BytesIO:
    return io.BytesIO(("\n".join(SENTENCES) + end).encode())


class Pipe(io.RawIOBase):
    def __init__(self) -> None:
        self.content = b""

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def write(self, data: Any) -> int:
        self.content += bytes(data)
        return len(bytes(data))


@pytest.mark.parametrize("end", ["\n", ""])
def test_rows_are_those_of_all_at_once(english: Any, tmp_path: Path, end: str) -> None:
    done: list[int] = []
    target = tmp_path / "vectors.npy"
    shape, refused = encode_lines(english, text(end), "text", target, on_progress=done.append)
    expected = english.encode(SENTENCES)
    np.testing.assert_array_equal(np.load(target), expected)
    assert shape == expected.shape
    assert [one.index for one in refused] == [3, 8, 13]
    assert done == [4, 8, 12, 15]
    assert list(tmp_path.iterdir()) == [target]


def test_a_pipe_is_given_the_whole_file(english: Any) -> None:
    pipe: Any = Pipe()
    encode_lines(english, text(), "text", pipe, normalize=True)
    found = np.load(io.BytesIO(pipe.content))
    np.testing.assert_array_equal(found, english.encode(SENTENCES, normalize=True))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "notes.txt: no sentences; give one a line"),
        (b"fine\n" * 5 + b"\xff\n", "notes.txt:6: not UTF-8"),
        (b"fine\n" * 5 + b"\n", "counted from line 5 on: sentence 1 (from 0): empty"),
        (b"\n", "sentence 0 (from 0): empty"),
    ],
)
def test_a_mistake_names_its_line_and_leaves_no_file(
    tmp_path: Path, content: bytes, said: str
) -> None:
    strict = models.load("english")
    with pytest.raises(ValueError) as raised:
        encode_lines(strict, io.BytesIO(content), "notes.txt", tmp_path / "vectors.npy")
    assert said in str(raised.value)
    assert list(tmp_path.iterdir()) == []
