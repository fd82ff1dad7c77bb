"""Trees that several dependency parsers give together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import torch

from pipeline.parser_training.__main__ import main
from pipeline.parser_training.recipes.joint_trees import joint_trees, sample_sentences
from pipeline.parsers.dependency_adapter import SuparDependencyParser
from pipeline.parsers.dependency_model import (
    DependencyModel,
    DependencyVocabulary,
    build_network,
    save_dependency_model,
)
from pipeline.parsers.transformer_dependency import (
    TransformerDependencyParser,
    new_transformer_dependency_model,
)
from pipeline.shards.manifests import write_dataset_manifest
from pipeline.shards.schema import SENTENCES as SENTENCE_SCHEMA
from pipeline.shards.shards import write_shard
from pipeline.trees.flat_trees import validate_heads
from pipeline.trees.treebanks import read_conllu
from tests.support.dependency_examples import treebank, write_conllu
from tests.support.random_dependency_parsers import SIZES, random_model
from tests.support.tiny_transformers import random_weights, tiny_bert


def random_parser(seed: int, *, min_word_frequency: int = 1) -> SuparDependencyParser:
    model = random_model(seed, min_word_frequency=min_word_frequency)
    return SuparDependencyParser(model, name="x")


SENTENCES = [sentence.tokens for sentence in treebank()]


def test_one_parser_alone_gives_its_own_trees() -> None:
    parser = random_parser(1)
    assert joint_trees([parser], SENTENCES) == parser.parse(SENTENCES)


def test_a_sure_parser_outvotes_an_unsure_one() -> None:
    sure, hesitant = random_parser(1), random_model(2, min_word_frequency=2)
    with torch.no_grad():
        for part in (hesitant.network.arc_attn, hesitant.network.rel_attn):
            part.weight.mul_(1e-6)
    unsure = SuparDependencyParser(hesitant, name="x")

    trees = joint_trees([unsure, sure, unsure], SENTENCES)

    assert trees == joint_trees([sure], SENTENCES)
    assert all(validate_heads(tree.heads) is None for tree in trees)


def test_the_order_of_parsers_has_no_meaning() -> None:
    first, second = random_parser(1), random_parser(2)
    trees = joint_trees([first, second], SENTENCES)
    assert trees == joint_trees([second, first], SENTENCES)
    assert trees not in (joint_trees([first], SENTENCES), joint_trees([second], SENTENCES))


def test_the_order_of_relations_has_no_meaning() -> None:
    parser = random_parser(1)
    turned = random_model(1)
    order = list(reversed(range(len(turned.vocabulary.relations))))
    relations = [turned.vocabulary.relations[place] for place in order]
    with torch.no_grad():
        turned.network.rel_attn.weight.copy_(turned.network.rel_attn.weight[order])
    vocabulary = turned.vocabulary.changed(relations=relations)
    other = SuparDependencyParser(replace(turned, vocabulary=vocabulary), name="x")
    assert other.relations != parser.relations

    assert joint_trees([parser, other], SENTENCES) == parser.parse(SENTENCES)


def test_parsers_of_different_kinds_give_trees_together(tmp_path: Path) -> None:
    small, relations = random_parser(1), random_parser(1).relations
    torch.manual_seed(5)
    model = new_transformer_dependency_model(tiny_bert(tmp_path / "bert"), relations)
    random_weights(model.network, seed=1, but=("encoder.bert.",))
    large = TransformerDependencyParser(model, name="x")

    trees = joint_trees([small, large], SENTENCES)

    assert joint_trees([large], SENTENCES) == large.parse(SENTENCES)
    assert trees not in (small.parse(SENTENCES), large.parse(SENTENCES))


def test_parsers_of_other_relations_are_refused() -> None:
    other = DependencyVocabulary.build(treebank()[:1], min_word_frequency=1)
    model = DependencyModel(build_network(SIZES, other), SIZES, other)
    with pytest.raises(ValueError, match="different relations; train them on the same treebanks"):
        joint_trees([random_parser(1), SuparDependencyParser(model, name="x")], SENTENCES)


@pytest.mark.parametrize("part", ["arc_attn", "rel_attn"])
def test_scores_that_are_no_numbers_make_no_trees(part: str) -> None:
    damaged = random_model(2)
    with torch.no_grad():
        getattr(damaged.network, part).weight.view(-1)[0] = float("nan")
    with pytest.raises(FloatingPointError, match="not finite"):
        joint_trees([random_parser(1), SuparDependencyParser(damaged, name="x")], SENTENCES)


def sentence_stage(folder: Path) -> Path:
    """Writes two shards of 20 sentences of 1 to 7 tokens, the second of which repeats the first."""
    words = ["the", "old", "keeper", "of", "bees", "sang", "softly"]
    lines = [words[: 1 + row % 7] + [f"n{row}"] * (row % 7 > 0) for row in range(20)]
    records = [
        {"document_id": "story", "sentence_index": row, "tokens": tokens}
        for row, tokens in enumerate(lines)
    ]
    table = pa.Table.from_pylist(records, schema=SENTENCE_SCHEMA)
    for number in range(2):
        write_shard(folder, "sentences", number, table, drops={}, quarantine=[])
    write_dataset_manifest(folder, "sentences", config={})
    return folder


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


def test_the_command_writes_a_treebank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert "the number of sentences is -3" in capsys.readouterr().err
    assert main(["joint-trees", *arguments, str(tmp_path / "none")]) == 2
    assert "none/parser.json: no such file" in capsys.readouterr().err
