"""A dependency parser over a transformer learns, resumes, and is one like any other."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel

from tests.support.dependency_examples import treebank, write_conllu
from tests.support.tiny_transformers import tiny_bert
from treeviews.pipeline.parser_training.__main__ import main
from treeviews.pipeline.parser_training.train_parser import train_parser
from treeviews.pipeline.parser_training.training_state import OptimizerConfig
from treeviews.pipeline.parser_training.transformer_training import (
    ScorerDropouts,
    ScorerSizes,
    TransformerTraining,
    TransformerTrainingConfig,
)
from treeviews.pipeline.parsers.evaluate_parser import main as evaluate_main
from treeviews.pipeline.parsers.sentence_parser import load_parser

THREADS = ["--threads", str(torch.get_num_threads())]


def train(
    config: TransformerTrainingConfig,
    folder: Path,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    return train_parser(TransformerTraining(config), folder, on_progress)


@pytest.fixture
def config(tmp_path: Path) -> TransformerTrainingConfig:
    file = write_conllu(treebank(), tmp_path / "train.conllu")
    return TransformerTrainingConfig(
        train_files=(file,),
        dev_files=(file,),
        transformer=tiny_bert(tmp_path / "bert"),
        sizes=ScorerSizes(arc_mlp=48, relation_mlp=32, mixed_layers=3),
        dropouts=ScorerDropouts(encoder=0.0, mlp=0.0),
        optimizer=OptimizerConfig(num_epochs=2, learning_rate=1e-3, averaging=0.5),
        batch_tokens=120,
    )


def test_the_transformer_learns_more_slowly_than_its_scorers(
    config: TransformerTrainingConfig, tmp_path: Path
) -> None:
    assert config.transformer is not None
    first = AutoModel.from_pretrained(config.transformer).state_dict()
    frozen = config.changed(optimizer=config.optimizer.changed(learning_rate=1e-9))
    train(frozen.changed(scorer_rate=1e6), tmp_path / "out")

    learnt = AutoModel.from_pretrained(tmp_path / "out" / "transformer").state_dict()

    assert all(torch.allclose(first[name], learnt[name], atol=1e-7) for name in first)
    lines = (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()
    losses = [json.loads(line)["loss"] for line in lines]
    assert losses[1] < losses[0]


def test_an_interrupted_training_ends_with_the_same_weights(
    config: TransformerTrainingConfig, tmp_path: Path
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    expected = train(config, whole)

    def interrupt(progress: float, message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, broken, interrupt)
    assert not (broken / "parser.json").exists()
    assert load_parser(broken / "best", "dependencies").name == "best"
    assert train(config, broken)["checksum"] == expected["checksum"]
    names = {path.name for path in broken.iterdir()}
    assert names == {path.name for path in whole.iterdir()} and "best" not in names


def test_a_training_goes_on_from_a_parser_with_its_transformer(
    config: TransformerTrainingConfig, tmp_path: Path
) -> None:
    first = train(config, tmp_path / "first")
    no_step = config.optimizer.changed(learning_rate=1e-12, num_epochs=1)
    further = config.changed(transformer=None, initial_parser=tmp_path / "first", optimizer=no_step)
    assert train(further, tmp_path / "second")["dev"] == first["dev"]
    assert TransformerTrainingConfig.sizes_of(tmp_path / "first") == config.sizes
    with pytest.raises(ValueError, match=r"first: has other sizes .* training --arc-mlp 48"):
        train(further.changed(sizes=config.sizes.changed(arc_mlp=8)), tmp_path / "third")


def test_the_command_trains_and_scores(
    config: TransformerTrainingConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = str(config.train_files[0]), str(tmp_path / "out")
    arguments = ["--train", file, "--dev", file, *THREADS, "--num-epochs", "1"]
    arguments += ["--mixed-layers", "2", "--transformer"]
    command = ["dependency-transformer", out, *arguments]

    assert main([*command, str(config.transformer)]) == 0
    assert json.loads(capsys.readouterr().out)["best_epoch"] == 1
    assert evaluate_main([out, file, *THREADS]) == 0
    assert json.loads(capsys.readouterr().out)["num_sentences"] == len(treebank())
