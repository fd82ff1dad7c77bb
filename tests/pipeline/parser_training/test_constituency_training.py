"""A constituency parser learns, resumes, goes on from another one, and names what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.constituency_trees import TINY, toy_treebank, write_bracketed, write_documents
from treeviews.pipeline.parser_training.__main__ import main
from treeviews.pipeline.parser_training.constituency_training import (
    DEFAULT_OPTIMIZER,
    ConstituencyTraining,
    ConstituencyTrainingConfig,
    constituents_without_final_mark,
)
from treeviews.pipeline.parser_training.train_parser import train_parser
from treeviews.pipeline.parsers.chart_model import ChartModelConfig
from treeviews.pipeline.parsers.evaluate_parser import main as evaluate_main
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.trees.treebanks import BracketedSentence, read_bracketed, to_brackets

LABELS = {"S", "NP", "VP", "FRAG", "INTJ", "S+VP", "S+S+VP", "FRAG+INTJ", "S+NP"}


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


def test_a_killed_training_ends_as_an_uninterrupted_one_with_its_metrics_and_its_record(
    config: ConstituencyTrainingConfig, tmp_path: Path
) -> None:
    progress: list[float] = []
    summary = train(config, tmp_path / "out", lambda share, message: progress.append(share))
    assert progress == [0.25, 0.5, 0.75, 1.0]

    def kill(share: float, message: str) -> None:
        if share == 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config, tmp_path / "killed", kill)
    assert train(config, tmp_path / "killed")["checksum"] == summary["checksum"]
    for out in (tmp_path / "out", tmp_path / "killed"):
        records = {"metrics.jsonl", "training.json", "scores.json"}
        files = {"weights.safetensors", "parser.json", "checksums.json"} | records
        assert {path.name for path in out.iterdir()} == files
        metrics = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        assert [line["epoch"] for line in metrics] == [1, 2, 3, 4]
        assert metrics[-1]["bracket_loss"] < metrics[0]["bracket_loss"]
        assert summary["dev"]["evalb"]["f1"] == max(m["dev"]["evalb"]["f1"] for m in metrics)
        assert json.loads((out / "scores.json").read_text()) == {
            "bracket F1 dev": summary["dev"]["evalb"]["f1"],
            "tag accuracy dev": summary["dev"]["evalb"]["tag_accuracy"],
        }
        assert load_parser(out, "constituents").checksum == summary["checksum"]


def test_the_command_lines_train_score_and_keep_the_sizes_of_an_initial_parser(
    config: ConstituencyTrainingConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = [f"--{name.replace('_', '-')}={value}" for name, value in TINY.to_dict().items()]
    out, train, dev = (str(x) for x in (tmp_path / "out", *config.train_files, *config.dev_files))
    files = ["--train", train, "--dev", dev, "--num-epochs", "1"]
    assert main(["constituency", out, *files, *sizes]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert evaluate_main([out, dev]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["checksum"] == summary["checksum"]
    assert report["evalb"] == summary["dev"]["evalb"]

    going_on = ["--initial", out, *files]
    assert main(["constituency", str(tmp_path / "second"), *going_on]) == 0

    record = json.loads((tmp_path / "second/training.json").read_text())
    default = ChartModelConfig()
    kept = TINY.changed(dropout=default.dropout, char_dropout=default.char_dropout)
    assert record["config"]["model"] == kept.to_dict()
    assert record["config"]["initial_parser"] == "out"
    assert main(["constituency", str(tmp_path / "third"), *going_on, "--d-ff", "48"]) == 2
    assert "out: has other sizes than the training" in capsys.readouterr().err


def test_a_training_goes_on_from_a_parser_with_its_vocabularies(
    config: ConstituencyTrainingConfig, tmp_path: Path
) -> None:
    first = train(config, tmp_path / "first")
    slow = config.optimizer.changed(num_epochs=1, learning_rate=1e-9, averaging=0.0)
    going_on = config.changed(
        initial_parser=tmp_path / "first", optimizer=slow, min_character_count=10_000
    )
    assert train(going_on, tmp_path / "second")["dev"] == first["dev"]
    text = config.train_files[0].read_text()
    for old, new, kind in (("(NP ", "(WHNP ", "labels"), ("(DT ", "(WDT ", "tags")):
        (tmp_path / "foreign.mrg").write_text(text.replace(old, new, 1))
        message = rf"first: knows \d+ {kind}, not these 1 of the training files: {new[1:-1]}"
        with pytest.raises(ValueError, match=message):
            train(going_on.changed(train_files=(tmp_path / "foreign.mrg",)), tmp_path / "third")


def bracketed(text: str, folder: Path) -> BracketedSentence:
    (folder / "tree.mrg").write_text(text)
    return read_bracketed(folder / "tree.mrg")[0]


@pytest.mark.parametrize(
    ("tree", "left"),
    [
        ("(S (NP (PRP I)) (VP (VBP go)) (. .))", "(S (NP (PRP I)) (VP (VBP go)))"),
        ("(S (VP (VB Go) (NP (NN home))) (. !))", "(S (VP (VB Go) (NP (NN home))))"),
        ("(TOP (S (VP (VB Go))) (. !))", "(S (VP (VB Go)))"),
        ("(FRAG (INTJ (UH Yes)) (: :))", "(FRAG (INTJ (UH Yes)))"),
        ("(S (S (VP (VB Go) (. .))))", "(S (S (VP (VB Go))))"),
        ("(. .)", "(. .)"),
        ("(X (NP (NN a)) (X (. .)))", "(X (NP (NN a)) (X (. .)))"),
        ("(NP (NN a) ('' ''))", "(NP (NN a) ('' ''))"),
        ("(S (ADVP (RB So)) (. !))", "(S (ADVP (RB So)) (. !))"),
    ],
)
def test_the_final_mark_goes_where_a_tree_of_the_parsers_is_left(
    tree: str, left: str, tmp_path: Path
) -> None:
    cut = constituents_without_final_mark(bracketed(tree, tmp_path), LABELS)
    expected = bracketed(left, tmp_path)
    assert to_brackets(cut.tokens, cut.parse) == to_brackets(expected.tokens, expected.parse)
    assert cut == replace(expected, line=cut.line)


def test_sentences_are_drawn_once_in_bounded_batches_and_some_are_altered_by_seed(
    config: ConstituencyTrainingConfig,
) -> None:
    def drawn(seed: int, **changes: Any) -> list[list[int]]:
        training = ConstituencyTraining(config.changed(**changes))
        return [batch.input.lengths.tolist() for batch in training._batches(seed)]

    whole = drawn(1, altered_share=0.0)
    sizes = sorted(len(s.tokens) for s in read_bracketed(config.train_files[0]))
    assert sorted(length for batch in whole for length in batch) == sizes
    assert all(len(batch) * max(batch) <= config.batch_tokens for batch in whole)
    some = drawn(1, altered_share=0.5)
    assert 2 < sum(sizes) - sum(map(sum, some)) < 30  # final marks
    assert some == drawn(1, altered_share=0.5) != drawn(2, altered_share=0.5)
