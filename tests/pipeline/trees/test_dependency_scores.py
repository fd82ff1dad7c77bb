import pytest

from pipeline.trees.flat_trees import DependencyParse
from pipeline.trees.tree_scores import is_punctuation, score_dependencies
from pipeline.trees.treebanks import TreebankSentence


def gold(tokens: list[str], heads: list[int], deprels: list[str]) -> TreebankSentence:
    return TreebankSentence("doc", tokens, heads, deprels)


def test_each_convention_counts_what_it_says() -> None:
    seen = gold(
        ["She", "was", "seen", "there", "."],
        [3, 3, 0, 3, 3],
        ["nsubj:pass", "aux:pass", "root", "advmod", "punct"],
    )
    wrong_head = DependencyParse(
        heads=[3, 3, 0, 2, 1], deprels=["nsubj", "aux:pass", "root", "advmod", "punct"]
    )
    perfect = DependencyParse([0], ["root"])
    scores = score_dependencies([seen, gold(["Go"], [0], ["root"])], [wrong_head, perfect])
    assert (scores.num_sentences, scores.num_tokens) == (2, 6)
    assert scores.uas == pytest.approx(100 * 4 / 6)
    assert scores.las == pytest.approx(100 * 3 / 6)
    assert scores.las_universal == pytest.approx(100 * 4 / 6)
    assert scores.uas_no_punctuation == pytest.approx(100 * 4 / 5)
    assert scores.las_no_punctuation == pytest.approx(100 * 3 / 5)
    assert scores.exact_match == 50.0


def test_a_right_label_on_a_wrong_head_is_wrong() -> None:
    scores = score_dependencies(
        [gold(["a", "b"], [0, 1], ["root", "obj"])], [DependencyParse([0, 0], ["root", "obj"])]
    )
    assert (scores.uas, scores.las, scores.las_universal) == (50.0, 50.0, 50.0)


def test_punctuation_is_by_unicode_category() -> None:
    assert is_punctuation("...") and is_punctuation("“") and is_punctuation("—")
    assert not is_punctuation("$") and not is_punctuation("'s") and not is_punctuation("+")


def test_nothing_to_score_and_uneven_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="no sentence to score"):
        score_dependencies([], [])
    with pytest.raises(ValueError, match="sentence 0: 1 heads for 2 tokens"):
        score_dependencies(
            [gold(["a", "b"], [0, 1], ["root", "obj"])], [DependencyParse([0], ["r", "o"])]
        )
