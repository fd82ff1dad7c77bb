"""Raw text to trees, in one call."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.bundled_parsers import bundled_parser
from tests.support.splitting import split_sentences
from treeviews.pipeline.base.bundled import shipped_parsers
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers import sentence_parser
from treeviews.pipeline.parsing import parse_text
from treeviews.pipeline.parsing.parse_shard import ParseJob, parse_shard
from treeviews.pipeline.parsing.parse_text import Parser, parse
from treeviews.pipeline.parsing.parsed_sentence import Span
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.text.text_sources import TextFiles
from treeviews.pipeline.text.tokenization import SentenceConfig

TOO_LONG = "word " * 600
TEXTS = [
    "The old dog barked at the mail carrier. Nobody (not even Tom) minded it.",
    "“Don't move,” she said. It's only rain! Is it over? See e.g. the second list.",
]


def test_trees_are_those_of_the_shards_of_the_same_text(tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("\n\n".join(TEXTS), encoding="utf-8")
    sentences = tmp_path / "sentences"
    split_sentences(TextFiles([tmp_path / "text.txt"]), SentenceConfig(), sentences)
    parsers = bundled_parser().parsers
    shards = {}
    for stage in ("dependencies", "constituents"):
        parse_shard(
            ParseJob(stage=stage, sentences=sentences, output=tmp_path / stage, number=0),
            parsers[stage],
        )
        shards[stage] = read_shard(tmp_path / stage, stage, 0).to_pylist()

    parsed = bundled_parser().parse(["\n\n".join(TEXTS)], split=True)

    tokens = [row["tokens"] for row in read_shard(sentences, "sentences", 0).to_pylist()]
    assert [one.words for one in parsed] == tokens
    heads = [(row["heads"], row["deprels"]) for row in shards["dependencies"]]
    assert [(one.heads, one.deprels) for one in parsed] == heads
    spans = [
        list(map(Span, row["span_starts"], row["span_ends"], row["span_labels"]))
        for row in shards["constituents"]
    ]
    assert [one.spans for one in parsed] == spans
    binary = [(row["binary_left"], row["binary_right"]) for row in shards["constituents"]]
    assert [(one.binarized().left, one.binarized().right) for one in parsed] == binary


def test_one_kind_of_tree_is_parsed_alone() -> None:
    (heads,) = parse(["It rains."], constituents=False, dependency_parser="dependency-large")
    (spans,) = parse(["It rains."], dependencies=False, constituency_parser="constituency-large")

    assert (heads.heads, heads.spans, heads.tags) == ([2, 0, 2], None, None)
    assert (spans.heads, spans.deprels, spans.tags) == (None, None, ["PRP", "VBZ", "."])
    with pytest.raises(ValueError, match=r"sentence 1 has no constituents.*constituents=True"):
        heads.to_brackets()
    with pytest.raises(ValueError, match=r"sentence 1 has no dependencies.*dependencies=True"):
        spans.to_conllu()


def test_what_cannot_be_parsed_is_named_before_any_is_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Parser, "parse_tokens", None)

    with pytest.raises(ValueError, match=r"sentence 1 \(from 0\): empty; .*2.*too_long.*'skip'"):
        bundled_parser().parse(["It rains.", " \n", TOO_LONG])


def test_what_cannot_be_parsed_keeps_its_place() -> None:
    texts = ["It rains.", "", " \t", TOO_LONG, "It pours."]

    parsed = bundled_parser().parse(texts, on_refusal="skip")

    assert [one.text for one in parsed] == texts
    assert [one.refusal and one.refusal.reason for one in parsed] == [
        None,
        "empty",
        "empty",
        "too_long",
        None,
    ]
    assert parsed[3].heads is None
    assert parsed[3].tokens == ["word"] * 600
    assert parsed[4].heads == [2, 0, 2]
    with pytest.raises(ValueError, match="sentence 4 has no dependencies: it was refused"):
        parsed[3].to_conllu()


class Moody:
    """Refuses sentences with the word ``odd``, and takes a cycle for a tree of ``cycle``."""

    name = "moody"

    def __init__(self, parser: Any) -> None:
        self.parser = parser

    def parse(self, sentences: Sequence[Sequence[str]]) -> list[Any]:
        answers = list(self.parser.parse(sentences))
        for i, words in enumerate(sentences):
            if "odd" in words:
                answers[i] = Refusal("parser_error", "a mood")
            if "cycle" in words:
                answers[i].heads[:2] = [2, 1]
        return answers


def test_a_parsers_own_refusal_and_an_invalid_tree_leave_no_half_of_trees() -> None:
    parser = Parser()
    parser.parsers["dependencies"] = Moody(bundled_parser().parsers["dependencies"])  # type: ignore[assignment]
    parser.parsers["constituents"] = bundled_parser().parsers["constituents"]

    parsed = parser.parse(["An odd day.", "The cycle ends.", "It ends."], on_refusal="skip")

    assert [one.refusal and one.refusal.reason for one in parsed] == [
        "parser_error",
        "invalid_tree",
        None,
    ]
    assert parsed[0].spans is None
    assert parsed[2].spans is not None
    with pytest.raises(ValueError, match=r"sentence 0 \(from 0\): parser_error \(a mood\)"):
        parser.parse(["An odd day."])


def test_batches_keep_order_and_tell_their_share(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"It took {'very ' * (i % 4)}long." for i in range(7)]
    expected = bundled_parser().parse(texts)
    monkeypatch.setattr(parse_text, "SENTENCES_AT_ONCE", 3)
    told: list[float] = []

    parsed = bundled_parser().parse(texts, on_progress=told.append)

    assert parsed == expected
    assert told == [3 / 7, 6 / 7, 1.0]
    assert list(bundled_parser().stream(iter(texts))) == expected


def test_a_stream_reads_ahead_a_bounded_number_of_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_text, "SENTENCES_AT_ONCE", 2)
    taken = 0

    def texts() -> Any:
        nonlocal taken
        while True:
            taken += 1
            yield "It rains."

    stream = bundled_parser().stream(texts())

    assert [next(stream).sent_id for _ in range(3)] == ["1", "2", "3"]
    assert taken <= 4


def test_one_string_is_one_text() -> None:
    (expected,) = bundled_parser().parse(["It rains."])

    assert bundled_parser().parse("It rains.") == expected
    assert parse("It rains.") == expected
    assert [one.text for one in parse("It rains. He left.", split=True)] == [
        "It rains.",
        "He left.",
    ]
    assert list(bundled_parser().stream("It rains.")) == [expected]
    with pytest.raises(ValueError, match="empty"):
        parse("")


def test_a_parser_that_is_trained_again_or_lies_elsewhere_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ships = shipped_parsers("dependencies")
    for place, name in (("a", "dependency"), ("b", "dependency"), ("c", "dependency-large")):
        shutil.copytree(ships[name], tmp_path / place / "own")
    load, loaded = sentence_parser.load_parser, []

    def noted(path: Path, *given: Any, **settings: Any) -> Any:
        loaded.append(path.resolve())
        return load(path, *given, **settings)

    monkeypatch.setattr(sentence_parser, "load_parser", noted)
    for place in ("a", "a", "b"):
        monkeypatch.chdir(tmp_path / place)
        parse(["It rains."], constituents=False, dependency_parser="own")
    assert loaded == [tmp_path / "a" / "own", tmp_path / "b" / "own"]
    shutil.rmtree("own")
    shutil.copytree(tmp_path / "c" / "own", "own")
    parse(["It rains."], constituents=False, dependency_parser="own")
    assert loaded[2:] == [tmp_path / "b" / "own"]


@pytest.mark.parametrize(
    ("texts", "settings", "message"),
    [
        (["It rains."], {"dependency_parser": "dependency-larg"}, "did you mean dependency-large"),
        (["It rains."], {"dependencies": False, "constituents": False}, "nothing to parse"),
        (
            ["It rains."],
            {"constituents": False, "constituency_parser": "constituency"},
            "no constituents are asked for",
        ),
        (["It rains."], {"device": "gpu"}, "unknown device 'gpu'"),
        ([], {"device": "cuda:99"}, "finds . CUDA devices on this machine; use auto or cpu"),
        (["It rains."], {"on_refusal": "zero"}, "on_refusal must be error or skip, got 'zero'"),
        (["It rains.", None], {}, r"sentence 1 \(from 0\) is NoneType"),
        ([["It", "rains"]], {}, "parse_tokens takes tokens"),
    ],
)
def test_what_makes_no_sense_is_refused(texts: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        parse(texts, **settings)
