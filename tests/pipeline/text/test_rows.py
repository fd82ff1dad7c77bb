"""Rows of CSV and TSV: what a stray quote costs, and which are refused."""

from __future__ import annotations

from pathlib import Path

from tests.support.source_files import read, refusals_in, rows_of, written


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


def test_a_stray_quote_costs_the_lines_up_to_the_next_one(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b'id,text\n1,"Never closed.\n2,Lost.\n3,"Closed."\n4,Good.\n')
    assert [*read(path).values()] == [["!bad_row@a.csv:1"], ["Good."]]
    assert refusals_in(path) == ["lines 2 to 4: ',' expected after '\"'; mend the quotes"]


def test_a_quote_that_is_never_closed_is_told_with_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", b'text\nGood.\n"' + b"word \n" * 2_000)
    assert refusals_in(path) == ["lines 3 to 2,002: unexpected end of data; mend the quotes"]


def test_a_damaged_line_within_a_quoted_field_is_refused_itself(tmp_path: Path) -> None:
    content = b'id,text\n1,"Two\nCaf\xe9\nlines."\n2,Good.\n'
    assert [*read(written(tmp_path, "a.csv", content)).values()] == [
        ["!undecodable@a.csv:1"],
        ["Good."],
    ]


def test_a_quote_between_tabs_is_a_character(tmp_path: Path) -> None:
    texts = ["Plain.", '"Yes," she said.', '"Wait till I tell you, he began', "It's 5\"", '""', '"']
    found = read(written(tmp_path, "a.tsv", rows_of(texts, "\t")))
    assert [*found.values()] == [[text] for text in texts]
    path = written(tmp_path, "b.tsv", b"id\ttext\n1\tTwo\ttabs.\n")
    (said,) = refusals_in(path)
    assert said.endswith("take tabs and line ends out of the text")
