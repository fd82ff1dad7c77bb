from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.trees.treebanks import read_bracketed, strip_function_tags
from tests.support.constituency_trees import toy_treebank, write_bracketed, write_documents
from tests.support.inverse_trees import from_brackets


def _read_one(tmp_path: Path, text: str) -> tuple[list[str], object]:
    path = tmp_path / "one.mrg"
    path.write_text(text, encoding="utf-8")
    (sentence,) = read_bracketed(path)
    return sentence.tokens, sentence.parse


@pytest.mark.parametrize(
    ("label", "bare"),
    [("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("PP-LOC=3", "PP"), ("-LRB-", "-LRB-"), ("WHNP", "WHNP")],
)
def test_function_tags_and_indices_are_stripped(label: str, bare: str) -> None:
    assert strip_function_tags(label) == bare


def test_function_tags_top_node_and_traces_are_cleaned_away(tmp_path: Path) -> None:
    dirty = """
    (TOP (S (NP-SBJ-1 (NNS Birds))
            (VP (VBP like) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB sing)))))
            (. .)))
    """
    clean = "(S (NP (NNS Birds)) (VP (VBP like) (S (VP (TO to) (VP (VB sing))))) (. .))"
    assert _read_one(tmp_path, dirty) == from_brackets(clean)


def test_tags_and_bracket_words_are_kept(tmp_path: Path) -> None:
    tokens, parse = _read_one(tmp_path, "(ROOT (NP (-LRB- -LRB-) (PRP$ his) (-RRB- -RRB-)))")
    assert tokens == ["(", "his", ")"]
    assert parse == from_brackets("(NP (-LRB- a) (PRP$ b) (-RRB- c))")[1]


@pytest.mark.parametrize("top", ["ROOT", "TOP", "S1", "VROOT", ""])
def test_a_top_node_that_alone_holds_the_sentence_together_stays(tmp_path: Path, top: str) -> None:
    expected = from_brackets("(TOP (NP (NN Help)) (. !))")
    assert _read_one(tmp_path, f"({top} (NP (NN Help)) (. !))") == expected


def test_a_tree_of_traces_alone_is_left_out(tmp_path: Path) -> None:
    assert _read_one(tmp_path, "(S (NP (-NONE- *)))\n(S (VP (VB Go)))")[0] == ["Go"]


def test_documents_are_told_by_a_conllu_file_and_excluded_by_prefix(tmp_path: Path) -> None:
    toys = toy_treebank(8)  # documents doc_0 to doc_3, again and again
    trees = write_bracketed(tmp_path / "toy.mrg", toys)
    documents = write_documents(tmp_path / "toy.conllu", toys)
    read = read_bracketed(trees, documents=documents, exclude_document_prefixes=["doc_1", "doc_3"])
    assert [s.document_id for s in read] == ["doc_0", "doc_2", "doc_0", "doc_2"]
    assert [s.line for s in read] == [1, 3, 5, 7]
    assert [s.parse for s in read] == [toys[i].parse for i in (0, 2, 4, 6)]


def test_a_documents_file_with_other_sentences_is_refused(tmp_path: Path) -> None:
    toys = toy_treebank(3)
    trees = write_bracketed(tmp_path / "toy.mrg", toys)
    fewer = write_documents(tmp_path / "fewer.conllu", toys[:2])
    with pytest.raises(ValueError, match=r"fewer\.conllu: 2 sentences, but .*toy\.mrg has 3"):
        read_bracketed(trees, documents=fewer)
    longer = replace(toys[1], tokens=[*toys[1].tokens, "again"])
    other = write_documents(tmp_path / "other.conllu", [toys[0], longer, toys[2]])
    with pytest.raises(ValueError, match=r"toy\.mrg, line 2: .* sentence 2 of .*other"):
        read_bracketed(trees, documents=other)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no tree in the file"),
        (b"(S (NN \xff))", "not UTF-8"),
        (b"(S (NN a)", "line 1: the text ends inside"),
        (b"\n(NP+X (NN a))", r"line 2: label 'NP\+X' holds '\+'"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "bad.mrg"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"bad\.mrg.*{message}"):
        read_bracketed(path)
