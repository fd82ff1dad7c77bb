"""Words of raw sentences looked up without a list of tokens in between: ids are the tokens'."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.encoders import words_encoder
from treeviews.models.corpus.sentence_block import MAX_TOKENS
from treeviews.models.encoding.encoder import EncoderSettings
from treeviews.models.encoding.sentence_reader import Piece, SentenceReader
from treeviews.models.words.word_vectors import WordVectors
from treeviews.pipeline.text.tokenization import EnglishTokenizer, clean_text

WORDS = ("the", "The", "cat", "smile", ":", ")", ":)", "do", "n't", ",", ".", "straße", "i̇", "σας")
TEXTS = (
    "The cat, THE CAT.",
    "Don't! smile:) )",
    "smile:)",
    " two  spaces\tand a tab\n",
    "soft\u00adhyphen \ufffd \x00",
    "STRASSE Straße STRAẞE İ ΣΑΣ",
    "unheard-of wörds",
)


def vectors() -> WordVectors:
    rows = np.random.default_rng(0).standard_normal((len(WORDS), 5), dtype=np.float32)
    return WordVectors.from_rows(WORDS, rows)


def expected(texts: list[str], words: WordVectors) -> tuple[list[int], list[int]]:
    tokens = [text.words for text in EnglishTokenizer().tokenize(texts)]
    flat = pa.array([word for of_text in tokens for word in of_text], pa.string())
    return words.token_ids(flat)[0].tolist(), [*map(len, tokens)]


VECTORS = vectors()
READER = SentenceReader(VECTORS, {})


@pytest.mark.slow
@given(
    sentences=st.lists(
        st.lists(st.sampled_from([*WORDS, "CAT", "x:)", "):", "İ", "ΣΑΣ", "cat,", ""]), max_size=6)
        .map(" ".join)
        .map(lambda text: clean_text(text)[0]),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=200, deadline=None)
def test_ids_are_those_of_the_tokens(sentences: list[str]) -> None:
    block, _ = READER.read(Piece(sentences))
    expected_ids, lengths = expected(sentences, VECTORS)
    assert block.token_ids.tolist() == expected_ids
    assert block.lengths.tolist() == [length for length in lengths if length]


def test_a_reader_without_parses_reads_as_one_that_keeps_its_tokens(tmp_path: Path) -> None:
    sentences = [*TEXTS, "", " \u200b\t", "a " * (MAX_TOKENS + 1), "a " * MAX_TOKENS, *TEXTS]
    kept = words_encoder(VECTORS, EncoderSettings(on_refusal="zero", parses=tmp_path))
    quick = words_encoder(VECTORS, EncoderSettings(on_refusal="zero"))
    for pooling in (("mean",), ("max",), ("min",), ("last", "max")):
        views, expected = (one.encode_views(sentences, pooling) for one in (quick, kept))
        assert list(views) == list(expected)
        for key in views:
            assert np.array_equal(views[key], expected[key])
        assert quick.refused == kept.refused
    assert [refusal.index for refusal in quick.refused] == [7, 8, 9]
    failing = words_encoder(VECTORS, EncoderSettings(on_refusal="error"))
    with pytest.raises(ValueError, match=r"7.*8.*9"):
        failing.encode(sentences)


def test_means_are_those_of_the_words() -> None:
    sentences = [*TEXTS, "the cat " * 900]
    (means,) = words_encoder(VECTORS).encode_views(sentences).values()
    block, _ = READER.read(Piece(sentences))
    for row, mean in enumerate(means):
        words = block.slice(row, row + 1).token_ids
        exact = VECTORS.matrix[words].astype(np.float64).mean(axis=0)
        assert mean == pytest.approx(exact, abs=1e-6)
