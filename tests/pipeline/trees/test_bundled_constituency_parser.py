import re

import pytest

from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.parsers.constituency.benepar_adapter import BeneparConstituencyParser
from pipeline.trees.flat import to_brackets
from pipeline.trees.parses import ConstituencyParse

FOLDER = BUNDLED_PARSERS["constituents"]
MAX_BYTES = 15_000_000


@pytest.fixture(scope="module")
def parser() -> BeneparConstituencyParser:
    return BeneparConstituencyParser.load(FOLDER)


@pytest.mark.parametrize(
    ("sentence", "tree"),
    [
        (
            "The teacher opened the window .",
            "(S (NP (DT The) (NN teacher)) (VP (VBD opened) (NP (DT the) (NN window))) (. .))",
        ),
        (
            "She lives in a small house .",
            "(S (NP (PRP She)) (VP (VBZ lives) (PP (IN in) (NP (DT a) (JJ small) (NN house)))) "
            "(. .))",
        ),
    ],
)
def test_an_obvious_sentence_gets_its_obvious_tree(
    parser: BeneparConstituencyParser, sentence: str, tree: str
) -> None:
    (answer,) = parser.parse([sentence.split()])
    assert isinstance(answer, ConstituencyParse)
    assert to_brackets(sentence.split(), answer) == tree


def test_the_card_names_these_weights_and_their_licence(parser: BeneparConstituencyParser) -> None:
    card = (FOLDER / "card.md").read_text(encoding="utf-8")
    assert parser.checksum in card
    assert "CC BY-SA 4.0" in card
    for genre in ("essay", "fiction", "letter", "podcast", "whow"):
        assert f"GUM_{genre}_" in card


def test_the_card_claims_what_the_floor_asks(parser: BeneparConstituencyParser) -> None:
    card = (FOLDER / "card.md").read_text(encoding="utf-8")
    score = re.search(r"full GUM test \| \d+ \| ([\d.]+)", card)
    assert score is not None
    assert float(score[1]) >= 76.0


def test_the_weights_are_small_enough_to_ship() -> None:
    assert (FOLDER / "weights.safetensors").stat().st_size <= MAX_BYTES
