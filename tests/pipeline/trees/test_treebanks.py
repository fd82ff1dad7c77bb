"""Files of CoNLL-U and of brackets, read, cleaned or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.dependency_examples import treebank, write_conllu
from tests.support.inverse_trees import from_brackets
from treeviews.pipeline.trees.treebanks import (
    read_bracketed,
    read_treebank,
    unescape_word,
)

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
    (sentence,) = read_treebank([written(tmp_path, text)])
    assert sentence.document_id == "letters_1"
    assert sentence.tokens == ["They", "were", "n't", "seen"]
    assert sentence.heads == [4, 4, 4, 0]
    assert sentence.deprels == ["nsubj:pass", "aux:pass", "advmod", "root"]


def test_a_written_treebank_reads_back_the_same(tmp_path: Path) -> None:
    assert read_treebank([write_conllu(treebank(), tmp_path / "t.conllu")]) == treebank()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1\tA\t_\n", r"line 2: not the 10 tab-separated columns of CoNLL-U with ID 1"),
        (ROW.format(2, "A", 0, "root"), r"line 2: not the 10 .* with ID 1"),
        (ROW.format(1, "", 0, "root"), r"line 2: not the 10 .* and a FORM"),
        (ROW.format(1, "A", "_", "root"), r"line 2: HEAD '_' is no integer"),
        (ROW.format(1, "A", 3, "dep"), r"line 2: no tree: token 1 has head 3, outside 0 to 1"),
        (
            ROW.format(1, "A", 0, "root") + ROW.format(2, "b", 3, "x") + ROW.format(3, "c", 2, "x"),
            r"line 2: no tree: token 2 is in a cycle; mend the sentence or leave it out",
        ),
        (ROW.format("1-2", "A", "_", "_"), r"line 2: a sentence without a token"),
    ],
)
def test_malformed_lines_are_named(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(ValueError, match=rf"trees\.conllu, {message}"):
        read_treebank([written(tmp_path, "# comment\n" + rows + "\n")])


def _read_one(tmp_path: Path, text: str) -> tuple[list[str], object]:
    path = tmp_path / "one.mrg"
    path.write_text(text, encoding="utf-8")
    (sentence,) = read_bracketed(path)
    return sentence.tokens, sentence.parse


def test_function_tags_top_node_and_traces_are_cleaned_away(tmp_path: Path) -> None:
    dirty = """
    (TOP (S (NP-SBJ-1 (NNS Birds))
            (VP (VBP like) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sing)))))
            (. .)))
    """
    clean = "(S (NP (NNS Birds)) (VP (VBP like) (S (VP (TO to) (VP (VB sing))))) (. .))"
    assert _read_one(tmp_path, dirty) == from_brackets(clean)


@pytest.mark.parametrize("top", ["ROOT", "TOP", "S1", "VROOT", ""])
def test_a_top_node_that_alone_holds_the_sentence_together_stays(tmp_path: Path, top: str) -> None:
    expected = from_brackets("(TOP (NP (NN Help)) (. !))")
    assert _read_one(tmp_path, f"({top} (NP (NN Help)) (. !))") == expected


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no tree in the file"),
        (b"(S (NN \xff))", "not UTF-8"),
        (b"(S (NN a)\n", "line 2: the text ends inside the tree that opens at line 1"),
        (b"(S (NN a)))", r"line 1: '\)' stands outside any tree"),
        (b"(S (NN a))\n(S (NP))", "line 2: node 'NP' holds neither"),
        (b"(NN two words)", "line 1: word 'words' stands outside a node of its own"),
        (b"\n(NP+X (NN a))", r"line 2: label 'NP\+X' holds '\+'"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.mrg"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"bad\.mrg.*{message}"):
        read_bracketed(path)


def test_a_tree_may_take_many_lines_and_a_line_many_trees(tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("(S (NP (NN a))\n   (VP (VB b)))  (X (Y c))")
    assert [s.tokens for s in read_bracketed(tmp_path / "a.mrg")] == [["a", "b"], ["c"]]


def test_penn_treebank_escapes_become_plain_text() -> None:
    words = ["``", "''", r"1\/2", r"\*", "-LCB-"]
    assert [unescape_word(word) for word in words] == ['"', '"', "1/2", "*", "{"]
