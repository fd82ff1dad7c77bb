"""Networks for prediction alone hold the libraries' weights and give their trees, bit by bit."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice

import pytest
import torch

from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.parsers.constituency.bare_network import BareChartNetwork
from pipeline.parsers.constituency.benepar_adapter import BeneparConstituencyParser
from pipeline.parsers.constituency.model import (
    ChartModelConfig,
    ChartVocabularies,
    build_chart_parser,
    load_constituency_model,
)
from pipeline.parsers.dependency.bare_network import BareDependencyNetwork
from pipeline.parsers.dependency.model import (
    NetworkSizes,
    build_network,
    load_dependency_model,
)
from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser
from pipeline.parsers.dependency.vocabulary import SPECIALS, DependencyVocabulary
from pipeline.text.documents import Paragraph, documents_of
from pipeline.text.text_sources import PythonDocs
from pipeline.text.tokenization import EnglishTokenizer
from tests.support.repository import REPOSITORY


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
    vocabulary = DependencyVocabulary([*SPECIALS, "cat"], [*SPECIALS, "c", "a"], ["det", "obj"])
    bare, library = (
        build(sizes, vocabulary).eval() for build in (BareDependencyNetwork, build_network)
    )
    assert shapes(bare) == shapes(library)


def test_a_chart_network_has_the_weights_of_benepar_s() -> None:
    config = ChartModelConfig(d_model=24, num_layers=2, num_heads=3, d_kv=8, d_ff=10, d_char=5)
    vocabularies = ChartVocabularies([*"\0\1\2\3\4abc"], ["", "NP", "S"], ["DT", "NN"])
    bare = BareChartNetwork(config, vocabularies)
    library = build_chart_parser(config, vocabularies)
    assert shapes(bare) == shapes(library)
    assert bare.char_vocab == library.char_vocab
    assert bare.decoder.force_root_constituent == library.decoder.force_root_constituent
    layers = zip(bare.encoder.layers, library.encoder.layers, strict=True)
    assert all(a.self_attn.scaling_factor == b.self_attn.scaling_factor for a, b in layers)


@pytest.fixture(scope="module")
def sentences() -> list[list[str]]:
    """Paragraphs of the default run's text and some that are odd, of at most 60 tokens."""
    items = (item for document in documents_of(PythonDocs()) for item in document.paragraphs)
    texts = [item.text for item in islice(items, 400) if isinstance(item, Paragraph)]
    odd = ["Why?", "( ( ( )", "Ünïcödé 字 🙂 .", "x" * 300, "a b c d e f g h i j k l m n o p q r"]
    found = [tokens.words[:60] for tokens in EnglishTokenizer().tokenize([*texts, *odd])]
    return [words for words in found if words]


@pytest.mark.slow
def test_heads_and_relations_are_those_of_supar_s_network(sentences: list[list[str]]) -> None:
    folder = BUNDLED_PARSERS["dependencies"]
    parsers = [
        SuparDependencyParser(load_dependency_model(folder, bare=bare)[0], name="parser")
        for bare in (True, False)
    ]
    assert isinstance(parsers[0].network, BareDependencyNetwork)
    assert not isinstance(parsers[1].network, BareDependencyNetwork)
    found, expected = (parser.parse(sentences) for parser in parsers)
    assert found == expected


@pytest.mark.slow
def test_spans_and_tags_are_those_of_benepar_s_network(sentences: list[list[str]]) -> None:
    folder = BUNDLED_PARSERS["constituents"]
    found, expected = (
        BeneparConstituencyParser(
            load_constituency_model(folder, bare=bare)[0], name="parser"
        ).parse(sentences)
        for bare in (True, False)
    )
    assert found == expected


def test_states_have_the_same_bits() -> None:
    words = ["The", "unheard-of", "cats", "sat", "."]
    folder = BUNDLED_PARSERS["constituents"]
    found = []
    for bare in (True, False):
        parser = BeneparConstituencyParser(
            load_constituency_model(folder, bare=bare)[0], name="parser"
        )
        with torch.inference_mode():
            found.append(parser._words.content([words]))
    assert torch.equal(*found)


@pytest.mark.slow
def test_raw_text_is_parsed_without_the_libraries() -> None:
    heavy = ["supar", "benepar", "nltk", "scipy", "transformers", "spacy", "torch._dynamo"]
    code = (
        "import models, sys\n"
        "assert models.load('english-trees').encode(['The cat sat.']).any()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
