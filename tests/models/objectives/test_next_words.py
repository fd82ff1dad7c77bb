"""Which sentence predicts which words."""

from __future__ import annotations

import numpy as np
import pytest

from models.corpus.sentence_block import SentenceBlock
from models.objectives.objective import next_words_of

# Two documents, the first with a gap after its second sentence; words are numbered at will.
SENTENCES = [[5, 0, 5], [7], [2, 5], [9, 9], [4, 2, 0]]
DOCUMENTS = [3, 3, 3, 8, 8]
INDEX = [0, 1, 3, 0, 1]


def make_block(sentences: list[list[int]], documents: list[int], index: list[int]) -> SentenceBlock:
    offsets = np.cumsum([0, *map(len, sentences)]).astype(np.int64)
    return SentenceBlock(
        token_ids=np.array([word for words in sentences for word in words], dtype=np.int32),
        offsets=offsets,
        documents=np.array(documents, dtype=np.int32),
        sentence_index=np.array(index, dtype=np.int32),
        rows=np.arange(len(sentences)),
    )


def test_a_sentence_predicts_the_one_after_it_in_its_document() -> None:
    next_words = next_words_of(make_block(SENTENCES, DOCUMENTS, INDEX))

    ids = next_words.word_ids[next_words.words].tolist()
    ranges = next_words.offsets.tolist()
    predicted = {
        place: ids[ranges[number] : ranges[number + 1]]
        for number, place in enumerate(next_words.predictors.tolist())
    }
    # 1 stands before a gap, 2 ends its document, 4 ends the block.
    assert predicted == {0: [7], 3: [4, 2, 0]}


@pytest.mark.parametrize("count", [1, 2])
def test_without_successors_nothing_is_predicted(count: int) -> None:
    block = make_block(SENTENCES[:count], list(range(count)), [0] * count)

    next_words = next_words_of(block)

    assert len(next_words.predictors) == len(next_words.words) == len(next_words.word_ids) == 0
    assert next_words.offsets.tolist() == [0]


def test_each_word_is_looked_up_once() -> None:
    next_words = next_words_of(make_block([[1], [4, 4, 2], [4]], [0, 0, 0], [4, 5, 6]))

    assert next_words.word_ids.tolist() == [2, 4]
    assert next_words.words.tolist() == [1, 1, 0, 1]
