"""Trainings by the objectives of Tang & de Sa 2018 and 2019, from preset to finished model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.support.training_runs import SETTINGS, Data, assert_same_training, make_data, run
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import PRESETS, preset
from treeviews.models.corpus.parsed_corpus import ParsedCorpus
from treeviews.models.model.model_folder import load_model, num_parameters
from treeviews.models.model.sentence_model import SentenceModel, SentenceViews
from treeviews.models.training.learner import held_out_accuracy
from treeviews.models.training.training_job import read_metrics
from treeviews.models.words.word_vectors import WordVectors

SMALL: dict[str, Any] = {
    "hidden_size": 8,
    "batch_size": 32,
    "vector_rms": 0.35,
    "epochs": 6,
    "learning_rate": 1e-2,
    "shared_negatives": 64,
}
FRAMEWORKS = ("B-G", "B-D", "B-GD", "C-linear", "C-bijective")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        *(preset(name, **SMALL) for name in ("B-G", "B-D", "C-bijective")),
        preset("B-GD", **SMALL, views=("CONST", "LIN")),
        preset("B-G", **SMALL, views=("CONST",), decoder="bijective"),
        preset("B-G", **SMALL, orthonormal_rate=0.0),
    ],
    ids=lambda config: f"{config.objective}-{'-'.join(config.views)}-{config.decoder}",
)
def test_every_framework_learns_and_is_restored(
    data: Data, tmp_path: Path, config: TrainingConfig
) -> None:
    summary = run(data, tmp_path, config)

    model = load_model(tmp_path)
    held_out = summary["held_out"]
    assert held_out["final"]["loss"] < held_out["untrained"]["loss"] - 0.02
    assert summary["objective"] == config.objective
    assert SentenceViews(model).views == config.test_views
    # Encoders, temperature, decoder and noise are all back: the loss is that of the trained model.
    corpus = ParsedCorpus(
        data.folders,
        model.vectors,
        views=config.views,
        config=config,
        part="held_out",
    )
    again = held_out_accuracy(model, corpus, max_batches=config.held_out_batches)
    assert again["loss"] == pytest.approx(held_out["final"]["loss"], rel=1e-6)


@pytest.mark.parametrize("name", ["B-G", "B-GD", "C-bijective"])
def test_a_killed_training_ends_with_the_same_bits(data: Data, tmp_path: Path, name: str) -> None:
    config = preset(name, **SMALL | {"epochs": 2})
    run(data, tmp_path / "whole", config)
    often = SETTINGS.changed(checkpoint_every_steps=2)

    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "killed", config, settings=often, kill_at=5)
    run(data, tmp_path / "killed", config, settings=often)

    assert_same_training(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.parametrize(
    ("name", "logged"),
    [
        ("B-G", {"orthonormality"}),
        ("B-D", {"temperature"}),
        ("B-GD", {"orthonormality", "temperature", "generative_loss", "discriminative_loss"}),
    ],
)
def test_what_an_objective_measures_is_logged(
    data: Data, tmp_path: Path, name: str, logged: set[str]
) -> None:
    summary = run(data, tmp_path, preset(name, **SMALL | {"epochs": 1}))

    steps = [record for record in read_metrics(tmp_path / "metrics.jsonl") if "loss" in record]
    trained = [record for record in steps if record["kind"] == "train"]
    assert all(logged <= record.keys() for record in trained)
    assert summary["final_measures"].keys() == logged
    if name == "B-GD":
        parts = trained[0]["generative_loss"] + trained[0]["discriminative_loss"]
        assert trained[0]["loss"] == pytest.approx(parts, rel=1e-5)


def test_parameter_counts_are_those_of_the_papers() -> None:
    vectors = WordVectors.from_rows(["word"], np.ones((1, 300), dtype=np.float32))
    with torch.device("meta"):
        counts = {
            name: num_parameters(SentenceModel(PRESETS[name], vectors)) for name in FRAMEWORKS
        }

    # Tang & de Sa 2018, appendix 6: about 8.8 M; a bi-GRU of 1024 a direction and U or W.
    assert counts["B-G"] == 2 * 3 * 1024 * (300 + 1024 + 2) + 300 * 2048
    assert counts["B-D"] == counts["B-G"] + 1  # the temperature
    assert round(counts["B-G"] / 1e6, 1) == round(counts["B-D"] / 1e6, 1) == 8.8
    assert counts["B-GD"] == counts["B-D"] + 300 * 2048
    assert counts["C-linear"] == 2 * 3 * 1200 * (300 + 1200 + 2) + 300 * 2400
    # Two coupling layers, each with one hidden layer between halves of 1200.
    assert counts["C-bijective"] == counts["C-linear"] + 2 * 2 * (1200 * 1200 + 1200)
