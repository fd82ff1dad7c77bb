"""What derived tasks are made of: labels of sentences, passages, splits, quotas and settings."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.support.probing_examples import CONFIG, sentence
from treeviews.models.evaluation.probing_sentences import ParsedSentence, ProbingConfig
from treeviews.models.evaluation.probing_splits import by_document, class_quotas
from treeviews.models.evaluation.probing_tasks import (
    CANDIDATES,
    TooFewError,
    by_coherence,
    passages,
    top_constituents,
    tree_depth,
    with_intruders,
)


def marked(task: str, words: str, heads: list[int], deprels: str, tags: str) -> str:
    """Returns label and marked word of a sentence in a task, empty where it does not apply."""
    one = sentence(words, heads, deprels, tags, [(0, len(heads), "S")])
    return " ".join(f"{c.label} {c.word}" for c in CANDIDATES[task]([one], CONFIG))


@pytest.mark.parametrize(
    ("task", "words", "heads", "deprels", "tags", "expected"),
    [
        ("tense", "Ada wrote code", [2, 0, 2], "nsubj root obj", "NNP VBD NN", "past wrote"),
        ("tense", "It is written", [3, 3, 0], "nsubj aux:pass root", "PRP VBZ VBN", "present is"),
        ("tense", "She knows he was wrong", [2, 0, 5, 5, 2], "nsubj root nsubj cop ccomp",
         "PRP VBZ PRP VBD JJ", "present knows"),
        ("tense", "It may fail", [3, 3, 0], "nsubj aux root", "PRP MD VB", ""),
        ("object_number", "Readers want Files", [2, 0, 2], "nsubj root obj", "NNS VBP NNPS",
         "plural files"),
        ("subject_number", "Time was lost", [3, 3, 0], "nsubj:pass aux:pass root", "NN VBD VBN",
         "singular time"),
        ("subject_number", "They want files", [2, 0, 2], "nsubj root obj", "PRP VBP NNS", ""),
    ],
)  # fmt: skip
def test_words_bear_the_labels_of_their_tags(
    task: str, words: str, heads: list[int], deprels: str, tags: str, expected: str
) -> None:
    assert marked(task, words, heads, deprels, tags) == expected


def test_tree_depth_counts_the_longest_path_and_unary_labels() -> None:
    spans = [(0, 4, "S"), (0, 1, "NP"), (1, 4, "VP"), (2, 4, "SBAR+S"), (3, 4, "NP")]
    parsed = sentence("a b c d", [0, 1, 1, 1], "root x x x", "X X X X", spans)
    assert tree_depth(parsed) == 5  # S VP SBAR S NP


def test_top_constituents_name_spans_and_loose_words_below_s() -> None:
    spans = [(0, 6, "S"), (0, 1, "ADVP"), (2, 4, "NP+NP"), (2, 3, "NP"), (4, 5, "VP")]
    parsed = sentence("a , b c d .", [0, 1, 1, 1, 1, 1], "r x x x x x", "RB , NN NN VBD .", spans)
    assert top_constituents(parsed) == "ADVP , NP VP ."
    unary = sentence("Run it", [0, 1], "root obj", "VB PRP", [(0, 2, "S+VP"), (1, 2, "NP")])
    assert top_constituents(unary) == "VP"
    no_clause = sentence("The end", [2, 0], "det root", "DT NN", [(0, 2, "NP")])
    assert top_constituents(no_clause) is None


def numbered(document: str, number: int, start: int = 0) -> list[ParsedSentence]:
    """Returns successive sentences of one document; of these only words and places matter."""
    return [
        sentence(
            f"{document} says {n}", [0], "root", "X", [(0, 1, "S")],
            row=start + n, document_id=document, unit=document, sentence_index=n,
        )
        for n in range(number)
    ]  # fmt: skip


def test_passages_are_all_runs_that_no_gap_document_or_block_breaks() -> None:
    def runs(sentences: list[ParsedSentence], length: int) -> list[list[int]]:
        return [[one.sentence_index for one in run] for run in passages(sentences, length)]

    whole = numbered("harbour", 7)
    assert runs(whole, 5) == [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5], [2, 3, 4, 5, 6]]
    assert runs([*whole[:3], *whole[4:]], 3) == [[0, 1, 2], [4, 5, 6]]
    assert len(runs([*whole[:2], *numbered("quay", 2, start=7)], 2)) == 2
    blocks = [replace(one, unit=f"harbour\t{one.sentence_index // 4}") for one in whole]
    assert len(runs(blocks, 4)) == 1


def test_one_of_the_second_to_fifth_gives_way_to_a_sentence_of_another_document() -> None:
    documents = {name: 100 * n for n, name in enumerate(("quay", "mill", "farm"))}
    sentences = [s for name, start in documents.items() for s in numbered(name, 30, start)]
    candidates = by_coherence(sentences, ProbingConfig())
    finished = with_intruders(candidates, "test", ProbingConfig())
    replaced: Counter[int] = Counter()
    for before, after in zip(candidates, finished, strict=True):
        pairs = zip(before.sentences, after.sentences, strict=True)
        changed = [place for place, (old, new) in enumerate(pairs, 1) if old != new]
        assert len(changed) == (before.label == after.label == "incoherent")
        for place in changed:
            replaced[place] += 1
            assert after.sentences[place - 1].document_id != after.sentence.document_id
            assert after.sentences[place - 1] in sentences
    assert set(replaced) == {2, 3, 4, 5}


def test_passages_of_one_document_have_no_intruders_and_are_not_split() -> None:
    candidates = by_coherence(numbered("quay", 200), CONFIG)
    with pytest.raises(TooFewError, match="the dev items are of one document"):
        with_intruders(candidates, "dev", CONFIG)
    splits, unit = by_document(candidates, {"train": 0.5, "dev": 0.2, "test": 0.3}, CONFIG)
    assert len(set(splits)) == 1 and unit == "document"


def test_quotas_cut_the_commonest_classes_alone() -> None:
    assert class_quotas({"a": 100, "b": 60}, 1000, max_share=0.5) == {"a": 60, "b": 60}
    assert class_quotas({"a": 100, "b": 60}, 80, max_share=0.5) == {"a": 40, "b": 40}
    quotas = class_quotas({"a": 90, "b": 5, "c": 5}, 1000, max_share=2 / 3)
    assert quotas == {"a": 20, "b": 5, "c": 5}
