"""Rows of CSV and TSV: what a stray quote costs, and which are refused."""

from __future__ import annotations

from pathlib import Path

from tests.support.source_files import QUOTE, STRAY_QUOTES, read, refusals_in, rows_of, written


def test_rows_of_csv_without_text_are_refused_one_by_one(tmp_path: Path) -> None:
    content = (
        b"id,text\n"
        b"1,Good.\n"
        b"2, \n"
        b"\n"
        b"3\n"
        b"4,Too,many\n"
        b'5,"Quoted" wrongly\n'
        b"6,Caf\xe9\n"
        b'7,"Two\nlines, one row."\n'
        b'8,"Never closed.\n'
    )
    found = read(written(tmp_path, "a.csv", content), paragraphs="line")
    assert found == {
        "a.csv:1": ["Good."],
        "a.csv:2": ["!empty_text@a.csv:2"],
        "a.csv:3": ["!bad_row@a.csv:3"],
        "a.csv:4": ["!bad_row@a.csv:4"],
        "a.csv:5": ["!bad_row@a.csv:5"],
        "a.csv:6": ["!undecodable@a.csv:6"],
        "a.csv:7": ["Two", "lines, one row."],
        "a.csv:8": ["!bad_row@a.csv:8"],
    }


def test_a_stray_quote_costs_its_row_alone(tmp_path: Path) -> None:
    texts = [f"{QUOTE * (number == 3)}Row {number} is a text." for number in range(1000)]
    path = written(tmp_path, "a.csv", rows_of(texts, ","))
    found = read(path)
    assert found.pop("a.csv:4") == ["!bad_row@a.csv:4"]
    assert [*found.values()] == [[text] for text in texts if not text.startswith('"')]
    (said,) = refusals_in(path)
    assert said.startswith("line 5: no row (unexpected end of data): ")
    assert said.endswith("for 997 lines from here on, 1 of them left out; mend its quotes")


def test_what_stands_between_stray_quotes_is_read(tmp_path: Path) -> None:
    found = read(written(tmp_path, "a.csv", STRAY_QUOTES))
    assert [*found.values()] == [
        [f'Two lines, "{number}" in all.']
        if number % 5 == 3
        else [f"Row “{number}” is a text." if number % 7 else f"!bad_row@a.csv:{number + 1}"]
        for number in range(120)
    ]


def test_a_broken_row_of_several_lines_is_refused_whole(tmp_path: Path) -> None:
    broken = b'1,"It begins,\n\nshe said, softly.\nIt "ends", late.\n"\n'
    path = written(tmp_path, "a.csv", b"id,text\n" + broken + b"2,Good.\n")
    found = read(path)
    assert found["a.csv:1"] == ["!bad_row@a.csv:1"]
    assert [*found.values()][-1] == ["Good."]
    assert not any("softly" in item for items in found.values() for item in items)
    assert "for 4 lines from here on, 4 of them left out" in refusals_in(path)[0]


def test_a_damaged_line_behind_a_stray_quote_is_refused_itself(tmp_path: Path) -> None:
    content = b'id,text\n1,"Never closed.\n2,Good.\n3,Caf\xe9\n4,Good, too\n5,Also good.\n'
    assert [*read(written(tmp_path, "a.csv", content)).values()] == [
        ["!bad_row@a.csv:1"],
        ["Good."],
        ["!undecodable@a.csv:3"],
        ["Also good."],
    ]


def test_a_row_of_too_many_fields_says_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b'id,text\n1,"Two\nlines.",\n2,Good.\n')
    assert refusals_in(path) == ["3 fields in 2 lines under a header of 2; quote the text"]


def test_a_row_that_no_field_bounds_is_not_held(tmp_path: Path) -> None:
    lines = 20_000
    path = written(tmp_path, "a.csv", b'id,text\n1,"x\n' + b'x","y\n' * lines)
    (said, *_) = refusals_in(path, max_paragraph_characters=100)
    assert "more than 10,000 characters" in said
    assert "2,000 lines" in said


def test_a_quote_between_tabs_is_a_character(tmp_path: Path) -> None:
    texts = ["Plain.", '"Yes," she said.', '"Wait till I tell you, he began', "It's 5\"", '""', '"']
    found = read(written(tmp_path, "a.tsv", rows_of(texts, "\t")))
    assert [*found.values()] == [[text] for text in texts]
    path = written(tmp_path, "b.tsv", b"id\ttext\n1\tTwo\ttabs.\n")
    (said,) = refusals_in(path)
    assert said.endswith("take tabs and line ends out of the text")


def test_a_quote_that_is_never_closed_is_not_held(tmp_path: Path) -> None:
    content = b'text\n"' + b"word \n" * 200_000
    path = written(tmp_path, "a.csv", content)
    found = read(path, max_paragraph_characters=100)
    assert found["a.csv:1"] == ["!bad_row@a.csv:1"]
