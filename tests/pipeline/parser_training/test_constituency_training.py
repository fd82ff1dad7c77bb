import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.parser_training.__main__ import main
from pipeline.parser_training.constituency.training import (
    DEFAULT_OPTIMIZER,
    ConstituencyTraining,
    ConstituencyTrainingConfig,
)
from pipeline.parser_training.epochs.training import train_parser
from pipeline.parsers.chart_model import ChartModelConfig
from pipeline.parsers.evaluate_parser import main as evaluate_main
from pipeline.parsers.sentence_parser import load_parser
from tests.support.constituency_trees import TINY, toy_treebank, write_bracketed, write_documents


def train(
    config: ConstituencyTrainingConfig,
    folder: Path,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    return train_parser(ConstituencyTraining(config), folder, on_progress)


@pytest.fixture
def config(tmp_path: Path) -> ConstituencyTrainingConfig:
    train, dev = toy_treebank(60, seed=1), toy_treebank(20, seed=2)
    return ConstituencyTrainingConfig(
        train_files=(write_bracketed(tmp_path / "train.mrg", train),),
        dev_files=(write_bracketed(tmp_path / "dev.mrg", dev),),
        train_documents=(write_documents(tmp_path / "train.conllu", train),),
        dev_documents=(write_documents(tmp_path / "dev.conllu", dev),),
        model=TINY.changed(dropout=0.1, char_dropout=0.1),
        optimizer=DEFAULT_OPTIMIZER.changed(num_epochs=4, learning_rate=1e-2, averaging=0.8),
        batch_tokens=120,
        altered_share=0.2,
    )


def test_a_training_leaves_a_parser_its_metrics_and_its_record(
    config: ConstituencyTrainingConfig, tmp_path: Path
) -> None:
    progress: list[float] = []
    summary = train(config, tmp_path / "out", lambda share, message: progress.append(share))
    assert progress == [0.25, 0.5, 0.75, 1.0]
    files = {path.name for path in (tmp_path / "out").iterdir()}
    records = {"metrics.jsonl", "training.json", "scores.json"}
    assert files == {"weights.safetensors", "parser.json", "checksums.json"} | records
    metrics = [json.loads(x) for x in (tmp_path / "out/metrics.jsonl").read_text().splitlines()]
    assert [line["epoch"] for line in metrics] == [1, 2, 3, 4]
    assert metrics[-1]["bracket_loss"] < metrics[0]["bracket_loss"]
    assert summary["dev"]["evalb"]["f1"] == max(m["dev"]["evalb"]["f1"] for m in metrics)
    assert json.loads((tmp_path / "out/scores.json").read_text()) == {
        "bracket F1 dev": summary["dev"]["evalb"]["f1"],
        "tag accuracy dev": summary["dev"]["evalb"]["tag_accuracy"],
    }
    assert load_parser(tmp_path / "out", "constituents").checksum == summary["checksum"]


def test_a_killed_training_ends_with_the_weights_of_an_uninterrupted_one(
    config: ConstituencyTrainingConfig, tmp_path: Path
) -> None:
    whole = train(config, tmp_path / "whole")

    def kill(share: float, message: str) -> None:
        if share == 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "killed", kill)
    assert not (tmp_path / "killed/parser.json").exists()
    resumed = train(config, tmp_path / "killed")
    assert resumed["checksum"] == whole["checksum"]
    lines = (tmp_path / "killed/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3, 4]


def test_another_training_s_checkpoint_is_refused(
    config: ConstituencyTrainingConfig, tmp_path: Path
) -> None:
    def kill(share: float, message: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "out", kill)
    with pytest.raises(ValueError, match="belongs to a training with another configuration"):
        train(config.changed(seed=2), tmp_path / "out")


def test_excluded_documents_are_left_out_of_training_and_of_dev(
    config: ConstituencyTrainingConfig, tmp_path: Path
) -> None:
    excluded = ("doc_0", "doc_1", "doc_2")
    one = config.changed(optimizer=config.optimizer.changed(num_epochs=1))
    summary = train(one.changed(exclude_document_prefixes=excluded), tmp_path / "some")
    assert summary["dev"]["evalb"]["num_sentences"] == 5
    with pytest.raises(ValueError, match=r"no sentence in .*dev\.mrg but those .*: name"):
        train(one.changed(exclude_document_prefixes=("doc_",)), tmp_path / "none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train_files": ()}, "at least one train file"),
        ({"dev_documents": (Path("a"), Path("b"))}, "2 dev_documents for 1 dev_files"),
        ({"batch_tokens": 0}, "batch_tokens must be at least 1, got 0"),
        ({"max_sentence_tokens": 600}, "max_sentence_tokens=600, but the model takes 510"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_a_senseless_configuration_is_refused(
    config: ConstituencyTrainingConfig, change: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        config.changed(**change)  # type: ignore[arg-type]


def test_the_command_lines_train_and_score(
    config: ConstituencyTrainingConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.to_dict().items()]
    out, train, dev = (str(x) for x in (tmp_path / "out", *config.train_files, *config.dev_files))
    status = main(
        ["constituency", out, "--train", train, "--dev", dev, "--num-epochs", "1", *sizes]
    )
    assert status == 0
    summary = json.loads(capsys.readouterr().out)
    assert evaluate_main([out, dev]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["checksum"] == summary["checksum"]
    assert report["evalb"] == summary["dev"]["evalb"]
    assert report["rejected"] == {}


def test_the_command_lines_name_a_user_s_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["constituency", str(tmp_path / "out"), "--train", "none.mrg", "--dev", "none.mrg"])
        == 2
    )
    assert "error: none.mrg: no such file" in capsys.readouterr().err
    assert evaluate_main([str(tmp_path / "none"), "none.mrg"]) == 2
    assert "parser.json: no such file" in capsys.readouterr().err


def test_a_training_goes_on_from_a_parser_with_its_vocabularies(
    config: ConstituencyTrainingConfig, tmp_path: Path
) -> None:
    first = train(config, tmp_path / "first")
    slow = config.optimizer.changed(num_epochs=1, learning_rate=1e-9, averaging=0.0)
    going_on = config.changed(
        initial_parser=tmp_path / "first", optimizer=slow, min_character_count=10_000
    )
    second = train(going_on, tmp_path / "second")
    assert second["dev"] == first["dev"]
    record = json.loads((tmp_path / "second/training.json").read_text())
    assert record["config"]["initial_parser"] == "first"
    wider = going_on.changed(model=config.model.changed(d_ff=2 * config.model.d_ff))
    with pytest.raises(ValueError, match="first: has other sizes than the training"):
        train(wider, tmp_path / "third")


def test_the_command_line_keeps_the_sizes_of_the_initial_parser(
    config: ConstituencyTrainingConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(config, tmp_path / "first")
    files = ["--train", str(config.train_files[0]), "--dev", str(config.dev_files[0])]
    arguments = ["--initial", str(tmp_path / "first"), *files, "--num-epochs", "1"]

    assert main(["constituency", str(tmp_path / "second"), *arguments]) == 0

    record = json.loads((tmp_path / "second/training.json").read_text())
    default = ChartModelConfig()
    kept = TINY.changed(dropout=default.dropout, char_dropout=default.char_dropout)
    assert record["config"]["model"] == kept.to_dict()
    assert main(["constituency", str(tmp_path / "third"), *arguments, "--d-ff", "48"]) == 2
    assert "first: has other sizes than the training" in capsys.readouterr().err


def test_labels_and_tags_that_the_initial_parser_lacks_are_named(
    config: ConstituencyTrainingConfig, tmp_path: Path
) -> None:
    train(config, tmp_path / "first")
    text = config.train_files[0].read_text()
    for old, new, message in (
        ("(NP ", "(WHNP ", r"first: knows \d+ labels, not these 1 of the training files: WHNP"),
        ("(DT ", "(WDT ", r"first: knows \d+ tags, not these 1 of the training files: WDT"),
    ):
        assert old in text
        (tmp_path / "foreign.mrg").write_text(text.replace(old, new, 1))
        foreign = config.changed(
            train_files=(tmp_path / "foreign.mrg",), initial_parser=tmp_path / "first"
        )
        with pytest.raises(ValueError, match=message):
            train(foreign, tmp_path / "second")
