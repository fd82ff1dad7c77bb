"""What a training writes: checkpoints, metrics, the best model."""

from __future__ import annotations

import errno
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.training_runs import (
    CONFIG,
    SETTINGS,
    Data,
    assert_same_training,
    assert_same_weights,
    make_data,
    run,
    timeless,
)
from treeviews.models.corpus.parsed_corpus import ParsedCorpus
from treeviews.models.model.model_folder import load_model
from treeviews.models.model.ranks import ALONE
from treeviews.models.training import checkpoints
from treeviews.models.training.checkpoints import (
    Checkpoint,
    checkpoint_folders,
    last_whole_checkpoint,
    open_checkpoint,
    read_checkpoint,
    remove_unfinished,
    write_checkpoint,
)
from treeviews.models.training.learner import held_out_accuracy
from treeviews.models.training.training_job import duration, finished_summary


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    return make_data(tmp_path_factory.mktemp("data"))


def test_only_the_last_checkpoints_are_kept_and_unfinished_ones_removed(tmp_path: Path) -> None:
    for step in (1, 2, 10):
        write_checkpoint(tmp_path, Checkpoint(step, {"a": torch.tensor([step])}, {"s": step}))
    (tmp_path / "step-0000000011.unfinished").mkdir()

    remove_unfinished(tmp_path)
    latest = read_checkpoint(checkpoint_folders(tmp_path)[-1])

    assert (latest.step, latest.tensors["a"].item(), latest.state) == (10, 10, {"s": 10})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-0000000002", "step-0000000010"]


def test_a_kill_while_an_old_checkpoint_is_removed_leaves_none_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(path: Path, **_: object) -> None:
        (path / "state.json").unlink(missing_ok=True)
        if path.is_dir():
            raise KeyboardInterrupt

    write_step(tmp_path, 1)
    monkeypatch.setattr(checkpoints.shutil, "rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(tmp_path, Checkpoint(2, {"a": torch.zeros(2)}, {}), keep=1)
    monkeypatch.undo()

    assert [path.name for path in checkpoint_folders(tmp_path)] == ["step-0000000002"]
    remove_unfinished(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-0000000002"]


def write_step(folder: Path, step: int) -> Path:
    tensors = {"a": torch.full((2,), step)}
    return write_checkpoint(folder, Checkpoint(step, tensors, {"identity": "ours"}), keep=9)


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["tensors.safetensors", "state.json"])
@pytest.mark.parametrize("is_gone", [True, False])
def test_the_checkpoint_before_is_taken_where_the_last_is_broken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, is_gone: bool
) -> None:
    for step in (1, 2, 3):
        write_step(tmp_path, step)
    broken = tmp_path / "step-0000000003" / name
    broken.unlink() if is_gone else flip_a_bit(broken)

    found = last_whole_checkpoint(tmp_path, "ours")

    assert found is not None and found.step == 2
    assert [path.name[-1] for path in checkpoint_folders(tmp_path)] == ["1", "2"]
    assert (tmp_path / "broken-step-0000000003" / "state.json").exists() == (
        not is_gone or name != "state.json"
    )
    assert re.search(rf"step-0000000003: broken checkpoint \(.*{name}", caplog.text)
    assert "called broken-step-0000000003 now, and an earlier one is taken" in caplog.text


def failing_once(error: Exception, function: Any) -> Any:
    errors = [error]

    def fail(*arguments: Any, **named: Any) -> Any:
        if errors:
            raise errors.pop()
        return function(*arguments, **named)

    return fail


@pytest.mark.parametrize("read_by", ["load_file", "check_file", "read_object"])
@pytest.mark.parametrize(
    "error",
    [OSError(errno.EMFILE, "Too many open files"), FileNotFoundError("No such file: tensors")],
    ids=["as Python says it", "as safetensors says it"],
)
def test_an_error_of_the_moment_breaks_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_by: str, error: OSError
) -> None:
    write_step(tmp_path, 1)
    write_step(tmp_path, 2)
    once = failing_once(error, getattr(checkpoints, read_by))
    monkeypatch.setattr(checkpoints, read_by, once)

    with pytest.raises(OSError, match=str(error.args[-1])):
        last_whole_checkpoint(tmp_path, "ours")

    found = last_whole_checkpoint(tmp_path, "ours")
    assert found is not None and found.step == 2
    assert len(checkpoint_folders(tmp_path)) == 2


def test_checkpoints_of_another_training_are_left_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    for step in (1, 2):
        write_checkpoint(folder, Checkpoint(step, {"a": torch.zeros(2)}, {"identity": "theirs"}))
    (folder / "step-0000000003.unfinished").mkdir()
    for broken in ("tensors.safetensors", "state.json"):
        flip_a_bit(folder / "step-0000000002" / broken)
        before = sorted(path for path in tmp_path.rglob("*"))

        with pytest.raises(ValueError, match="of another training"):
            open_checkpoint(tmp_path, "ours", ALONE)

        assert sorted(path for path in tmp_path.rglob("*")) == before
    found = open_checkpoint(tmp_path, "theirs", ALONE)
    assert found is not None and found.step == 1


def test_checkpoints_none_of_which_is_whole_are_refused_and_stay(tmp_path: Path) -> None:
    flip_a_bit(write_step(tmp_path, 1) / "tensors.safetensors")

    with pytest.raises(ValueError, match=r"no other is whole: delete .* to train anew"):
        last_whole_checkpoint(tmp_path, "ours")

    assert len(checkpoint_folders(tmp_path)) == 1


