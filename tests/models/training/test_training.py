"""Training: it learns, repeats itself, resumes bit for bit, and stops when it diverges."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.parsed_corpora import stories
from tests.support.training_runs import (
    CONFIG,
    SETTINGS,
    Data,
    assert_same_training,
    make_data,
    run,
    timeless,
)
from treeviews.models.training.checkpoints import checkpoint_folders, read_checkpoint
from treeviews.models.training.training_loop import TrainingDivergedError


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_data(tmp_path_factory.mktemp("data"))


@pytest.mark.slow
def test_it_learns_to_find_the_context(data: Data, tmp_path: Path) -> None:
    summary = run(data, tmp_path, CONFIG.changed(epochs=8, hidden_size=16))

    held_out = summary["held_out"]
    assert summary["final_loss"] < summary["first_loss"] - 0.5
    assert held_out["final"]["accuracy"] > 2 * held_out["final"]["chance"]
    assert held_out["final"]["accuracy"] > 2 * held_out["untrained"]["accuracy"]
    assert summary["train_sentences"] + held_out["final"]["num_sentences"] == 64 * 8


WEIGHTED = {
    "views": ("BOW", "BOW"),
    "word_vectors": "trained",
    "trained_word_init": "given",
    "word_weights": "sif",
    "unit_words": True,
    "critic": "inner_product",
    "normalise": "l2",
    "temperature_trained": False,
    "run_length": 2,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kill_at", "changes"),
    [
        (19, {}),
        (7, {"word_vectors": "trained", "normalise": "l2"}),
        (7, {"word_dropout": 0.2, "views": ("SEQ", "DEP")}),
        (7, WEIGHTED),
    ],
)
def test_a_killed_training_ends_as_if_it_had_not_been(
    data: Data, tmp_path: Path, kill_at: int, changes: dict[str, Any]
) -> None:
    config = CONFIG.changed(**changes)
    settings = SETTINGS.changed(checkpoint_every_steps=5)
    run(data, tmp_path / "whole", config)

    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "killed", config, settings=settings, kill_at=kill_at)
    assert not (tmp_path / "killed" / "summary.json").exists()
    run(data, tmp_path / "killed", config, settings=settings)

    assert_same_training(tmp_path / "whole", tmp_path / "killed")
    steps = [r["step"] for r in timeless(tmp_path / "killed") if r["kind"] == "train"]
    assert steps == list(range(1, len(steps) + 1))


def job_file(data: Data, folder: Path, name: str, **settings: Any) -> Path:
    path = folder / f"{name}.json"
    job = {
        "config": CONFIG.changed(epochs=20).to_dict(),
        "corpus": {
            "sentences": str(data.folders.sentences),
            "dependencies": str(data.folders.dependencies),
            "constituents": str(data.folders.constituents),
        },
        "vectors": str(data.vectors),
        "out": str(folder / name),
        "settings": {"gemm": "default", **settings},
        "launch": {"threads": 1},
    }
    path.write_text(json.dumps(job), encoding="utf-8")
    return path


def start(job: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "treeviews.models.train", str(job)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_process_killed_at_any_moment_resumes(data: Data, tmp_path: Path) -> None:
    whole = start(job_file(data, tmp_path, "whole"))
    lines, errors = whole.communicate()
    assert whole.returncode == 0, errors
    assert json.loads(lines.splitlines()[-1])["progress"] == 1.0
    job = job_file(data, tmp_path, "killed", checkpoint_every_steps=7)
    metrics = tmp_path / "killed" / "metrics.jsonl"

    for least_bytes in (4_000, 20_000):
        process = start(job)
        while process.poll() is None and not (
            metrics.exists() and metrics.stat().st_size >= least_bytes
        ):
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not (tmp_path / "killed" / "summary.json").exists()
    last = start(job)
    _, errors = last.communicate()

    assert last.returncode == 0, errors
    assert_same_training(tmp_path / "whole", tmp_path / "killed")


def test_a_finished_training_is_left_alone(data: Data, tmp_path: Path) -> None:
    summary = run(data, tmp_path, CONFIG.changed(epochs=1))
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    # What a process killed between its last two acts leaves behind.
    (tmp_path / "checkpoints" / "step-0000000001").mkdir(parents=True)

    assert run(data, tmp_path, CONFIG.changed(epochs=1)) == summary
    assert before == {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert sorted(before) == [
        "best", "card.md", "metrics.jsonl", "model.json", "model.safetensors", "summary.json"
    ]  # fmt: skip


def test_a_folder_of_another_training_is_refused(data: Data, tmp_path: Path) -> None:
    run(data, tmp_path / "done", CONFIG.changed(epochs=1))
    with pytest.raises(KeyboardInterrupt):
        settings = SETTINGS.changed(checkpoint_every_steps=1)
        run(data, tmp_path / "begun", settings=settings, kill_at=3)

    for name in ("done", "begun"):
        with pytest.raises(ValueError, match=r"another .*training"):
            run(data, tmp_path / name, CONFIG.changed(seed=9))


def test_held_out_documents_are_never_trained_on(
    data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treeviews.models.corpus.sentence_block import SentenceBlock
    from treeviews.models.model.sentence_model import SentenceModel

    trained: set[int] = set()
    training_batch = SentenceModel.training_batch

    def remember(self: SentenceModel, block: SentenceBlock, *others: Any) -> Any:
        trained.update(block.rows.tolist())
        return training_batch(self, block, *others)

    monkeypatch.setattr(SentenceModel, "training_batch", remember)
    run(data, tmp_path, CONFIG.changed(epochs=1))

    expected = {
        8 * number + index
        for number, name in enumerate(stories(64))
        for index in range(8)
        if not CONFIG.hold_out.takes(name)
    }
    assert trained == expected
    assert 0 < len(trained) < 512


def test_a_loss_that_is_no_number_stops_and_names_the_last_good_checkpoint(
    data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from treeviews.models.model.sentence_model import SentenceModel

    calls = 0
    forward = SentenceModel.forward

    def diverge(self: SentenceModel, *args: Any) -> Any:
        nonlocal calls
        calls += self.training
        result = forward(self, *args)
        if calls < 8:
            return result
        # As the forward pass of views that are no numbers would leave it.
        self.objective.norms[0].running_var = torch.full((8,), float("nan"))
        return replace(result, loss=result.loss * float("nan"))

    settings = SETTINGS.changed(checkpoint_every_steps=3)
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "good", settings=settings, kill_at=7)
    monkeypatch.setattr(SentenceModel, "forward", diverge)
    message = r"loss of step 8 is nan.*checkpoint is .*step-0000000006\. Lower learning_rate"
    with pytest.raises(TrainingDivergedError, match=message):
        run(data, tmp_path / "diverged", settings=settings)

    expected, found = (
        read_checkpoint(checkpoint_folders(tmp_path / name / "checkpoints")[-1])
        for name in ("good", "diverged")
    )
    assert found.step == expected.step == 6
    assert found.tensors.keys() == expected.tensors.keys()
    assert all(torch.equal(found.tensors[name], v) for name, v in expected.tensors.items())
    assert not (tmp_path / "diverged" / "summary.json").exists()
