import pytest

from pipeline.trees.treebanks import escape_word, scan_brackets, unescape_word


def test_a_tree_may_take_many_lines_and_a_line_many_trees() -> None:
    lines = ["(S (NP (NN a))", "   (VP (VB b)))  (X (Y c))"]
    roots = list(scan_brackets(lines))
    assert [(root.label, root.line) for root in roots] == [("S", 1), ("X", 2)]
    assert sorted(node.word for node in roots[0].postorder() if node.word) == ["a", "b"]


def test_the_top_node_may_have_no_label() -> None:
    (root,) = scan_brackets(["( (S (NN a)) )"])
    assert (root.label, root.children[0].label) == ("", "S")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["(S (NN a)", ""], "toy, line 2: the text ends inside the tree that opens at line 1"),
        (["(S (NN a)))"], "toy, line 1: '\\)' stands outside any tree"),
        (["hello"], "toy, line 1: 'hello' stands outside any tree"),
        (["(S (NN a))", "(S (NP))"], "toy, line 2: node 'NP' holds neither"),
        (["()"], "toy, line 1: node '' holds neither"),
        (["(NN two words)"], "toy, line 1: word 'words' stands outside a node of its own"),
        (["(S (NN a) b)"], "toy, line 1: word 'b' stands outside a node of its own"),
        (["(S b (NN a))"], "toy, line 1: 'S' holds both a word and a phrase"),
    ],
)
def test_malformed_text_is_refused_with_source_and_line(lines: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(scan_brackets(lines, source="toy"))


@pytest.mark.parametrize("word", ["(", ")", "a[0]", "{}", "plain", "-", "“quoted”"])
def test_escaping_is_undone(word: str) -> None:
    assert unescape_word(escape_word(word)) == word


def test_penn_treebank_escapes_become_plain_text() -> None:
    words = ["``", "''", r"1\/2", r"\*", "-LCB-"]
    assert [unescape_word(word) for word in words] == ['"', '"', "1/2", "*", "{"]