@pytest.mark.slow
def test_a_training_goes_on_from_the_checkpoint_before_and_ends_alike(
    data: Data, tmp_path: Path
) -> None:
    settings = SETTINGS.changed(checkpoint_every_steps=2)
    run(data, tmp_path / "whole", settings=settings)
    out = tmp_path / "killed"
    with pytest.raises(KeyboardInterrupt):
        run(data, out, settings=settings, kill_at=5)
    last = checkpoint_folders(out / "checkpoints")[-1]
    (last / "state.json").unlink()

    run(data, out, settings=settings)

    assert_same_training(tmp_path / "whole", out)


# Sixty-four stories are soon learnt by heart: the held-out loss falls, then rises.
OVERFITTING = CONFIG.changed(
    hidden_size=64,
    learning_rate=0.02,
    schedule="constant",
    epochs=9,
    held_out_every_steps=6,
)


@pytest.fixture(scope="module")
def overfitted(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("overfitted")
    run(data, out, OVERFITTING)
    return out


def held_out(out: Path) -> list[dict[str, Any]]:
    return [record for record in timeless(out) if record["kind"] == "held_out"]


@pytest.mark.slow
def test_the_model_of_the_lowest_held_out_loss_is_kept(data: Data, overfitted: Path) -> None:
    summary = json.loads((overfitted / "summary.json").read_text(encoding="utf-8"))
    best = summary["held_out"]["best"]
    model = load_model(overfitted / "best")

    corpus = ParsedCorpus(
        data.folders, model.vectors, views=model.config.views, config=OVERFITTING, part="held_out"
    )
    measured = held_out_accuracy(model, corpus)

    assert best == min(held_out(overfitted), key=lambda record: record["loss"])
    assert 0 < best["step"] < summary["steps"]
    assert measured["loss"] == pytest.approx(best["loss"], rel=1e-5)
    assert measured["loss"] < summary["held_out"]["final"]["loss"]


@pytest.mark.slow
def test_the_best_weights_are_the_result_if_asked_for(
    data: Data, tmp_path: Path, overfitted: Path
) -> None:
    config = OVERFITTING.changed(keep="best")

    summary = run(data, tmp_path, config, settings=SETTINGS)

    assert summary["kept"] == "best"
    assert_same_weights(tmp_path, overfitted / "best")


@pytest.mark.slow
@pytest.mark.parametrize("killed_in", ["save_model", "write_sealed_json"])
def test_a_training_killed_while_it_ends_ends_alike(
    data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_in: str
) -> None:
    config = OVERFITTING.changed(keep="best", epochs=2)
    run(data, tmp_path / "whole", config)

    def killed(*args: Any, **kwargs: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(f"treeviews.models.training.train_views.{killed_in}", killed)
        run(data, tmp_path / "killed", config)
    assert (tmp_path / "killed" / "checkpoints").is_dir()
    run(data, tmp_path / "killed", config)

    assert_same_training(tmp_path / "whole", tmp_path / "killed")
    assert_same_weights(tmp_path / "whole" / "best", tmp_path / "killed" / "best")
    assert not (tmp_path / "killed" / "checkpoints").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["model.safetensors"])
def test_a_finished_training_whose_result_is_lost_is_trained_again(
    data: Data, tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    short = CONFIG.changed(epochs=1)
    run(data, tmp_path / "whole", short)
    run(data, tmp_path / "lost", short)
    (tmp_path / "lost" / name).unlink()
    assert finished_summary(tmp_path / "lost") is None

    with pytest.raises(ValueError, match="another finished training"):
        run(data, tmp_path / "lost", short.changed(seed=5))
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path / "lost", short, kill_at=2)
    assert not (tmp_path / "lost" / "summary.json").exists()
    run(data, tmp_path / "lost", short)

    assert f"{name} is gone; the training is run again" in caplog.text
    assert_same_training(tmp_path / "whole", tmp_path / "lost")
    assert finished_summary(tmp_path / "lost") is not None
    load_model(tmp_path / "lost", vectors_path=data.vectors)


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", [113])
def test_the_best_model_survives_a_kill(
    data: Data, tmp_path: Path, overfitted: Path, kill_at: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path, OVERFITTING, kill_at=kill_at)
    # What a process killed between a best model and its checkpoint leaves behind.
    (tmp_path / "checkpoints" / "best-0000009999").mkdir()
    run(data, tmp_path, OVERFITTING)

    assert_same_training(overfitted, tmp_path)
    assert_same_weights(overfitted / "best", tmp_path / "best")


def test_without_held_out_sentences_none_is_best(data: Data, tmp_path: Path) -> None:
    nothing = CONFIG.changed(held_out_fraction=0.0, epochs=1)

    assert run(data, tmp_path / "last", nothing)["held_out"]["best"] is None
    with pytest.raises(ValueError, match="keep best needs held-out sentences"):
        run(data, tmp_path / "best", nothing.changed(keep="best"))


@pytest.mark.slow
def test_the_matrix_product_of_the_first_run_is_that_of_the_next(
    data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices = iter(["default", "onednn"])
    used: list[str] = []
    monkeypatch.setattr("treeviews.models.training.numerics.choose_gemm", lambda: next(choices))
    monkeypatch.setattr("treeviews.models.training.training_loop.use_gemm", used.append)
    settings = SETTINGS.changed(gemm="auto")

    with pytest.raises(KeyboardInterrupt):
        run(data, tmp_path, settings=settings, kill_at=1)
    summary = run(data, tmp_path, settings=settings)

    assert used == ["default", "default"]
    assert summary["gemm"] == "default"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (42.4, "42 s"), (60, "1 min"), (3540, "59 min"), (3590, "1 h 00 min"),
     (7500, "2 h 05 min"), (140_400, "39 h 00 min")],
)  # fmt: skip
def test_a_time_is_told_in_its_largest_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words
