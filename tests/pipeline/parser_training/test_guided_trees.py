from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.parser_training.__main__ import main
from pipeline.parser_training.recipes.guided_trees import guided_trees, heads_outside
from pipeline.parsers.chart_adapter import BeneparConstituencyParser
from pipeline.parsers.chart_model import from_benepar_label, save_constituency_model
from pipeline.trees.flat_trees import TOP_LABEL
from pipeline.trees.treebanks import TreebankSentence, read_bracketed, read_treebank
from tests.support.constituency_trees import tiny_model, toy_treebank


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


def test_tags_of_the_file_are_kept_where_the_parser_knows_them() -> None:
    toys = toy_treebank(12)
    model = tiny_model(toys)
    tokens, known = toys[0].tokens, model.vocabularies.tags[0]
    (tree,) = guided_trees([model], [chain(tokens, [known, *["?"] * (len(tokens) - 1)])])
    assert tree.tags[0] == known
    assert set(tree.tags) <= set(model.vocabularies.tags)


def test_a_parser_together_with_itself_gives_its_own_trees() -> None:
    toys = toy_treebank(12)
    model = tiny_model(toys)
    sentences = [chain(toy.tokens) for toy in toys]
    assert guided_trees([model, model], sentences) == guided_trees([model], sentences)


def test_parsers_of_other_vocabularies_agree_on_what_all_of_them_know() -> None:
    toys = toy_treebank(12)
    model, other = tiny_model(toys), tiny_model(toys[:1], seed=1)
    known = set(model.vocabularies.labels) & set(other.vocabularies.labels)
    assert known < set(model.vocabularies.labels)
    sentences = [chain(toy.tokens) for toy in toys]

    trees = guided_trees([model, other], sentences)

    labels = {label for tree in trees for label in tree.labels}
    assert labels <= {from_benepar_label(label) for label in known} | {TOP_LABEL}
    assert {tag for tree in trees for tag in tree.tags} <= set(other.vocabularies.tags)
    assert trees != guided_trees([model], sentences)


def test_the_command_writes_trees_in_the_order_of_their_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toys = toy_treebank(12)
    parser, out = tmp_path / "parser", tmp_path / "trees.mrg"
    save_constituency_model(parser, tiny_model(toys))
    rows = [
        [f"{i}\t{t}\t_\t_\t{tag}\t_\t{i - 1}\tdep\t_\t_" for i, (t, tag) in enumerate(pairs, 1)]
        for pairs in (zip(toy.tokens, toy.parse.tags, strict=True) for toy in toys)
    ]
    file = tmp_path / "toys.conllu"
    file.write_text("# newdoc id = a\n" + "".join("\n".join(r) + "\n\n" for r in rows))
    threads = f"--threads={torch.get_num_threads()}"

    assert (
        main(
            [
                "guided-trees",
                str(out),
                "--parsers",
                str(parser),
                "--dependencies",
                str(file),
                threads,
            ]
        )
        == 0
    )

    assert capsys.readouterr().out == "12 trees, 0 longer than 510 tokens left out\n".replace(
        "510", str(tiny_model(toys).config.max_length - 2)
    )
    written = read_bracketed(out, documents=file)
    assert [s.tokens for s in written] == [s.tokens for s in read_treebank((file,))]
    assert [s.parse.tags for s in written] == [toy.parse.tags for toy in toys]
    assert (
        main(
            [
                "guided-trees",
                str(out),
                "--parsers",
                str(tmp_path),
                "--dependencies",
                str(file),
                threads,
            ]
        )
        == 2
    )
    assert "parser.json: no such file" in capsys.readouterr().err


def test_counts_are_integers() -> None:
    assert heads_outside([0]).tolist() == [[1]]
    assert heads_outside([0]).dtype == np.int64
