"""A dependency parser learns, resumes, hides and alters words, and names what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.dependency_examples import treebank, write_conllu
from tests.support.random_dependency_parsers import SIZES as TINY
from treeviews.pipeline.parser_training.__main__ import main
from treeviews.pipeline.parser_training.dependency_training import (
    DependencyTraining,
    DependencyTrainingConfig,
    dependencies_without_final_mark,
)
from treeviews.pipeline.parser_training.train_parser import train_parser
from treeviews.pipeline.parser_training.training_state import OptimizerConfig
from treeviews.pipeline.parsers.dependency_model import Dropouts
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.trees.flat_trees import DependencyParse
from treeviews.pipeline.trees.treebanks import TreebankSentence

SIZES = TINY.changed(word_embedding=24, lstm_hidden=32, arc_mlp=32, relation_mlp=16)
SENTENCE = TreebankSentence(
    "a", ["Ann", "saw", "it", "."], [2, 0, 2, 2], ["nsubj", "root", "obj", "punct"]
)


def train(
    config: DependencyTrainingConfig,
    folder: Path,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    return train_parser(DependencyTraining(config), folder, on_progress)


def kill_at(share: float) -> Callable[[float, str], None]:
    def kill(done: float, message: str) -> None:
        if done == share:
            raise KeyboardInterrupt

    return kill


@pytest.fixture
def config(tmp_path: Path) -> DependencyTrainingConfig:
    file = write_conllu(treebank(), tmp_path / "train.conllu")
    return DependencyTrainingConfig(
        train_files=(file,),
        dev_files=(file,),
        sizes=SIZES,
        dropouts=Dropouts(embedding=0.1, lstm=0.1, recurrent_weight=0.1, mlp=0.1),
        optimizer=OptimizerConfig(num_epochs=4, averaging=0.5, precision="float32"),
        min_word_frequency=1,
        batch_tokens=30,
    )


@pytest.mark.slow
def test_a_tiny_treebank_is_learnt_by_heart(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    optimizer = OptimizerConfig(num_epochs=60, learning_rate=0.01, averaging=0.8)
    assert optimizer.precision == "bfloat16"
    summary = train(config.changed(optimizer=optimizer), tmp_path / "out")
    lines = (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert losses[-1] < 0.2 * losses[0]
    assert summary["dev"]["las"] == 100.0
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert scores == {"LAS dev": 100.0, "UAS dev": 100.0}
    parser = load_parser(tmp_path / "out", "dependencies", expected_checksum=summary["checksum"])
    for gold, parse in zip(treebank(), parser.parse([s.tokens for s in treebank()]), strict=True):
        assert parse == DependencyParse(gold.heads, gold.deprels)


def test_the_seed_determines_the_weights_and_a_killed_training_ends_with_them(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    first = train(config, whole)
    other = train(config.changed(seed=2), tmp_path / "other")
    with pytest.raises(KeyboardInterrupt):
        train(config, broken, kill_at(0.5))
    assert not (broken / "parser.json").exists()
    seen: list[float] = []
    elsewhere = write_conllu(treebank(), tmp_path / "moved.conllu")  # which does not matter

    again = train(config.changed(train_files=(elsewhere,)), broken, lambda d, _: seen.append(d))

    assert seen == [0.75, 1.0]
    assert first["checksum"] == again["checksum"] != other["checksum"]
    assert {path.name for path in broken.iterdir()} == {path.name for path in whole.iterdir()}
    assert "checkpoint.safetensors" not in {path.name for path in broken.iterdir()}
    epochs = [json.loads(s)["epoch"] for s in (broken / "metrics.jsonl").read_text().splitlines()]
    assert epochs == [1, 2, 3, 4]


def test_folders_of_another_training_a_damaged_or_a_finished_one_are_refused(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        train(config, out, kill_at(0.25))
    with pytest.raises(ValueError, match="belongs to a training with another configuration"):
        train(config.changed(seed=9), out)
    checkpoint = out / "checkpoint.safetensors"
    kept = checkpoint.read_bytes()
    checkpoint.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors: no whole .* have changed"):
        train(config, out)
    checkpoint.write_bytes(kept)
    train(config, out)
    with pytest.raises(ValueError, match="holds a parser or a part of one; give another"):
        train(config, out)


def test_a_training_goes_on_from_a_parser_that_has_its_sizes_and_relations(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    train(config, tmp_path / "first")
    going_on = config.changed(initial_parser=tmp_path / "first")
    with pytest.raises(ValueError, match=r"first: has other sizes .* training --arc-mlp 32$"):
        train(going_on.changed(sizes=SIZES.changed(arc_mlp=8)), tmp_path / "second")
    sentences = treebank()
    sentences[0] = replace(sentences[0], deprels=["vocative", *sentences[0].deprels[1:]])
    foreign = write_conllu(sentences, tmp_path / "foreign.conllu")
    with pytest.raises(ValueError, match=r"first: knows \d+ relations, not these 1 .*: vocative;"):
        train(going_on.changed(train_files=(foreign,)), tmp_path / "second")


def test_the_final_mark_goes_where_nothing_needs_it() -> None:
    cut = dependencies_without_final_mark(SENTENCE)
    assert (cut.tokens, cut.heads) == (["Ann", "saw", "it"], [2, 0, 2])
    for needed in (
        cut,
        TreebankSentence("", ["."], [0], ["punct"]),
        TreebankSentence("", ["so", "."], [2, 0], ["punct", "root"]),
        TreebankSentence("", ["so", "."], [2, 0], ["discourse", "punct"]),
    ):
        assert dependencies_without_final_mark(needed) == needed


def test_a_job_has_the_options_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(write_conllu(treebank(), tmp_path / "t.conllu"))
    command = ["--train", file, "--dev", file, "--num-epochs", "1", "--lstm-hidden", "8"]
    assert main(["dependency", str(tmp_path / "first"), *command, "--exclude", "story_1"]) == 0
    checksum = json.loads(capsys.readouterr().out)["checksum"]
    options = {"train": [file], "dev": [file], "num-epochs": 1, "lstm_hidden": 8}
    job = {"kind": "dependency", "out": str(tmp_path / "second"), "options": options}
    options["exclude"] = ["story_1"]
    (tmp_path / "job.json").write_text(json.dumps(job))

    assert main([str(tmp_path / "job.json")]) == 0

    assert load_parser(tmp_path / "second", "dependencies").checksum == checksum
    options["num-epoch"] = 1
    (tmp_path / "job.json").write_text(json.dumps(job))
    assert main([str(tmp_path / "job.json")]) == 2
    assert "did you mean num-epochs?" in capsys.readouterr().err
