import copy
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import benepar
import nltk
import pytest
import torch

from pipeline.base.refusal import Refusal
from pipeline.parser_training.chart_loss import chart_losses
from pipeline.parser_training.constituency_training import ExampleSet
from pipeline.parsers.adapters import device
from pipeline.parsers.constituency import decoding, forward
from pipeline.parsers.constituency.benepar_adapter import BeneparConstituencyParser
from pipeline.parsers.constituency.model import (
    ConstituencyModel,
    load_constituency_model,
    save_constituency_model,
)
from pipeline.trees.flat import validate_constituents
from pipeline.trees.parses import ConstituencyParse
from tests.support.constituency_trees import tiny_model, toy_treebank
from tests.support.inverse_trees import from_brackets

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
    for epoch in range(30):
        for batch in ExampleSet(toys, model.vocabularies).batches(200, seed=epoch):
            optimizer.zero_grad()
            sum(chart_losses(model.network, batch)).backward()  # type: ignore[union-attr]
            optimizer.step()
    return model


@pytest.fixture(scope="module", params=["random", "trained"])
def model(request: pytest.FixtureRequest, trained: ConstituencyModel) -> ConstituencyModel:
    return trained if request.param == "trained" else tiny_model(toy_treebank(60), seed=7)


def _parser(model: ConstituencyModel, **settings: Any) -> BeneparConstituencyParser:
    return BeneparConstituencyParser(model, name="tiny", checksum="", **settings)


def _from_nltk(tree: nltk.Tree) -> ConstituencyParse:
    return from_brackets(tree.pformat(margin=10**9))[1]


def test_trees_are_those_of_benepar_s_chart_parser(model: ConstituencyModel) -> None:
    sentences = SENTENCES + [sentence.tokens for sentence in toy_treebank(40, seed=5)]
    answers = _parser(model).parse(sentences)
    examples = [
        SimpleNamespace(words=s, space_after=None, tree=None, pos=[(w, "UNK") for w in s].copy)
        for s in sentences
    ]
    expected = model.network.parse(examples, return_compressed=True)
    names = model.network.decoder.label_from_index
    for answer, output in zip(answers, expected, strict=True):
        assert isinstance(answer, ConstituencyParse)
        spans = [
            (start, end, names[label].replace("::", "+"))
            for start, end, label in zip(output.starts, output.ends, output.labels, strict=True)
            if names[label]
        ]
        assert list(zip(answer.starts, answer.ends, answer.labels, strict=True)) == spans
        assert answer.tags == [model.network.tag_from_index[tag] for tag in output.tags]


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
    assert _parser(model, batch_tokens=1).parse(SENTENCES) == together
    assert [_parser(model).parse([s])[0] for s in SENTENCES] == together
    assert _parser(model).parse(SENTENCES[::-1]) == together[::-1]


def test_every_answer_is_a_valid_tree(model: ConstituencyModel) -> None:
    for sentence, answer in zip(SENTENCES, _parser(model).parse(SENTENCES), strict=True):
        assert isinstance(answer, ConstituencyParse)
        assert validate_constituents(answer, len(sentence)) is None


def test_a_trained_model_finds_the_trees_of_its_grammar(trained: ConstituencyModel) -> None:
    toys = toy_treebank(30, seed=9)
    answers = _parser(trained).parse([sentence.tokens for sentence in toys])
    right = sum(a == toy.parse for a, toy in zip(answers, toys, strict=True))
    assert right >= 27, f"{right} of 30"


def test_what_cannot_be_parsed_is_rejected_with_its_reason(trained: ConstituencyModel) -> None:
    missing: Any = [None, ["she", None, "saw"]]
    answers = _parser(trained, max_tokens=20).parse(
        [[], ["she", "", "saw"], ["birds"] * 21, *missing, ["birds"] * 20]
    )
    assert answers[:5] == [
        Refusal("empty"),
        Refusal("empty_token", "token 2 of 3"),
        Refusal("too_long", "21 tokens, limit 20"),
        Refusal("empty"),
        Refusal("empty_token", "token 2 of 3"),
    ]
    assert isinstance(answers[5], ConstituencyParse)


