"""Trees that several parsers give together, and trees that dependencies guide."""

from __future__ import annotations

import importlib.util
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.support.constituency_trees import tiny_model, toy_treebank, write_documents
from tests.support.dependency_examples import treebank, write_conllu
from tests.support.random_dependency_parsers import random_model
from tests.support.repository import REPOSITORY
from tests.support.shard_files import sentence_rows, write_stage
from treeviews.pipeline.parsers.chart_adapter import BeneparConstituencyParser
from treeviews.pipeline.parsers.parser_folder import save_model
from treeviews.pipeline.trees.treebanks import TreebankSentence, read_bracketed, read_treebank


@pytest.fixture(scope="module")
def script() -> Any:
    file = REPOSITORY / "data" / "make_teacher_trees.py"
    spec = importlib.util.spec_from_file_location("make_teacher_trees", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_heads_outside_a_span_are_counted(script: Any) -> None:
    heads = [2, 3, 0, 6, 6, 3, 3]
    counts = script.heads_outside(heads)
    for start, end in combinations(range(len(heads) + 1), 2):
        inside = range(start + 1, end + 1)
        expected = sum(heads[token - 1] not in inside for token in inside)
        assert counts[start, end - 1] == expected, (start, end)


def test_guided_trees_are_the_parsers_own_without_a_penalty(script: Any, tmp_path: Path) -> None:
    toys = toy_treebank(12)
    save_model(tiny_model(toys), tmp_path / "parser", halved=False)
    file, out = write_documents(tmp_path / "toys.conllu", toys), tmp_path / "trees.mrg"
    command = ["guided", str(out), "--dependencies", str(file)]
    assert script.main([*command, "--parsers", str(tmp_path / "parser"), "--penalty", "0"]) == 0
    own = BeneparConstituencyParser(tiny_model(toys), name="toy")
    expected = own.parse([toy.tokens for toy in toys])
    assert [sentence.parse.labels for sentence in read_bracketed(out)] == [
        t.labels for t in expected
    ]


def test_a_high_penalty_leaves_only_phrases_with_one_head(script: Any) -> None:
    toys = toy_treebank(12)
    sentences = [
        TreebankSentence("", toy.tokens, [0, *[1] * (len(toy.tokens) - 1)], toy.tokens)
        for toy in toys  # the first token heads all others
    ]
    trees = script.guided_trees([tiny_model(toys)], sentences, penalty=1e6)
    for tree, sentence in zip(trees, sentences, strict=True):
        counts = script.heads_outside(sentence.heads)
        assert all(counts[i, j - 1] == 1 for i, j in zip(tree.starts, tree.ends, strict=True))


def test_joint_trees_are_of_sentences_that_are_drawn_once(script: Any, tmp_path: Path) -> None:
    words = ["the", "old", "keeper", "of", "bees", "sang", "softly"]
    lines = [words[: 1 + row % 7] + [f"n{row}"] * (row % 7 > 0) for row in range(20)]
    folder = write_stage(tmp_path / "s", "sentences", sentence_rows(lines), sentence_rows(lines))
    for seed in (1, 2):
        save_model(random_model(seed), tmp_path / f"parser-{seed}")
    known = write_conllu(treebank(), tmp_path / "known.conllu")
    command = ["joint", str(tmp_path / "out.conllu"), "--sentences", str(folder), "--parsers"]
    parsers = [str(tmp_path / "parser-1"), str(tmp_path / "parser-2")]
    assert script.main([*command, *parsers, "--without", str(known), "--num-sentences", "5"]) == 0
    written = [sentence.tokens for sentence in read_treebank([tmp_path / "out.conllu"])]
    assert written == script.sample_sentences(folder, 5, seed=1)
    every = script.sample_sentences(folder, 1000, seed=1)
    assert len(every) == len({" ".join(tokens) for tokens in every}) == 14
    without = [[token.upper() for token in every[0]]]
    assert script.sample_sentences(folder, 1000, seed=1, without=without) == every[1:]
