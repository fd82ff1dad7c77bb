from pathlib import Path

import pytest

from pipeline.trees.treebanks import read_conllu, read_treebank
from tests.support.dependency_examples import treebank, write_conllu

ROW = "{}\t{}\t_\t_\t_\t_\t{}\t{}\t_\t_\n"


def written(path: Path, text: str) -> Path:
    file = path / "trees.conllu"
    file.write_text(text, encoding="utf-8")
    return file


def test_skips_multiword_ranges_and_empty_nodes_and_keeps_subtypes(tmp_path: Path) -> None:
    text = (
        "# newdoc id = letters_1\n# sent_id = a\n"
        + ROW.format(1, "They", 4, "nsubj:pass")
        + ROW.format("2-3", "weren't", "_", "_")
        + ROW.format(2, "were", 4, "aux:pass")
        + ROW.format(3, "n't", 4, "advmod")
        + ROW.format("3.1", "gone", "_", "_")
        + ROW.format(4, "seen", 0, "root")
        + "\n"
    )
    (sentence,) = read_conllu(written(tmp_path, text))
    assert sentence.document_id == "letters_1"
    assert sentence.tokens == ["They", "were", "n't", "seen"]
    assert sentence.heads == [4, 4, 4, 0]
    assert sentence.deprels == ["nsubj:pass", "aux:pass", "advmod", "root"]


def test_a_written_treebank_reads_back_the_same(tmp_path: Path) -> None:
    assert read_conllu(write_conllu(treebank(), tmp_path / "t.conllu")) == treebank()


def test_a_last_sentence_without_blank_line_counts(tmp_path: Path) -> None:
    assert len(read_conllu(written(tmp_path, ROW.format(1, "Yes", 0, "root")))) == 1


def test_windows_line_ends_and_exotic_separators_in_tokens(tmp_path: Path) -> None:
    file = tmp_path / "trees.conllu"
    file.write_bytes(ROW.format(1, "a\u2028b", 0, "root").replace("\n", "\r\n").encode())
    assert read_conllu(file)[0].tokens == ["a\u2028b"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1\tA\t_\n", r"line 2: 3 tab-separated columns where CoNLL-U has 10"),
        (ROW.format("x", "A", 0, "root"), r"line 2: ID 'x' is no integer, range or decimal"),
        (ROW.format(2, "A", 0, "root"), r"line 2: ID 2 where 1 was due"),
        (ROW.format(1, "", 0, "root"), r"line 2: empty FORM"),
        (ROW.format(1, "A", "_", "root"), r"line 2: HEAD '_' is no integer"),
        (ROW.format(1, "A", 3, "dep"), r"line 2: no tree: token 1 has head 3, outside 0 to 1"),
        (ROW.format(1, "A", 1, "dep"), r"line 2: no tree: 0 roots where exactly one is needed"),
        (
            ROW.format(1, "A", 0, "root") + ROW.format(2, "b", 3, "x") + ROW.format(3, "c", 2, "x"),
            r"line 2: no tree: token 2 is in a cycle; mend the sentence or leave it out",
        ),
        (ROW.format("1-2", "A", "_", "_"), r"line 2: a sentence without a token"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"trees\.conllu, {message}"):
        read_conllu(written(tmp_path, "# comment\n" + rows + "\n"))


def test_a_treebank_without_a_sentence_is_refused(tmp_path: Path) -> None:
    file = write_conllu(treebank(), tmp_path / "t.conllu")
    assert len(read_treebank([file, file])) == 2 * len(treebank())
    with pytest.raises(ValueError, match=r"no sentence in .*t\.conllu"):
        read_treebank([file], exclude_document_prefixes=["story_"])
