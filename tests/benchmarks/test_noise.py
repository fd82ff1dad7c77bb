"""The noise of shared draws falls as they say, and does not average out over a batch."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks import noise
from models.config.training_presets import preset
from models.corpus.sentence_block import SentenceBlock
from models.model.sentence_model import SentenceModel, build_model
from models.objectives.generative import GenerativeObjective
from models.words.word_vectors import WordVectors
from tests.support.parsed_corpora import stories, write_corpus, write_vectors

NUM_WORDS, SENTENCES, WORDS = 40, 64, 8


def model_and_block() -> tuple[SentenceModel, SentenceBlock]:
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((NUM_WORDS, 6)).astype(np.float32)
    vectors = WordVectors.from_rows([f"w{number}" for number in range(NUM_WORDS)], rows)
    model = build_model(preset("B-G", hidden_size=8), vectors, seed=0).train()
    model.set_word_counts(generator.integers(1, 50, NUM_WORDS + 1))
    words = generator.integers(1, NUM_WORDS + 1, SENTENCES * WORDS)
    return model, SentenceBlock(
        token_ids=words.astype(np.int32),
        offsets=np.arange(0, SENTENCES * WORDS + 1, WORDS),
        documents=np.zeros(SENTENCES, dtype=np.int32),
        sentence_index=np.arange(SENTENCES, dtype=np.int32),
        rows=np.arange(SENTENCES),
    )


@pytest.mark.slow
def test_shared_draws_are_exact_for_a_sentence_and_noisy_for_a_batch() -> None:
    model, block = model_and_block()
    a_word, few, many = noise.noise_of(model, block, [noise.A_WORD, 40, 640], repeats=300)
    # 40 draws for a sentence's 8 words are as many as five a word; shared, they serve 63.
    assert few.sentence_variance == pytest.approx(a_word.sentence_variance, rel=0.5)
    assert few.variance > 5 * a_word.variance
    assert few.variance / many.variance == pytest.approx(16, rel=0.5)
    assert many.mean_square == pytest.approx(a_word.mean_square, rel=0.05)


def test_draws_a_word_and_shared_draws_have_one_mean() -> None:
    model, block = model_and_block()
    batch = model.training_batch(block)
    assert batch.context.next_words is not None
    assert isinstance(model.objective, GenerativeObjective)
    sentences = model.views(batch)[0].detach()
    torch.manual_seed(0)
    with torch.no_grad():
        found = torch.stack(
            [
                noise.loss_with_draws_a_word(
                    model.objective, sentences, batch.context.next_words, model._look_up
                )
                for _ in range(200)
            ]
        )
        expected = torch.stack([model(batch).loss for _ in range(20)])
    error = float(found.std()) / len(found) ** 0.5
    assert abs(float(found.mean() - expected.mean())) < 4 * error


def test_ends_in_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_corpus(tmp_path / "corpus", stories(12))
    vectors = write_vectors(tmp_path / "vectors", size=6)
    small = ["--hidden", "4", "--batch", "16", "--repeats", "2", "--rounds", "1", "--threads", "1"]
    arguments = ["--corpus", str(tmp_path / "corpus"), "--vectors", str(vectors), *small]
    assert noise.main([*arguments, "--draws", "8", "64", "--steps", "0", "1"]) == 0
    output = capsys.readouterr().out.splitlines()
    found = json.loads(output[-1])
    for step in (0, 1):
        assert found[f"step_{step}_a_word_variance"] == 1.0
        assert found[f"step_{step}_8_noise_percent"] > found[f"step_{step}_64_noise_percent"] > 0
    assert {"8_cpu_seconds_a_step", "64_cpu_seconds_a_step"} < found.keys()
    assert noise.main(["--synthetic", "8", "--vectors", str(vectors)]) == 2
    assert "--synthetic must be at least --batch, 512" in capsys.readouterr().err
