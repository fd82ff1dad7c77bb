"""Plain PyTorch minimises what our frameworks do, and the benchmark of both ends in its figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks import frameworks
from benchmarks.references.plain_bi_gru import PackedBiGRU, PaddedBatch, PaddedBiGRU
from benchmarks.references.plain_frameworks import (
    PlainDiscriminative,
    PlainFramework,
    PlainGenerative,
    PlainStep,
)
from tests.support.parsed_corpora import stories, write_corpus
from treeviews.models.config.training_presets import preset
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.model.ranks import ALONE
from treeviews.models.model.sentence_model import SentenceModel, build_model
from treeviews.models.training.learner import Learner
from treeviews.models.words.word_vectors import WordVectors

pytestmark = pytest.mark.usefixtures("machine_as_before")

NUM_WORDS, WORD_SIZE = 9, 5
COUNTS = np.array([4, 3, 9, 1, 0, 2, 5, 1, 1])
ONE_WORD = np.array([4, 0, 0, 7, 0, 0, 0, 0, 0])
"""Noise that is always the same word, however many of it are drawn."""
ENCODERS = (PaddedBiGRU, PackedBiGRU)
QUICK = ("--hidden", "4", "--batch", "16", "--word-size", "6", "--rounds", "2", "--steps", "2")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, stories(12))
    return folder


def block() -> SentenceBlock:
    """Returns sentences of two documents, one with a gap, of uneven lengths, unknown words too."""
    lengths = np.array([3, 1, 6, 2, 4, 5, 1])
    words = np.random.default_rng(5).integers(0, NUM_WORDS, lengths.sum())
    return SentenceBlock(
        token_ids=words.astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        documents=np.array([0, 0, 0, 0, 1, 1, 1], dtype=np.int32),
        sentence_index=np.array([0, 1, 2, 4, 0, 1, 2], dtype=np.int32),
        rows=np.arange(len(lengths)),
    )


def our_model(name: str, counts: np.ndarray, hidden_size: int) -> SentenceModel:
    """Returns a preset's model in float64, with biases that are not zero."""
    vectors = np.random.default_rng(6).standard_normal((NUM_WORDS - 1, WORD_SIZE))
    words = [f"w{number}" for number in range(NUM_WORDS - 1)]
    config = preset(name, hidden_size=hidden_size, context_size=2)
    known = WordVectors.from_rows(words, vectors.astype(np.float32))
    model = build_model(config, known, seed=3).double()
    model.objective.set_word_counts(torch.from_numpy(np.asarray(counts)))
    generator = torch.Generator().manual_seed(8)
    with torch.no_grad():
        for of, parameter in model.encoder.named_parameters():
            if of.endswith("bias"):
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.add_(0.3 * noise)
    return model


def plain_version(
    model: SentenceModel, counts: np.ndarray, encoder: type[PaddedBiGRU] | type[PackedBiGRU]
) -> PlainFramework:
    """Returns it with the weights of our model."""
    vectors = model.encoder.look_up(torch.arange(NUM_WORDS))[0]
    plain: PlainFramework
    if model.config.objective == "generative":
        plain = PlainGenerative(encoder, vectors, model.config, torch.from_numpy(counts))
    else:
        plain = PlainDiscriminative(encoder, vectors, model.config)
    plain.double().take_weights(model)
    return plain


def gradients(module: torch.nn.Module) -> dict[str, Tensor]:
    return {name: p.grad for name, p in module.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("hidden_size", [4, 24])  # fewer and more than sentences
@pytest.mark.parametrize("name", ["B-G", "B-D"])
def test_plain_loss_and_gradients_are_ours(
    name: str, hidden_size: int, encoder: type[PaddedBiGRU] | type[PackedBiGRU]
) -> None:
    ours = our_model(name, ONE_WORD, hidden_size)
    plain = plain_version(ours, ONE_WORD, encoder)
    expected = ours(ours.training_batch(block())).loss
    expected.backward()
    found = plain(PaddedBatch.of(block()))
    found.backward()
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(
        gradients(plain), plain.named_as_here(gradients(ours)), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("name", ["B-G", "B-D"])
def test_plain_steps_leave_our_weights(
    name: str, encoder: type[PaddedBiGRU] | type[PackedBiGRU]
) -> None:
    ours = our_model(name, ONE_WORD, hidden_size=8)
    plain = plain_version(ours, ONE_WORD, encoder)
    trained = {of: value for of, value in plain.named_parameters() if value.requires_grad}
    start = {of: value.detach().clone() for of, value in trained.items()}
    learner, step = Learner(ours, ALONE), PlainStep(plain)
    for _ in range(3):
        measured = learner.measure(ours.training_batch(block()))
        learner.apply(ours.config.learning_rate, measured["gradient_norm"])
        assert step.take(PaddedBatch.of(block())) == pytest.approx(measured["loss"], rel=1e-5)
    expected = plain.named_as_here(dict(ours.named_parameters()))
    assert trained.keys() == expected.keys()
    for of, value in trained.items():
        assert not torch.equal(value, start[of]), of
        torch.testing.assert_close(value, expected[of], rtol=0, atol=1e-6)


def test_plain_and_shared_negatives_have_one_mean() -> None:
    ours = our_model("B-G", COUNTS, hidden_size=8)
    plain = plain_version(ours, COUNTS, PackedBiGRU)
    padded, batch = PaddedBatch.of(block()), ours.training_batch(block())
    torch.manual_seed(0)
    with torch.no_grad():
        found = torch.stack([plain(padded) for _ in range(400)])
        expected = torch.stack([ours(batch).loss for _ in range(40)])
    error = found.std() / len(found) ** 0.5
    assert float(error) < 0.01 * float(expected.mean())
    assert abs(float(found.mean() - expected.mean())) < 4 * float(error)


def test_ends_in_its_figures(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--corpus", str(corpus), *QUICK, "--threads", "1", "--views", "DEP")
    assert frameworks.main((*arguments, "--precision", "bfloat16")) == 0
    output = capsys.readouterr().out.splitlines()
    found = json.loads(output[-1])
    for objective in ("generative", "discriminative"):
        for key in (objective, f"{objective}_bfloat16"):
            rate, plain = (found[f"{key}{of}_sentences_per_second"] for of in ("", "_plain"))
            assert found[f"{key}_vs_plain"] == pytest.approx(rate / plain, rel=0.01)
            assert found[f"{key}_vs_packed"] > 0
        assert found[f"{objective}_dep_sentences_per_second"] > 0
    rows = [[cell.strip() for cell in line.split("|")] for line in output if "| " in line]
    assert {row[3] for row in rows if row[2] == "ours"} == {"SEQ", "SEQ,LIN", "DEP", "DEP,LIN"}


def test_a_reference_with_another_loss_is_refused(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward = PlainDiscriminative.forward
    monkeypatch.setattr(
        PlainDiscriminative, "forward", lambda self, batch: 1.001 * forward(self, batch)
    )
    with pytest.raises(ArithmeticError, match="discriminative, plain: its first loss"):
        frameworks.main(["--corpus", str(corpus), *QUICK])
