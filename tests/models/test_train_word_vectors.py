"""Training word vectors: the same tokens and seed give the same file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from treeviews.models.train_word_vectors import SkipGramConfig, train_on_tokens
from treeviews.models.words.word_vectors import load_word_vectors


def test_tokens_give_scaled_vectors_of_their_words_each_time_the_same(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    lines = ["The cat sees a dog .", "The dog does n't see the cat ; the bird sees both ."] * 40
    tokens = [line.split() for line in lines]
    config = SkipGramConfig(size=6, epochs=1, max_words=100)
    for name in ("first", "second"):
        train_on_tokens(tokens, tmp_path / name, config, {"sentences": 80})

    vectors = load_word_vectors(tmp_path / "first")
    assert {"The", "the", "does", "n't", ";", "bird"} <= set(vectors.words)
    assert vectors.size == 6
    assert vectors.rms == pytest.approx(config.rms, rel=1e-3)
    assert vectors.checksum == load_word_vectors(tmp_path / "second").checksum
    facts = json.loads((tmp_path / "first" / "training.json").read_text(encoding="utf-8"))
    assert (facts["sentences"], facts["words"]) == (80, len(vectors.words) - 1)


def test_the_bundled_vectors_are_what_their_card_says() -> None:
    folder = REPOSITORY / "data" / "vectors" / "english"
    vectors = load_word_vectors(folder)

    assert vectors.matrix.shape == (29_931, 100)
    assert vectors.rms == pytest.approx(0.35, abs=1e-3)
    facts = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    card = (folder / "card.md").read_text(encoding="utf-8")
    assert facts["file_sha256"]["vectors.safetensors"] in card
    assert sum(path.stat().st_size for path in folder.iterdir()) < 6.5e6
