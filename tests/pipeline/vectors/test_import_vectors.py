"""Published text of word vectors becomes a folder: numbers, odd words, packed files, bad lines."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import zstandard

from models.words.vector_files import load_word_vectors
from pipeline.vectors import text_format, write_folder
from pipeline.vectors.folder import open_folder
from pipeline.vectors.import_vectors import ImportConfig, import_vectors
from pipeline.vectors.word_list import WordList, write_word_list

FLOAT32 = ImportConfig(kept_as="float32")
TEXT = "the 0.5 -1\n, 2e-1 3\ncat -0.25 7.125\n"


def imported(path: Path, out: Path, config: ImportConfig = FLOAT32) -> dict[str, list[float]]:
    """Returns the vectors of a file's words after its import."""
    import_vectors(path, out, config)
    table = open_folder(out, whole=True)
    return dict(zip(table.words.to_pylist(), table.rows[1:].tolist(), strict=True))


def text_file(folder: Path, text: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_numbers_are_those_of_pythons_float_rounded_to_float32(tmp_path: Path) -> None:
    draw = random.Random(3)
    spelled = [f"{draw.gauss(0, 1):.{draw.randrange(1, 18)}g}" for _ in range(3_000)]
    spelled += [
        "1e-46",
        "1.1754943e-38",
        "3.4028234e38",
        "-0.0",
        "16777217",
        "0.1",
        "1E5",
        "5.",
        ".5",
    ]
    lines = [f"w{i} {number} 1" for i, number in enumerate(spelled)]

    found = imported(text_file(tmp_path, "\n".join(lines) + "\n"), tmp_path / "out")

    expected = [np.float32(float(number)) for number in spelled]
    assert [np.float32(row[0]).tobytes() for row in found.values()] == [
        number.tobytes() for number in expected
    ]


def test_both_ways_of_parsing_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(500, 7))
    lines = [f"w{i} " + " ".join(f"{v:.9g}" for v in row) for i, row in enumerate(rows)]
    path = text_file(tmp_path, "\n".join(lines))
    fast = imported(path, tmp_path / "fast")
    monkeypatch.setattr(text_format._Columns, "_parse_usual", lambda *_: None)

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
    "1",
    "NaN",
]


def test_odd_words_keep_their_spelling(tmp_path: Path) -> None:
    lines = [f"{word} {i} {i}.5\n" for i, word in enumerate(["first", *ODD_WORDS])]

    found = imported(text_file(tmp_path, "".join(lines)), tmp_path / "out")

    assert list(found) == ["first", *ODD_WORDS]
    assert found["at name@domain.com"] == [6.0, 6.5]


@pytest.mark.parametrize("header", ["", "2 2\n"])
def test_a_byte_order_mark_is_no_part_of_the_first_word(header: str, tmp_path: Path) -> None:
    path = text_file(tmp_path, f"\ufeff{header}the 1 2\ncat 3 4\n")
    found = imported(path, tmp_path / "out")
    assert found == {"the": [1, 2], "cat": [3, 4]}
    assert load_word_vectors(path).words == ("", "the", "cat")


def zipped(content: bytes) -> bytes:
    import io

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("glove.840B.300d.txt", content)
    return stream.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda content: zstandard.ZstdCompressor().compress(content),
    ".zip": zipped,
}


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_are_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"vectors.txt{suffix}"
    path.write_bytes(PACKERS[suffix](TEXT.encode()))

    assert imported(path, tmp_path / "out")["cat"] == [-0.25, 7.125]


