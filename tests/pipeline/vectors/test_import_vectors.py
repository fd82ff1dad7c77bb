"""Published word vectors become a folder: numbers, odd words, packed files, what is refused."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import zstandard

from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.vectors import vector_folder
from treeviews.pipeline.vectors.foreign_vectors import TextReader
from treeviews.pipeline.vectors.import_vectors import ImportConfig, import_vectors
from treeviews.pipeline.vectors.vector_folder import open_folder
from treeviews.pipeline.vectors.word_lists import WordList, write_word_list

FLOAT32 = ImportConfig(kept_as="float32")
WORDS = ["the", "cat", "naïve", "New_York", "\u3042\u3044"]
ROWS = np.random.default_rng(1).normal(size=(5, 6)).astype(np.float32)
TEXT = "the 0.5 -1\n, 2e-1 3\ncat -0.25 7.125\n"


def imported(path: Path, out: Path, config: ImportConfig = FLOAT32) -> dict[str, list[float]]:
    """Returns the vectors of a file's words after its import."""
    import_vectors(path, out, config)
    table = open_folder(out, whole=True)
    return dict(zip(table.words.to_pylist(), table.rows[1:].tolist(), strict=True))


def written(folder: Path, content: str | bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def zipped(content: bytes, *names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("glove.840B.300d.txt",):
            archive.writestr(name, content)
    return stream.getvalue()


def binary(newline: bytes = b"\n") -> bytes:
    rows = [w.encode() + b" " + row.tobytes() + newline for w, row in zip(WORDS, ROWS, strict=True)]
    return b"5 6\n" + b"".join(rows)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: zstandard.ZstdCompressor().compress(content),
    ".zip": zipped,
}


def test_numbers_are_those_of_pythons_float_rounded_to_float32(tmp_path: Path) -> None:
    draw = random.Random(3)
    spelled = [f"{draw.gauss(0, 1):.{draw.randrange(1, 18)}g}" for _ in range(3_000)]
    spelled += ["1e-46", "1.1754943e-38", "3.4028234e38", "-0.0", "16777217", "1E5", "5.", ".5"]
    lines = "".join(f"w{i} {number} 1\n" for i, number in enumerate(spelled))
    rows = imported(written(tmp_path, lines), tmp_path / "out").values()
    expected = np.array([float(number) for number in spelled], dtype=np.float32)
    assert np.array([row[0] for row in rows], dtype=np.float32).tobytes() == expected.tobytes()


def test_both_ways_of_parsing_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = np.random.default_rng(0).normal(size=(500, 7))
    lines = [f"w{i} " + " ".join(f"{v:.9g}" for v in row) for i, row in enumerate(rows)]
    path = written(tmp_path, "\n".join(lines))
    fast = imported(path, tmp_path / "fast")
    monkeypatch.setattr(TextReader, "_parse_usual", lambda *_: None)
    assert imported(path, tmp_path / "slow") == fast


ODD_WORDS = [
    '"',
    "'",
    '""',
    "a\u00a0b",
    ". . .",
    "at name@domain.com",
    "naïve",
    "𝔘",
    "#",
    "\\",
    "NaN",
]


def test_odd_words_keep_their_spelling(tmp_path: Path) -> None:
    lines = [f"{word} {i} {i}.5\n" for i, word in enumerate(["first", *ODD_WORDS])]
    rows = imported(written(tmp_path, "".join(lines)), tmp_path / "out")
    assert list(rows) == ["first", *ODD_WORDS]
    assert rows["at name@domain.com"] == [6.0, 6.5]


@pytest.mark.parametrize(
    "text",
    [
        *("2 2\na 1 2\nb 3 4\n", "2 2\na 1 2 \nb 3 4 \n", "a 1 2\r\nb 3 4\r\n", "a 1 2\nb 3 4"),
        *("\ufeffa 1 2\nb 3 4\n", "\ufeff2 2\na 1 2\nb 3 4\n"),
    ],
)
def test_headers_trailing_spaces_byte_order_marks_and_line_ends(text: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    assert imported(path, tmp_path / "out") == {"a": [1, 2], "b": [3, 4]}
    assert load_word_vectors(path).words == ("", "a", "b")


@pytest.mark.parametrize("newline", [b"\n", b""])
def test_word2vecs_binary_format_is_read(newline: bytes, tmp_path: Path) -> None:
    import_vectors(written(tmp_path, binary(newline), "v.bin"), tmp_path / "out", FLOAT32)
    table = open_folder(tmp_path / "out")
    assert table.words.to_pylist() == WORDS
    np.testing.assert_array_equal(table.rows[1:], ROWS)


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_are_read_and_those_that_were_cut_refused(suffix: str, tmp_path: Path) -> None:
    packed = PACKERS[suffix]("".join(f"w{i} {i} 2\n" for i in range(2_000)).encode())
    path = written(tmp_path, packed, f"v.txt{suffix}")
    assert imported(path, tmp_path / "out")["w7"] == [7, 2]

    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(ValueError, match=rf"broken \{suffix} file .*; fetch it again"):
        import_vectors(path, tmp_path / "cut")
    assert not (tmp_path / "cut").exists()


def test_malformed_lines_are_left_out_by_number_and_reason(tmp_path: Path) -> None:
    text = b"a 1 2\nb 3\nc 4 x\n\nd\xff 5 6\ne 7 nan\nf 8 1e39\n 9 10\ng 11 12\n"
    assert imported(written(tmp_path, text), tmp_path / "out") == {"a": [1, 2], "g": [11, 12]}
    lines = (tmp_path / "out" / "quarantine.jsonl").read_text().splitlines()
    refused = {row["line"]: row["reason"] for row in map(json.loads, lines)}
    reasons = ["ragged", "no_number", "ragged", "not_utf8", "no_number", "no_number", "ragged"]
    assert refused == dict(enumerate(reasons, start=2))
    facts = json.loads((tmp_path / "out" / "training.json").read_text())
    assert facts["malformed"] == {"no_number": 3, "not_utf8": 1, "ragged": 3}
    assert facts["lines"] == 9


def test_rows_that_are_no_vectors_are_left_out_of_a_binary_file(tmp_path: Path) -> None:
    infinite, good = (np.array([1, last], np.float32).tobytes() for last in (np.inf, 2))
    content = b"4 2\na " + infinite + b"\xff\xfe " + good + b" " + good + b"c " + good
    facts = import_vectors(written(tmp_path, content, "v.bin"), tmp_path / "out")
    assert facts["malformed"] == {"no_number": 1, "no_word": 1, "not_utf8": 1}
    assert open_folder(tmp_path / "out").words.to_pylist() == ["c"]


def test_of_a_repeated_word_the_first_row_counts(tmp_path: Path) -> None:
    path = written(tmp_path, "".join(f"w{i % 70} {i} 1\n" for i in range(100)))
    assert imported(path, tmp_path / "out") == {f"w{i}": [i, 1] for i in range(70)}


@pytest.mark.parametrize("suffix", [".parquet", ".json", ".txt"])
def test_the_words_of_a_vocabulary_and_their_lower_cased_forms_are_taken(
    suffix: str, tmp_path: Path
) -> None:
    words, vocabulary = ["The", "Paris", "snow"], tmp_path / f"vocabulary{suffix}"
    if suffix == ".parquet":
        listed = WordList(pa.array(words, pa.large_string()), np.array([3, 2, 1]))
        write_word_list(vocabulary, listed)
    else:
        vocabulary.write_text(json.dumps(words) if suffix == ".json" else "\n".join(words))
    path = written(tmp_path, "The 1 2\nthe 3 4\nparis 5 6\nPARIS 7 8\nrain 9 1\n")

    facts = import_vectors(path, tmp_path / "out", FLOAT32, vocabulary=vocabulary)

    assert open_folder(tmp_path / "out").words.to_pylist() == ["The", "the", "paris"]
    assert facts["not_in_vocabulary"] == 2 and facts["vocabulary"]["name"] == vocabulary.name


@pytest.mark.parametrize(
    ("content", "config", "reason"),
    [
        ("3 2\na 1 2\nb 3 4\n", {}, "the header promises 3 words, the file holds 2"),
        ("a 1 2\nb\nc\nd 3 4\n", {"max_malformed": 1}, r"v:2: .*2 of the first 4 .*\(2 ragged\)"),
        ("a 1 2\nb 80000 1\n", {}, r"than half precision .* \(--kept-as float32\)"),
        ("no\nnumbers\n", {}, "v:1: expected a word and its numbers"),
        *((binary(b"")[:-cut], {}, r"v: row \d of 5 is not whole") for cut in (1, 30, 100)),
        ((793_712_314).to_bytes(4, "little"), {}, r"fastText's \.bin, .*give the \.vec"),
        (pickle.dumps([1]), {}, r"gensim's own format, .*KeyedVectors\.load\(PATH\)\.save_word"),
    ],
)
def test_what_cannot_be_taken_is_refused_and_leaves_nothing(
    content: str | bytes, config: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    path = written(tmp_path, content, "v")
    with pytest.raises(ValueError, match=reason):
        import_vectors(path, tmp_path / "out", ImportConfig.from_dict(config))
    assert list(tmp_path.iterdir()) == [path]


def test_an_import_that_is_interrupted_leaves_nothing_and_a_folder_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    path = written(tmp_path, TEXT)
    with monkeypatch.context() as patch:
        patch.setattr(vector_folder, "write_sealed_json", interrupt)
        with pytest.raises(KeyboardInterrupt):
            import_vectors(path, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [path]

    import_vectors(path, tmp_path / "out")
    before = (tmp_path / "out" / "vectors.safetensors").read_bytes()
    with pytest.raises(ValueError, match="out: holds files already; remove them, or give"):
        import_vectors(path, tmp_path / "out")
    import_vectors(path, tmp_path / "again")
    assert (tmp_path / "again" / "vectors.safetensors").read_bytes() == before
