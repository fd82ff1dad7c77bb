import pytest

from pipeline.base.bundled import BUNDLED_PARSERS
from pipeline.parsers.chart_adapter import BeneparConstituencyParser
from pipeline.trees.flat_trees import ConstituencyParse
from pipeline.trees.treebanks import to_brackets

FOLDER = BUNDLED_PARSERS["constituents"]


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