@pytest.mark.slow
def test_a_word_that_cannot_be_read_costs_its_sentence_alone(
    trained: ConstituencyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _parser(trained).parse(SENTENCES)
    read = forward.word_table

    def fails_on_go(words: list[str], characters: dict[str, int]) -> object:
        if "Go" in words:
            raise UnicodeError("no such word")
        return read(words, characters)

    monkeypatch.setattr(forward, "word_table", fails_on_go)
    answers = _parser(trained).parse(SENTENCES)
    assert answers[1] == Refusal("parser_error", "UnicodeError: no such word")
    assert answers[:1] + answers[2:] == expected[:1] + expected[2:]


def test_the_longest_sentence_and_a_giant_token_are_parsed(trained: ConstituencyModel) -> None:
    answers = _parser(trained).parse([["birds"] * 510, ["x" * 100_000], ["birds"] * 511])
    assert isinstance(answers[0], ConstituencyParse)
    assert isinstance(answers[1], ConstituencyParse)
    assert answers[2] == Refusal("too_long", "511 tokens, limit 510")


def test_reserved_characters_count_as_unknown_ones(trained: ConstituencyModel) -> None:
    reserved, unknown = _parser(trained).parse([["she", "\1\4\2", "."], ["she", "猫猫猫", "."]])
    assert reserved == unknown


def test_no_sentence_gives_no_answer(trained: ConstituencyModel) -> None:
    assert _parser(trained).parse([]) == []


@pytest.mark.slow
def test_a_failing_sentence_costs_its_batch_nothing(
    trained: ConstituencyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _parser(trained).parse(SENTENCES)
    decode = decoding.best_spans

    def fails_on_two_tokens(scores: object, lengths: list[int]) -> object:
        if 2 in lengths:
            raise RuntimeError("no such luck")
        return decode(scores, lengths)  # type: ignore[arg-type]

    monkeypatch.setattr(decoding, "best_spans", fails_on_two_tokens)
    answers = _parser(trained).parse(SENTENCES)
    assert answers[1] == Refusal("parser_error", "RuntimeError: no such luck")
    assert answers[0] == expected[0]
    assert answers[2:] == expected[2:]


def test_scores_that_are_no_numbers_make_no_tree(trained: ConstituencyModel) -> None:
    module = copy.deepcopy(trained.network)
    with torch.no_grad():
        module.f_label[0].bias.fill_(float("nan"))
    damaged = ConstituencyModel(trained.config, trained.vocabularies, module)

    answers = _parser(damaged).parse([["the", "dog"], ["dogs"]])

    assert [getattr(answer, "reason", None) for answer in answers] == ["parser_error"] * 2


def test_more_tokens_than_positions_are_refused(trained: ConstituencyModel) -> None:
    with pytest.raises(ValueError, match="max_tokens=511, but the model takes 510"):
        _parser(trained, max_tokens=511)


def test_fast_arithmetic_is_named_where_the_device_has_one(
    trained: ConstituencyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "fast_dtype", lambda device: torch.bfloat16)
    exact, fast = _parser(trained), _parser(trained, precision="fast")
    assert (exact.precision, exact.checksum) == ("float32", "")
    assert (fast.precision, fast.checksum) == ("bfloat16", "-bfloat16")
    toys = [sentence.tokens for sentence in toy_treebank(30, seed=4)]
    alike = sum(a == b for a, b in zip(fast.parse(toys), exact.parse(toys), strict=True))
    assert alike >= 27, f"{alike} of 30"


def test_fast_is_exact_where_the_device_has_nothing_faster(
    trained: ConstituencyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "fast_dtype", lambda device: torch.float32)
    fast = _parser(trained, precision="fast")
    assert (fast.precision, fast.checksum) == ("float32", "")
    assert fast.parse(SENTENCES) == _parser(trained).parse(SENTENCES)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"precision": "half"}, "unknown precision 'half'; known: exact, fast"),
        ({"batch_tokens": 0}, "batch_tokens must be at least 1, got 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    trained: ConstituencyModel, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        _parser(trained, **settings)


def test_a_saved_parser_gives_the_same_answers(trained: ConstituencyModel, tmp_path: Path) -> None:
    checksum = save_constituency_model(tmp_path / "tiny", trained)
    (tmp_path / "elsewhere").symlink_to(tmp_path / "tiny")
    parser = BeneparConstituencyParser.load(tmp_path / "elsewhere", expected_checksum=checksum)
    assert (parser.name, parser.checksum) == ("tiny", checksum)
    toys = [sentence.tokens for sentence in toy_treebank(30, seed=2)]
    assert parser.parse(toys) == _parser(trained).parse(toys)


def test_loading_leaves_the_random_state_alone(trained: ConstituencyModel, tmp_path: Path) -> None:
    save_constituency_model(tmp_path, trained)
    before = torch.random.get_rng_state()
    load_constituency_model(tmp_path)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_folder_whose_files_do_not_belong_together_is_refused(
    trained: ConstituencyModel, tmp_path: Path
) -> None:
    save_constituency_model(tmp_path, trained)
    description = tmp_path / "parser.json"
    (tmp_path / "checksums.json").unlink()  # changed on purpose, not damaged
    description.write_text(description.read_text().replace('"d_model": 32', '"d_model": 64'))
    with pytest.raises(ValueError, match=r"parser\.json: does not describe the weights beside it"):
        BeneparConstituencyParser.load(tmp_path)
    shutil.rmtree(tmp_path)
    with pytest.raises(ValueError, match="no such file"):
        BeneparConstituencyParser.load(tmp_path)
