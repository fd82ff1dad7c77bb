from benchmarks.references.supar_predict import predict, supar_parser
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS
from treeviews.pipeline.parsers.dependency_model import load_dependency_model
from treeviews.pipeline.parsers.sentence_parser import load_parser

SENTENCES = [
    ["The", "old", "gardener", "watered", "the", "red", "roses", "."],
    ["Zyzzyva", "internationalization-friendly-identifiers", "<b>", "§"],
    ["Go", "!"],
]

BUNDLED = BUNDLED_PARSERS["dependencies"]


def test_supar_with_our_weights_answers_as_our_parser() -> None:
    model, _ = load_dependency_model(BUNDLED)
    assert predict(supar_parser(model), SENTENCES) == load_parser(BUNDLED, "dependencies").parse(
        SENTENCES
    )
