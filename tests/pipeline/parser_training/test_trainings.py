"""Trainings of all kinds end the same if they were killed, go on from a parser, or are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel

from tests.support.constituency_trees import TINY, toy_treebank, write_bracketed
from tests.support.dependency_examples import treebank, write_conllu
from tests.support.random_dependency_parsers import SIZES as TINY_SIZES
from tests.support.tiny_transformers import tiny_bert
from treeviews.pipeline.parser_training.__main__ import main
from treeviews.pipeline.parser_training.constituency_training import (
    DEFAULT_OPTIMIZER,
    ConstituencyTraining,
    ConstituencyTrainingConfig,
    constituents_without_final_mark,
)
from treeviews.pipeline.parser_training.dependency_training import (
    DependencyTraining,
    DependencyTrainingConfig,
    dependencies_without_final_mark,
)
from treeviews.pipeline.parser_training.train_parser import ParserTraining, train_parser
from treeviews.pipeline.parser_training.training_state import OptimizerConfig
from treeviews.pipeline.parser_training.transformer_training import (
    ScorerDropouts,
    ScorerSizes,
    TransformerTraining,
    TransformerTrainingConfig,
)
from treeviews.pipeline.parsers.chart_model import ChartModelConfig
from treeviews.pipeline.parsers.dependency_model import Dropouts
from treeviews.pipeline.parsers.evaluate_parser import main as evaluate_main
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.trees.flat_trees import DependencyParse
from treeviews.pipeline.trees.treebanks import (
    BracketedSentence,
    TreebankSentence,
    read_bracketed,
    to_brackets,
)

SIZES = TINY_SIZES.changed(word_embedding=24, lstm_hidden=32, arc_mlp=32, relation_mlp=16)
LABELS = {"S", "NP", "VP", "FRAG", "INTJ", "S+VP", "S+S+VP", "FRAG+INTJ", "S+NP"}
TRAININGS: dict[str, type[ParserTraining[Any, Any]]] = {
    "dependency": DependencyTraining,
    "dependency-transformer": TransformerTraining,
    "constituency": ConstituencyTraining,
}
STAGE = dict.fromkeys(TRAININGS, "dependencies") | {"constituency": "constituents"}


def config_of(kind: str, folder: Path) -> Any:
    if kind == "constituency":
        return ConstituencyTrainingConfig(
            train_files=(write_bracketed(folder / "train", toy_treebank(60, seed=1)),),
            dev_files=(write_bracketed(folder / "dev", toy_treebank(20, seed=2)),),
            model=TINY.changed(dropout=0.1, char_dropout=0.1),
            optimizer=DEFAULT_OPTIMIZER.changed(num_epochs=4, learning_rate=1e-2, averaging=0.8),
            batch_tokens=120,
            altered_share=0.2,
        )
    file = write_conllu(treebank(), folder / "train")
    if kind == "dependency":
        return DependencyTrainingConfig(
            train_files=(file,),
            dev_files=(file,),
            sizes=SIZES,
            dropouts=Dropouts(embedding=0.1, lstm=0.1, recurrent_weight=0.1, mlp=0.1),
            optimizer=OptimizerConfig(num_epochs=4, averaging=0.5, precision="float32"),
            min_word_frequency=1,
            batch_tokens=30,
        )
    return TransformerTrainingConfig(
        train_files=(file,),
        dev_files=(file,),
        transformer=tiny_bert(folder / "bert"),
        sizes=ScorerSizes(arc_mlp=48, relation_mlp=32, mixed_layers=3),
        dropouts=ScorerDropouts(encoder=0.0, mlp=0.0),
        optimizer=OptimizerConfig(num_epochs=4, learning_rate=1e-3, averaging=0.5),
        batch_tokens=120,
    )


def train(
    kind: str,
    config: Any,
    folder: Path,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    return train_parser(TRAININGS[kind](config), folder, on_progress)


def kill_at(share: float) -> Callable[[float, str], None]:
    def kill(done: float, message: str) -> None:
        if done == share:
            raise KeyboardInterrupt

    return kill


def metrics(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", TRAININGS)
def test_a_killed_training_ends_as_an_uninterrupted_one(kind: str, tmp_path: Path) -> None:
    config, whole, broken = config_of(kind, tmp_path), tmp_path / "whole", tmp_path / "broken"
    expected = train(kind, config, whole)
    with pytest.raises(KeyboardInterrupt):
        train(kind, config, broken, kill_at(0.5))
    assert not (broken / "parser.json").exists()
    assert load_parser(broken / "best", STAGE[kind]).name == "best"
    seen: list[float] = []
    moved = config.train_files[0].rename(tmp_path / "moved")  # where it lies does not matter
    files = {"train_files": (moved,)}
    if not config.dev_files[0].exists():
        files["dev_files"] = (moved,)

    again = train(kind, config.changed(**files), broken, lambda done, _: seen.append(done))

    assert seen == [0.75, 1.0]
    assert {**again, "seconds": 0} == {**expected, "seconds": 0}
    names = {path.name for path in broken.iterdir()}
    assert names == {path.name for path in whole.iterdir()}
    assert {"metrics.jsonl", "training.json", "scores.json", "parser.json"} <= names
    assert not names & {"checkpoint.safetensors", "best"}
    assert [line["epoch"] for line in metrics(broken)] == [1, 2, 3, 4]
    assert expected["dev"] in [line["dev"] for line in metrics(broken)]
    assert load_parser(broken, STAGE[kind]).checksum == expected["checksum"]


@pytest.mark.parametrize("kind", TRAININGS)
def test_a_training_goes_on_from_a_parser_that_has_its_sizes_and_names(
    kind: str, tmp_path: Path
) -> None:
    config = config_of(kind, tmp_path)
    first = train(kind, config, tmp_path / "first")
    no_step = config.optimizer.changed(num_epochs=1, learning_rate=1e-12, averaging=0.0)
    changes = {"initial_parser": tmp_path / "first", "optimizer": no_step}
    if kind == "dependency-transformer":
        changes["transformer"] = None
    going_on = config.changed(**changes)
    assert train(kind, going_on, tmp_path / "second")["dev"] == first["dev"]
    name = config.sizes_name
    sizes = getattr(config, name)
    other = sizes.changed(**{"d_ff" if kind == "constituency" else "arc_mlp": 8})
    with pytest.raises(ValueError, match="first: has other sizes than the training"):
        train(kind, going_on.changed(**{name: other}), tmp_path / "third")
    foreign, text = tmp_path / "foreign", config.train_files[0].read_text()
    old, new, lacking = ("\tobj\t", "\tvocative\t", r"relations, .*\['vocative'\]")
    if kind == "constituency":
        old, new, lacking = "(DT ", "(WDT ", r"tags, .*\['WDT'\]"
    foreign.write_text(text.replace(old, new))
    with pytest.raises(ValueError, match=rf"first: knows \d+ {lacking}"):
        train(kind, going_on.changed(train_files=(foreign,)), tmp_path / "third")


@pytest.mark.slow
def test_a_tiny_treebank_is_learnt_by_heart(tmp_path: Path) -> None:
    optimizer = OptimizerConfig(num_epochs=60, learning_rate=0.01, averaging=0.8)
    config, out = config_of("dependency", tmp_path).changed(optimizer=optimizer), tmp_path / "out"
    assert optimizer.precision == "bfloat16"
    summary = train("dependency", config, out)
    assert metrics(out)[-1]["loss"] < 0.2 * metrics(out)[0]["loss"]
    assert summary["dev"]["las"] == 100.0
    scores = json.loads((out / "scores.json").read_text())
    assert scores == {"LAS dev": 100.0, "UAS dev": 100.0}
    parser = load_parser(out, "dependencies", expected_checksum=summary["checksum"])
    for gold, parse in zip(treebank(), parser.parse([s.tokens for s in treebank()]), strict=True):
        assert parse == DependencyParse(gold.heads, gold.deprels)


def test_folders_of_another_training_a_damaged_or_a_finished_one_are_refused(
    tmp_path: Path,
) -> None:
    config, out = config_of("dependency", tmp_path), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        train("dependency", config, out, kill_at(0.25))
    with pytest.raises(ValueError, match="belongs to a training with another configuration"):
        train("dependency", config.changed(seed=9), out)
    checkpoint = out / "checkpoint.safetensors"
    kept = checkpoint.read_bytes()
    checkpoint.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors: no whole .* have changed"):
        train("dependency", config, out)
    checkpoint.write_bytes(kept)
    checksum = train("dependency", config, out)["checksum"]
    with pytest.raises(ValueError, match="holds a parser or a part of one; give another"):
        train("dependency", config, out)
    other = train("dependency", config.changed(seed=2), tmp_path / "other")
    assert other["checksum"] != checksum


def test_the_transformer_learns_more_slowly_than_its_scorers(tmp_path: Path) -> None:
    config, out = config_of("dependency-transformer", tmp_path), tmp_path / "out"
    first = AutoModel.from_pretrained(config.transformer).state_dict()
    frozen = config.changed(optimizer=config.optimizer.changed(learning_rate=1e-9, num_epochs=2))
    train("dependency-transformer", frozen.changed(scorer_rate=1e6), out)
    learnt = AutoModel.from_pretrained(out / "transformer").state_dict()
    assert all(torch.allclose(first[name], learnt[name], atol=1e-7) for name in first)
    assert metrics(out)[1]["loss"] < metrics(out)[0]["loss"]


def test_the_command_lines_train_score_and_keep_the_sizes_of_an_initial_parser(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = config_of("constituency", tmp_path)
    sizes = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.to_dict().items()]
    out, train, dev = (str(x) for x in (tmp_path / "out", *config.train_files, *config.dev_files))
    files = ["--train", train, "--dev", dev, "--num-epochs", "1"]
    assert main(["constituency", out, *files, *sizes]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert evaluate_main([out, dev]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["checksum"] == summary["checksum"]
    assert report["evalb"] == summary["dev"]["evalb"]
    assert evaluate_main([out, dev, "--exclude", "GUM_"]) == 2
    assert "bracketed trees name no documents that --exclude" in capsys.readouterr().err

    assert main(["constituency", str(tmp_path / "second"), "--initial", out, *files]) == 0

    record = json.loads((tmp_path / "second/training.json").read_text())["config"]
    default = ChartModelConfig()
    kept = TINY.changed(dropout=default.dropout, char_dropout=default.char_dropout)
    assert (record["model"], record["initial_parser"]) == (kept.to_dict(), "out")


def test_a_job_has_the_options_of_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(write_conllu(treebank(), tmp_path / "t.conllu"))
    command = ["--train", file, "--dev", file, "--num-epochs", "1", "--lstm-hidden", "8"]
    assert main(["dependency", str(tmp_path / "first"), *command, "--exclude", "story_1"]) == 0
    checksum = json.loads(capsys.readouterr().out)["checksum"]
    options = {"train": [file], "dev": [file], "num-epochs": 1, "lstm_hidden": 8}
    options["exclude"] = ["story_1"]
    job = {"kind": "dependency", "out": str(tmp_path / "second"), "options": options}
    (tmp_path / "job.json").write_text(json.dumps(job))
    assert main([str(tmp_path / "job.json")]) == 0
    assert load_parser(tmp_path / "second", "dependencies").checksum == checksum
    options["num-epoch"] = 1
    (tmp_path / "job.json").write_text(json.dumps(job))
    assert main([str(tmp_path / "job.json")]) == 2
    assert "did you mean num-epochs?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tokens", "heads", "deprels", "left"),
    [
        (["Ann", "saw", "it", "."], [2, 0, 2, 2], ["nsubj", "root", "obj", "punct"], 3),
        (["."], [0], ["punct"], 1),
        (["so", "."], [2, 0], ["punct", "root"], 2),
    ],
)
def test_the_final_mark_goes_where_no_arc_needs_it(
    tokens: list[str], heads: list[int], deprels: list[str], left: int
) -> None:
    cut = dependencies_without_final_mark(TreebankSentence("a", tokens, heads, deprels))
    assert (cut.tokens, cut.heads) == (tokens[:left], heads[:left])


def bracketed(text: str, folder: Path) -> BracketedSentence:
    (folder / "tree.mrg").write_text(text)
    return read_bracketed(folder / "tree.mrg")[0]


@pytest.mark.parametrize(
    ("tree", "left"),
    [
        ("(S (NP (PRP I)) (VP (VBP go)) (. .))", "(S (NP (PRP I)) (VP (VBP go)))"),
        ("(TOP (S (VP (VB Go))) (. !))", "(S (VP (VB Go)))"),
        ("(S (S (VP (VB Go) (. .))))", "(S (S (VP (VB Go))))"),
        ("(. .)", "(. .)"),
        ("(S (ADVP (RB So)) (. !))", "(S (ADVP (RB So)) (. !))"),
    ],
)
def test_the_final_mark_goes_where_a_tree_of_the_parsers_is_left(
    tree: str, left: str, tmp_path: Path
) -> None:
    cut = constituents_without_final_mark(bracketed(tree, tmp_path), LABELS)
    expected = bracketed(left, tmp_path)
    assert to_brackets(cut.tokens, cut.parse) == to_brackets(expected.tokens, expected.parse)
    assert cut == expected
