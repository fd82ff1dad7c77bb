"""Trees that several parsers give together, and trees that dependencies guide."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
import torch

from tests.support.constituency_trees import tiny_model, toy_treebank, write_documents
from tests.support.dependency_examples import treebank, write_conllu
from tests.support.random_dependency_parsers import random_model
from tests.support.shard_files import sentence_rows, write_stage
from tests.support.tiny_transformers import random_weights, tiny_bert
from treeviews.pipeline.parser_training.__main__ import main
from treeviews.pipeline.parser_training.teacher_trees import (
    guided_trees,
    heads_outside,
    joint_trees,
    sample_sentences,
)
from treeviews.pipeline.parsers.chart_adapter import BeneparConstituencyParser
from treeviews.pipeline.parsers.chart_model import save_constituency_model
from treeviews.pipeline.parsers.dependency_adapter import SuparDependencyParser
from treeviews.pipeline.parsers.dependency_model import (
    save_dependency_model,
)
from treeviews.pipeline.parsers.transformer_dependency import (
    TransformerDependencyParser,
    new_transformer_dependency_model,
)
from treeviews.pipeline.trees.flat_trees import validate_heads
from treeviews.pipeline.trees.treebanks import (
    TreebankSentence,
    read_bracketed,
    read_conllu,
    read_treebank,
)

THREADS = f"--threads={torch.get_num_threads()}"


def sentence(
    tokens: list[str], heads: list[int], xpos: list[str] | None = None
) -> TreebankSentence:
    return TreebankSentence("doc", tokens, heads, ["dep"] * len(tokens), xpos or [])


def chain(tokens: list[str], xpos: list[str] | None = None) -> TreebankSentence:
    """Every token depends on the next: only the whole and what begins it has one head."""
    return sentence(tokens, [*range(2, len(tokens) + 1), 0], xpos)


def test_heads_outside_a_span_are_counted() -> None:
    heads = [2, 3, 0, 6, 6, 3, 3]
    counts = heads_outside(heads)
    for start, end in combinations(range(len(heads) + 1), 2):
        inside = range(start + 1, end + 1)
        expected = sum(heads[token - 1] not in inside for token in inside)
        assert counts[start, end - 1] == expected, (start, end)


def test_without_a_penalty_the_trees_are_the_parser_s_own() -> None:
    toys = toy_treebank(12)
    model = tiny_model(toys)
    parser = BeneparConstituencyParser(model, name="toy", checksum="")
    own = parser.parse([toy.tokens for toy in toys])
    assert guided_trees([model], [chain(toy.tokens) for toy in toys], penalty=0.0) == own


def test_a_high_penalty_leaves_only_phrases_with_one_head() -> None:
    toys = toy_treebank(12)
    model = tiny_model(toys)
    heads = [[0, *[1] * (len(toy.tokens) - 1)] for toy in toys]  # the first token heads all others
    sentences = [sentence(toy.tokens, h) for toy, h in zip(toys, heads, strict=True)]
    trees = guided_trees([model], sentences, penalty=1e6)
    for tree, h in zip(trees, heads, strict=True):
        counts = heads_outside(h)
        spans = list(zip(tree.starts, tree.ends, strict=True))
        assert spans[0] == (0, len(h))
        assert all(counts[start, end - 1] == 1 for start, end in spans)


def test_the_guided_command_writes_trees_in_the_order_of_their_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toys = toy_treebank(12)
    parser, out = tmp_path / "parser", tmp_path / "trees.mrg"
    save_constituency_model(parser, tiny_model(toys))
    file = write_documents(tmp_path / "toys.conllu", toys)
    command = ["guided-trees", str(out), "--dependencies", str(file), THREADS, "--parsers"]

    assert main([*command, str(parser)]) == 0

    limit = tiny_model(toys).config.max_length - 2
    assert capsys.readouterr().out == f"12 trees, 0 longer than {limit} tokens left out\n"
    written = read_bracketed(out, documents=file)
    assert [s.tokens for s in written] == [s.tokens for s in read_treebank((file,))]
    assert main([*command, str(tmp_path)]) == 2
    assert "parser.json: no such file" in capsys.readouterr().err


def random_parser(seed: int, *, min_word_frequency: int = 1) -> SuparDependencyParser:
    model = random_model(seed, min_word_frequency=min_word_frequency)
    return SuparDependencyParser(model, name="x")


SENTENCES = [sentence.tokens for sentence in treebank()]


def test_a_sure_parser_outvotes_an_unsure_one() -> None:
    sure, hesitant = random_parser(1), random_model(2, min_word_frequency=2)
    with torch.no_grad():
        for part in (hesitant.network.arc_attn, hesitant.network.rel_attn):
            part.weight.mul_(1e-6)
    unsure = SuparDependencyParser(hesitant, name="x")

    trees = joint_trees([unsure, sure, unsure], SENTENCES)

    assert trees == joint_trees([sure], SENTENCES)
    assert all(validate_heads(tree.heads) is None for tree in trees)


def test_parsers_of_different_kinds_give_trees_together(tmp_path: Path) -> None:
    small, relations = random_parser(1), random_parser(1).relations
    torch.manual_seed(5)
    model = new_transformer_dependency_model(tiny_bert(tmp_path / "bert"), relations)
    random_weights(model.network, seed=1, but=("encoder.bert.",))
    large = TransformerDependencyParser(model, name="x")

    trees = joint_trees([small, large], SENTENCES)

    assert joint_trees([large], SENTENCES) == large.parse(SENTENCES)
    assert trees not in (small.parse(SENTENCES), large.parse(SENTENCES))


def sentence_stage(folder: Path) -> Path:
    """Writes two shards of 20 sentences of 1 to 7 tokens, the second of which repeats the first."""
    words = ["the", "old", "keeper", "of", "bees", "sang", "softly"]
    lines = [words[: 1 + row % 7] + [f"n{row}"] * (row % 7 > 0) for row in range(20)]
    return write_stage(folder, "sentences", sentence_rows(lines), sentence_rows(lines))


def test_sentences_are_drawn_once_each_and_not_from_what_is_left_out(tmp_path: Path) -> None:
    folder = sentence_stage(tmp_path / "sentences")
    every = sample_sentences(folder, 1000, seed=1)
    assert len(every) == len({" ".join(tokens) for tokens in every}) == 14
    assert all(4 <= len(tokens) <= 60 for tokens in every)

    fewer = sample_sentences(folder, len(every) - 1, seed=1)
    assert len(fewer) == len(every) - 1 and all(tokens in every for tokens in fewer)
    assert fewer == sample_sentences(folder, len(every) - 1, seed=1)
    left = sample_sentences(folder, 1000, seed=1, without=[[t.upper() for t in every[0]]])
    assert left == every[1:]


def test_the_joint_command_writes_a_treebank(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = sentence_stage(tmp_path / "sentences")
    parsers = [tmp_path / "one", tmp_path / "two"]
    for seed, parser in enumerate(parsers):
        save_dependency_model(random_model(seed), parser)
    out, without = tmp_path / "out.conllu", tmp_path / "test.conllu"
    write_conllu(treebank(), without)
    arguments = [str(out), "--sentences", str(folder), "--threads", str(torch.get_num_threads())]
    arguments += ["--without", str(without), "--num-sentences", "5", "--parsers"]

    assert main(["joint-trees", *arguments, *map(str, parsers)]) == 0

    written = read_conllu(out)
    assert [s.tokens for s in written] == sample_sentences(folder, 5, seed=1)
    assert capsys.readouterr().out == f"{len(written)} trees\n"
    assert main(["joint-trees", *arguments, str(parsers[0]), "--num-sentences", "-3"]) == 2
    assert "num_sentences must be at least 1, got -3" in capsys.readouterr().err
    assert main(["joint-trees", *arguments, str(tmp_path / "none")]) == 2
    assert "none/parser.json: no such file" in capsys.readouterr().err
