"""Dependency trees are those of supar, whatever the batch, the tokens and the arithmetic."""

from __future__ import annotations

import copy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.dependency_examples import treebank
from tests.support.library_parsers import from_supar, supar_parser
from tests.support.random_dependency_parsers import random_model
from tests.support.repository import REPOSITORY
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.dependency_adapter import SuparDependencyParser
from treeviews.pipeline.parsers.dependency_forward import encode_spellings, spelling_cache
from treeviews.pipeline.parsers.dependency_model import (
    SPECIALS,
    DependencyDescription,
    DependencyModel,
    DependencyVocabulary,
    NetworkSizes,
    bare_network,
    build_network,
)
from treeviews.pipeline.parsers.parser_folder import save_model
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.trees.flat_trees import DependencyParse, validate_heads

BUNDLED = BUNDLED_PARSERS["dependencies"]


SENTENCES = [
    ["The", "dog", "chased", "an", "enormous", "neighbour", "'s", "cat", "."],
    ["She", "reads"],
    ["Go", "!"],
    ["Unquestionably", "internationalization-friendly-identifiers", "help", "us", "all", "."],
    ["A"],
    ["the", "THE", "The", "tHe", "dog", "Dog"],
]


@pytest.fixture(scope="module")
def model() -> DependencyModel:
    return random_model(1)


@pytest.fixture
def parser(model: DependencyModel) -> SuparDependencyParser:
    return SuparDependencyParser(model, name="random", batch_tokens=40)


def assert_same_as_supar(parser: Any, sentences: list[list[str]]) -> None:
    ours = SuparDependencyParser(from_supar(parser), name="converted").parse(sentences)
    theirs = parser.predict([list(s) for s in sentences], tree=True, proj=False, verbose=False)
    assert [parse.heads for parse in ours] == list(theirs.arcs)
    assert [parse.deprels for parse in ours] == list(theirs.rels)


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_supars_own_prediction(tmp_path: Path, seed: int) -> None:
    sentences = SENTENCES + [s.tokens for s in treebank()]
    assert_same_as_supar(supar_parser(tmp_path, seed=seed), sentences)


def test_pretrained_vectors_are_folded_into_the_embedding(tmp_path: Path) -> None:
    parser = supar_parser(tmp_path, seed=3)
    words = parser.transform.FORM[0].vocab
    words.extend(["unquestionably", "enormous"])
    parser.model.args.device = "cpu"
    vectors = torch.randn(len(words), 12, generator=torch.Generator().manual_seed(0))
    trained = parser.model.word_embed.weight.detach().clone()
    parser.model.load_pretrained(vectors)  # sets the trained vectors to zero
    parser.model.word_embed.weight.data.copy_(trained)
    assert_same_as_supar(parser, SENTENCES)


def test_a_sentences_answer_does_not_depend_on_its_batch(model: DependencyModel) -> None:
    sentences = SENTENCES * 3
    together = SuparDependencyParser(model, name="a", batch_tokens=4000).parse(sentences)
    for parse in together:
        assert isinstance(parse, DependencyParse)
        assert validate_heads(parse.heads) is None
        assert set(parse.deprels) <= set(model.description.vocabulary.relations)
    alone = SuparDependencyParser(model, name="b", batch_tokens=1)
    assert together == [alone.parse([sentence])[0] for sentence in sentences]
    assert together[::-1] == SuparDependencyParser(model, name="c").parse(sentences[::-1])


def test_what_cannot_be_parsed_is_rejected_with_its_reason(parser: SuparDependencyParser) -> None:
    missing: Any = ["a", None]
    number: Any = ["a", 5]
    answers = parser.parse([[], ["Go"], ["a"] * 511, ["a", ""], missing, ["a"] * 510, number])
    assert answers[0] == Refusal("empty")
    assert isinstance(answers[1], DependencyParse)
    assert answers[2] == Refusal("too_long", "511 tokens, limit 510")
    assert answers[3] == Refusal("empty_token", "token 2 of 2")
    assert answers[4] == Refusal("empty_token", "token 2 of 2")
    assert isinstance(answers[5], DependencyParse)
    assert isinstance(answers[6], Refusal)
    assert answers[6].reason == "parser_error"
    assert parser.parse([]) == []


