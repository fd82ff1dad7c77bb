"""Constituency trees are those of benepar, whatever the batch, the tokens and the arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import benepar
import nltk
import pytest
import torch

from tests.support.constituency_trees import tiny_model, toy_treebank
from tests.support.inverse_trees import from_brackets
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parser_training.chart_loss import chart_losses
from treeviews.pipeline.parser_training.constituency_training import chart_batch
from treeviews.pipeline.parsers.chart_adapter import BeneparConstituencyParser
from treeviews.pipeline.parsers.chart_model import (
    ChartDescription,
    ChartModelConfig,
    ChartVocabularies,
    ConstituencyModel,
    bare_chart_network,
    build_chart_parser,
)
from treeviews.pipeline.trees.flat_trees import ConstituencyParse, validate_constituents

SENTENCES = [
    ["she", "saw", "the", "small", "dog", "."],
    ["Go", "!"],
    ["yes"],
    ["a", "(", "small", ")", "cat", "[", "]", "{", "}", "chased", "birds", "with", "she", "."],
    ["naïve", "日本", "🙂", "x\ty", "line\nbreak", "-LRB-"],
    [*(["the", "dog", "liked", "a", "small", "bird", "with", "the", "teacher"] * 5), "."],
]


@pytest.fixture(scope="module")
def trained() -> ConstituencyModel:
    toys = toy_treebank(60)
    model = tiny_model(toys)
    optimizer = torch.optim.Adam(model.network.parameters(), lr=1e-2)
    vocabularies = model.description.vocabularies
    batches = [chart_batch(toys[start : start + 20], vocabularies) for start in (0, 20, 40)]
    for batch in batches * 30:
        optimizer.zero_grad()
        sum(chart_losses(model.network, batch)).backward()  # type: ignore[union-attr]
        optimizer.step()
    return model


@pytest.fixture(scope="module", params=["random", "trained"])
def model(request: pytest.FixtureRequest, trained: ConstituencyModel) -> ConstituencyModel:
    return trained if request.param == "trained" else tiny_model(toy_treebank(60), seed=7)


def _parser(model: ConstituencyModel, **settings: Any) -> BeneparConstituencyParser:
    return BeneparConstituencyParser(model, name="tiny", **settings)


def _from_nltk(tree: nltk.Tree) -> ConstituencyParse:
    return from_brackets(tree.pformat(margin=10**9))[1]


def test_trees_are_those_of_benepar_s_sentence_parser(
    model: ConstituencyModel, tmp_path: Path
) -> None:
    checkpoint = {"config": model.network.config, "state_dict": model.network.state_dict()}
    torch.save(checkpoint, tmp_path / "tiny.pt")
    sentences = [s for s in SENTENCES if not any(c.isspace() for token in s for c in token)]
    expected = benepar.Parser(str(tmp_path / "tiny.pt")).parse_sents(sentences)
    for answer, tree in zip(_parser(model).parse(sentences), expected, strict=True):
        assert isinstance(answer, ConstituencyParse)
        (below_top,) = tree
        assert answer == _from_nltk(below_top)


def test_an_answer_does_not_depend_on_its_batch(model: ConstituencyModel) -> None:
    together = _parser(model).parse(SENTENCES)
    for sentence, answer in zip(SENTENCES, together, strict=True):
        assert isinstance(answer, ConstituencyParse)
        assert validate_constituents(answer, len(sentence)) is None
    assert _parser(model, batch_tokens=1).parse(SENTENCES) == together
    assert [_parser(model).parse([s])[0] for s in SENTENCES] == together
    assert _parser(model).parse(SENTENCES[::-1]) == together[::-1]


def test_the_longest_sentence_and_a_giant_token_are_parsed(trained: ConstituencyModel) -> None:
    answers = _parser(trained).parse([["birds"] * 510, ["x" * 100_000], ["birds"] * 511])
    assert isinstance(answers[0], ConstituencyParse)
    assert isinstance(answers[1], ConstituencyParse)
    assert answers[2] == Refusal("too_long", "511 tokens, limit 510")


def shapes(network: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}


def test_a_chart_network_has_the_weights_of_benepar_s() -> None:
    config = ChartModelConfig(d_model=24, num_layers=2, num_heads=3, d_kv=8, d_ff=10, d_char=5)
    vocabularies = ChartVocabularies(
        characters=tuple("\0\1\2\3\4abc"), labels=("", "NP", "S"), tags=("DT", "NN")
    )
    description = ChartDescription(model=config, vocabularies=vocabularies)
    bare, library = bare_chart_network(description), build_chart_parser(description)
    assert shapes(bare) == shapes(library)
    assert bare.char_vocab == library.char_vocab
    assert bare.decoder.force_root_constituent == library.decoder.force_root_constituent
    layers = zip(bare.encoder.layers, library.encoder.layers, strict=True)
    assert all(a.self_attn.scaling_factor == b.self_attn.scaling_factor for a, b in layers)
