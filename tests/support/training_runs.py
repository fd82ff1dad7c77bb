"""Small trainings on small corpora, and what is compared of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from tests.support.parsed_corpora import stories, write_corpus, write_vectors
from treeviews.models.config.training_config import TrainingConfig
from treeviews.models.config.training_presets import preset
from treeviews.models.corpus.parsed_corpus import CorpusFolders
from treeviews.models.training.train_views import train
from treeviews.models.training.training_job import RunSettings, TrainingJob, read_metrics

TIMES = ("sentences_per_second", "data_wait_percent", "peak_memory_gib", "seconds")
CONFIG = preset("laptop", hidden_size=8, epochs=3, batch_size=32)
# Measuring matrix products takes a second and may end either way from run to run.
SETTINGS = RunSettings(gemm="default")


@dataclass(frozen=True)
class Data:
    folders: CorpusFolders
    vectors: Path


def make_data(folder: Path) -> Data:
    """Writes 64 stories in three shards and vectors of their words."""
    torch.set_num_threads(1)  # so small products are the slower for a second thread
    folders = write_corpus(folder / "corpus", stories(64), rows_per_shard=200)
    return Data(folders, write_vectors(folder / "vectors"))


def run(
    data: Data,
    out: Path,
    config: TrainingConfig = CONFIG,
    *,
    settings: RunSettings = SETTINGS,
    kill_at: int | None = None,
) -> dict[str, Any]:
    """Trains, and raises KeyboardInterrupt after so many steps if ``kill_at`` is given."""
    watch = _kill_after(kill_at)
    job = TrainingJob(
        config=config, corpus=data.folders, vectors=data.vectors, out=out, settings=settings
    )
    return train(job, on_progress=watch)


def _kill_after(last_step: int | None) -> Callable[[float, str], None]:
    steps = 0

    def count(share: float, status: str) -> None:
        nonlocal steps
        steps += share > 0
        if steps == last_step:
            raise KeyboardInterrupt

    return count


def timeless(out: Path) -> list[dict[str, Any]]:
    """Returns the metrics but for what they say of time and memory."""
    records = list(read_metrics(out / "metrics.jsonl"))
    return [{k: v for k, v in record.items() if k not in TIMES} for record in records]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Returns the weights of a model's folder."""
    return load_file(folder / "model.safetensors")


def assert_same_weights(first: Path, second: Path) -> None:
    """Compares two models' folders bit for bit."""
    expected, found = weights(first), weights(second)
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert torch.equal(value, found[name]), name


def assert_same_training(first: Path, second: Path) -> None:
    """Compares metrics and weights of two trainings bit for bit."""
    assert timeless(first) == timeless(second)
    assert_same_weights(first, second)