@pytest.mark.parametrize("damaged", ["arc_mlp_d", "rel_mlp_d", "word_embed"])
def test_scores_that_are_no_numbers_make_no_tree(model: DependencyModel, damaged: str) -> None:
    network = copy.deepcopy(model.network)
    with torch.no_grad():
        next(getattr(network, damaged).parameters()).fill_(float("nan"))
    parser = SuparDependencyParser(replace(model, network=network), name="damaged")

    answers = parser.parse([["She", "slept"], ["She"]])

    assert [getattr(answer, "reason", None) for answer in answers] == ["parser_error"] * 2


def test_cached_spellings_do_not_depend_on_what_was_read_before(model: DependencyModel) -> None:
    words = ["", *{token for sentence in SENTENCES for token in sentence}]
    vocabulary = model.description.vocabulary
    at_once = spelling_cache(model.network, vocabulary, capacity=100)
    one_by_one = spelling_cache(model.network, vocabulary, capacity=7)  # is emptied when full
    with torch.inference_mode():
        expected = at_once.vectors(words)
        for word in reversed(words):
            one_by_one.vectors([word])
        torch.testing.assert_close(one_by_one.vectors(words[:7]), expected[:7], rtol=0, atol=0)
        uncached = encode_spellings(model.network, words, vocabulary)
    torch.testing.assert_close(uncached, expected)


def test_fast_is_the_fastest_arithmetic_of_the_machine_and_shows(
    model: DependencyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parser(precision: str) -> SuparDependencyParser:
        return SuparDependencyParser(replace(model, checksum="abc"), name="x", precision=precision)

    def on(*instructions: str) -> None:
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: dict.fromkeys(instructions, 1))

    on("avx512_bf16")
    exact, fast = parser("exact"), parser("fast")
    assert (exact.precision, exact.checksum) == ("float32", "abc")
    assert (fast.precision, fast.checksum) == ("bfloat16", "abc-bfloat16")
    answers = fast.parse(SENTENCES)
    assert all(isinstance(a, DependencyParse) and not validate_heads(a.heads) for a in answers)
    on("avx512_f")
    assert (parser("fast").precision, parser("fast").checksum) == ("float32", "abc")


def test_a_saved_parser_answers_the_same_up_to_half_precision(
    model: DependencyModel, tmp_path: Path
) -> None:
    checksum = save_model(model, tmp_path / "tiny")
    loaded = load_parser(tmp_path / "tiny", "dependencies", expected_checksum=checksum)
    assert (loaded.name, loaded.checksum) == ("tiny", checksum)
    with pytest.raises(ValueError, match="differs from the expected 0123"):
        load_parser(tmp_path / "tiny", "dependencies", expected_checksum="0123")
    half = build_network(model.description)
    half.load_state_dict({k: v.half().float() for k, v in model.network.state_dict().items()})
    rounded = replace(model, network=half)
    assert loaded.parse(SENTENCES) == SuparDependencyParser(rounded, name="r").parse(SENTENCES)


def shapes(network: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(tensor.shape) for name, tensor in network.state_dict().items()}


@pytest.mark.parametrize(
    "sizes",
    [
        NetworkSizes(),
        NetworkSizes(character_hidden=20, character_features=20, lstm_layers=1),
        NetworkSizes(word_embedding=7, lstm_hidden=5, arc_mlp=3, relation_mlp=4),
    ],
)
def test_a_dependency_network_has_the_weights_of_supar_s(sizes: NetworkSizes) -> None:
    vocabulary = DependencyVocabulary(
        words=(*SPECIALS, "cat"), characters=(*SPECIALS, "c", "a"), relations=("det", "obj")
    )
    description = DependencyDescription(sizes=sizes, vocabulary=vocabulary)
    assert shapes(bare_network(description)) == shapes(build_network(description))


@pytest.mark.slow
def test_raw_text_is_parsed_without_the_libraries() -> None:
    heavy = ["supar", "benepar", "nltk", "scipy", "transformers", "spacy", "pandas"]
    code = (
        "import models, sys\n"
        "assert models.load('english-trees').encode(['The cat sat.']).any()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
