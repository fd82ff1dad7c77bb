import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.parser_training.__main__ import main
from pipeline.parser_training.dependency.training import (
    DependencyTraining,
    DependencyTrainingConfig,
)
from pipeline.parser_training.dependency.word_embedding import vector_files
from pipeline.parser_training.epochs import optimizer as optimizer_module
from pipeline.parser_training.epochs.optimizer import OptimizerConfig
from pipeline.parser_training.epochs.training import train_parser
from pipeline.parsers.dependency_model import Dropouts, NetworkSizes
from pipeline.parsers.evaluate_parser import main as evaluate_main
from pipeline.parsers.sentence_parser import load_parser
from pipeline.trees.flat_trees import DependencyParse
from tests.support.dependency_examples import treebank, write_conllu

SIZES = NetworkSizes(
    word_embedding=24,
    character_embedding=8,
    character_hidden=16,
    character_features=16,
    lstm_hidden=32,
    lstm_layers=1,
    arc_mlp=32,
    relation_mlp=16,
)


def train(
    config: DependencyTrainingConfig,
    folder: Path,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    return train_parser(DependencyTraining(config), folder, on_progress)


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


def weights_of(folder: Path) -> bytes:
    return (folder / "weights.safetensors").read_bytes()


@pytest.mark.slow
def test_a_tiny_treebank_is_learnt_by_heart(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    optimizer = OptimizerConfig(num_epochs=60, learning_rate=0.01, averaging=0.8)
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


def test_two_trainings_with_one_seed_agree_and_with_another_differ(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    first = train(config, tmp_path / "first")
    again = train(config, tmp_path / "again")
    other = train(config.changed(seed=2), tmp_path / "other")
    assert first["checksum"] == again["checksum"] != other["checksum"]


def test_an_interrupted_training_ends_with_the_same_weights(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(config, whole)

    def interrupt(progress: float, message: str) -> None:
        if progress == 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, broken, interrupt)
    assert not (broken / "parser.json").exists()
    seen: list[float] = []
    train(config, broken, lambda progress, message: seen.append(progress))
    assert seen == [0.75, 1.0]
    assert weights_of(broken) == weights_of(whole)
    assert sorted(path.name for path in broken.iterdir()) == [
        "checksums.json",
        "metrics.jsonl",
        "parser.json",
        "scores.json",
        "training.json",
        "weights.safetensors",
    ]
    epochs = [json.loads(s)["epoch"] for s in (broken / "metrics.jsonl").read_text().splitlines()]
    assert epochs == [1, 2, 3, 4]


def test_the_number_of_word_vectors_is_part_of_what_a_training_is(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    for file in vector_files(tmp_path):
        file.write_bytes(b"")

    digests = {
        config.changed(word_vectors=tmp_path, num_word_vectors=number).digest()
        for number in (0, 1, 2)
    }

    assert len(digests) == 3


def test_a_training_goes_on_after_its_treebank_was_moved(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    def interrupt(progress: float, message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "parser", interrupt)
    elsewhere = write_conllu(treebank(), tmp_path / "elsewhere.conllu")
    moved = config.changed(train_files=(elsewhere,))
    seen: list[float] = []

    train(moved, tmp_path / "parser", lambda done, message: seen.append(done))

    assert seen == [0.5, 0.75, 1.0]


def test_a_limit_that_leaves_no_sentence_is_named(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"none of 8 training sentences has at most 2 tokens"):
        train(config.changed(max_sentence_tokens=2), tmp_path)


def test_folders_of_another_training_or_a_finished_parser_are_refused(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    def interrupt(progress: float, message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "out", interrupt)
    with pytest.raises(ValueError, match="belongs to a training with another configuration"):
        train(config.changed(seed=9), tmp_path / "out")
    checkpoint = tmp_path / "out" / "checkpoint.safetensors"
    kept = checkpoint.read_bytes()
    checkpoint.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors: no whole .* have changed"):
        train(config, tmp_path / "out")
    checkpoint.write_bytes(kept)
    train(config, tmp_path / "out")
    with pytest.raises(ValueError, match="holds a parser or a part of one; give another"):
        train(config, tmp_path / "out")


@pytest.mark.parametrize("is_taken", [True, False])
def test_float32_stands_for_bfloat16_where_the_processor_does_not_take_it(
    monkeypatch: pytest.MonkeyPatch, is_taken: bool
) -> None:
    monkeypatch.setattr(optimizer_module, "takes_bfloat16", lambda: is_taken)
    config = OptimizerConfig(precision="bfloat16")
    with config.autocast():
        product = torch.ones(2, 2) @ torch.ones(2, 2)
    assert config.products == ("bfloat16" if is_taken else "float32")
    assert (product.dtype == torch.bfloat16) == is_taken


@pytest.mark.slow
def test_bfloat16_products_train_as_well(config: DependencyTrainingConfig, tmp_path: Path) -> None:
    optimizer = OptimizerConfig(num_epochs=30, learning_rate=0.01, averaging=0.5)
    assert optimizer.precision == "bfloat16"
    summary = train(config.changed(optimizer=optimizer), tmp_path / "out")
    assert summary["dev"]["uas"] > 90


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_tokens": 0}, "batch_tokens must be at least 1, got 0"),
        ({"train_files": ()}, "at least one train file and one dev file"),
    ],
)
def test_impossible_configurations_are_refused(
    config: DependencyTrainingConfig, change: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        config.changed(**change)


def test_impossible_numbers_of_its_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="precision must be 'bfloat16' or 'float32', got 'float8'"):
        OptimizerConfig(precision="float8")
    with pytest.raises(ValueError, match=r"dropout mlp must lie in \[0, 1\), got 1"):
        Dropouts(mlp=1)
    with pytest.raises(ValueError, match="character_hidden must be even, got 7"):
        NetworkSizes(character_hidden=7)


def test_the_learning_rate_rises_then_falls_to_zero() -> None:
    optimizer = OptimizerConfig(num_epochs=10, learning_rate=1.0, warmup_epochs=2.0)
    rates = [optimizer.rate_after(epochs) for epochs in (0, 1, 2, 5, 9, 10)]
    assert rates[0] == 0.0 and rates[1] < rates[2] > rates[3] > rates[4]
    assert rates[3] == pytest.approx(0.5)
    assert rates[5] == pytest.approx(0.0)


def test_the_command_lines_train_score_and_report_mistakes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(write_conllu(treebank(), tmp_path / "t.conllu"))
    out = str(tmp_path / "out")
    arguments = [out, "--train", file, "--dev", file, "--exclude", "story_1", "--threads"]
    arguments += [str(torch.get_num_threads()), "--num-epochs", "1", "--lstm-hidden", "8"]
    assert main(["dependency", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["best_epoch"] == 1
    assert evaluate_main([out, file, "--threads", str(torch.get_num_threads())]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["num_sentences"] == len(treebank()) and 0 <= report["las"] <= report["uas"]
    assert evaluate_main([out, str(tmp_path / "absent.conllu")]) == 2
    assert "absent.conllu: no such file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["dependency", "out", "--num-epoch", "1"], "--num-epoch 1; did you mean --num-epochs?"),
        (["dependency", "out", "--num_epochs", "x"], "--num-epochs: invalid int value: 'x'"),
        (["dependncy"], "no command 'dependncy'; did you mean dependency?"),
        (["guided-trees", "out", "--penalty", "-3"], "--penalty -3: must be 0 or more"),
    ],
)
def test_misspelt_options_are_told_with_what_was_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    file = str(write_conllu(treebank(), tmp_path / "t.conllu"))
    given = ["--parsers", "constituency", "--dependencies", file]
    if arguments[0] == "dependency":
        given = ["--train", file, "--dev", file]
    assert main([*arguments, *given]) == 2
    assert f"error: {told}" in capsys.readouterr().err.replace("argument ", "").replace(
        "unrecognized arguments: ", ""
    )


def test_options_that_give_the_sizes_of_the_initial_parser_are_named(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    train(config, tmp_path / "first")
    other = config.changed(sizes=SIZES.changed(arc_mlp=8), initial_parser=tmp_path / "first")
    with pytest.raises(ValueError, match=r"first: has other sizes .* training --arc-mlp 32$"):
        train(other, tmp_path / "second")


def test_relations_that_the_initial_parser_lacks_are_named(
    config: DependencyTrainingConfig, tmp_path: Path
) -> None:
    train(config, tmp_path / "first")
    sentences = treebank()
    sentences[0] = replace(sentences[0], deprels=["vocative", *sentences[0].deprels[1:]])
    foreign = config.changed(
        train_files=(write_conllu(sentences, tmp_path / "foreign.conllu"),),
        initial_parser=tmp_path / "first",
    )
    with pytest.raises(ValueError, match=r"first: knows \d+ relations, not these 1 .*: vocative;"):
        train(foreign, tmp_path / "second")