@pytest.mark.parametrize("suffix", PACKERS)
def test_packed_files_that_were_cut_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"vectors.txt{suffix}"
    whole = PACKERS[suffix]("".join(f"w{i} {i} 2\n" for i in range(2_000)).encode())
    path.write_bytes(whole[: len(whole) // 2])

    with pytest.raises(ValueError, match=rf"broken \{suffix} file .*; fetch it again"):
        import_vectors(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_of_an_archive_of_several_files_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "glove.6B.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("glove.6B.50d.txt", "a 1 2\n")
        archive.writestr("glove.6B.100d.txt", "a 3 4 5\n")

    with pytest.raises(ValueError, match=r"not one file in it; name one of .*6B\.50d.*--member"):
        import_vectors(path, tmp_path / "out")
    config = ImportConfig(member="glove.6B.100d.txt")
    assert imported(path, tmp_path / "out", config) == {"a": [3, 4, 5]}


@pytest.mark.parametrize(
    "text", ["2 2\na 1 2\nb 3 4\n", "2 2\na 1 2 \nb 3 4 \n", "a 1 2\r\nb 3 4\r\n"]
)
def test_headers_trailing_spaces_and_other_line_ends(text: str, tmp_path: Path) -> None:
    assert imported(text_file(tmp_path, text), tmp_path / "out") == {"a": [1, 2], "b": [3, 4]}


def test_malformed_lines_are_left_out_by_number_and_reason(tmp_path: Path) -> None:
    text = b"a 1 2\nb 3\nc 4 x\n\nd\xff 5 6\ne 7 nan\nf 8 1e39\n 9 10\ng 11 12\n"

    found = imported(text_file(tmp_path, text), tmp_path / "out")

    assert found == {"a": [1, 2], "g": [11, 12]}
    lines = (tmp_path / "out" / "quarantine.jsonl").read_text().splitlines()
    refused = [json.loads(line) for line in lines]
    assert [(one["line"], one["reason"]) for one in refused] == [
        (2, "ragged"),
        (3, "no_number"),
        (4, "ragged"),
        (5, "not_utf8"),
        (6, "no_number"),
        (7, "no_number"),
        (8, "ragged"),
    ]
    facts = json.loads((tmp_path / "out" / "training.json").read_text())
    assert facts["malformed"] == {"no_number": 3, "not_utf8": 1, "ragged": 3}
    assert facts["lines"] == 9


def test_too_many_malformed_lines_are_an_error(tmp_path: Path) -> None:
    path = text_file(tmp_path, "a 1 2\nb\nc\nd 3 4\n")

    with pytest.raises(
        ValueError, match=r"vectors\.txt:2: .*2 of the first 4 .*\(2 ragged\) and 1"
    ):
        import_vectors(path, tmp_path / "out", ImportConfig(max_malformed=1))


def test_of_a_repeated_word_the_first_row_counts(tmp_path: Path) -> None:
    lines = [f"w{i % 70} {i} 1\n" for i in range(100)]

    found = imported(text_file(tmp_path, "".join(lines)), tmp_path / "out")

    assert found == {f"w{i}": [i, 1] for i in range(70)}
    assert load_word_vectors(tmp_path / "out").num_duplicates == 30


def test_words_lose_their_case_where_that_is_asked(tmp_path: Path) -> None:
    path = text_file(tmp_path, "The 1 2\nthe 3 4\nÉTÉ 5 6\n")

    found = imported(path, tmp_path / "out", ImportConfig(lower_case=True, kept_as="float32"))

    assert found == {"the": [1, 2], "été": [5, 6]}


def vocabulary_file(folder: Path, suffix: str, words: list[str]) -> Path:
    path = folder / f"vocabulary{suffix}"
    if suffix == ".parquet":
        counts = np.arange(len(words), 0, -1)
        write_word_list(path, WordList(pa.array(words, pa.large_string()), counts))
    else:
        path.write_text(
            json.dumps(words) if suffix == ".json" else "\n".join(words), encoding="utf-8"
        )
    return path


@pytest.mark.parametrize("suffix", [".parquet", ".json", ".txt"])
def test_the_words_of_a_vocabulary_and_their_lower_cased_forms_are_taken(
    suffix: str, tmp_path: Path
) -> None:
    path = text_file(tmp_path, "The 1 2\nthe 3 4\nparis 5 6\nPARIS 7 8\nrain 9 1\n")
    vocabulary = vocabulary_file(tmp_path, suffix, ["The", "Paris", "snow"])

    facts = import_vectors(path, tmp_path / "out", FLOAT32, vocabulary=vocabulary)

    assert open_folder(tmp_path / "out").words.to_pylist() == ["The", "the", "paris"]
    assert facts["not_in_vocabulary"] == 2 and facts["vocabulary"]["name"] == vocabulary.name


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the header promises 3 words, the file holds 2"):
        import_vectors(text_file(tmp_path, "3 2\na 1 2\nb 3 4\n"), tmp_path / "out")


def test_half_precision_refuses_what_it_cannot_hold(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"than half precision .* \(--kept-as float32\)"):
        import_vectors(text_file(tmp_path, "a 1 2\nb 80000 1\n"), tmp_path / "out")


def test_a_folder_that_holds_vectors_is_left_alone(tmp_path: Path) -> None:
    import_vectors(text_file(tmp_path, TEXT), tmp_path / "out")
    before = (tmp_path / "out" / "vectors.safetensors").read_bytes()
    with pytest.raises(ValueError, match="out: holds files already; remove them, or give"):
        import_vectors(text_file(tmp_path, "other 1 2\n"), tmp_path / "out")
    assert (tmp_path / "out" / "vectors.safetensors").read_bytes() == before


def test_an_import_that_is_interrupted_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    path = text_file(tmp_path, TEXT)
    monkeypatch.setattr(write_folder, "write_sealed_json", interrupt)
    with pytest.raises(KeyboardInterrupt):
        import_vectors(path, tmp_path / "out")
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_file_gives_the_same_table_and_words(tmp_path: Path) -> None:
    path = text_file(tmp_path, TEXT)
    for name in ("one", "two"):
        import_vectors(path, tmp_path / name)
    for file in ("vectors.safetensors", "words.parquet"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    checksums = {load_word_vectors(tmp_path / name).checksum for name in ("one", "two")}
    assert len(checksums) == 1
