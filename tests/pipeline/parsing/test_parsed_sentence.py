"""Parsed sentences as CoNLL-U, brackets and JSON, and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.bundled_parsers import bundled_parser
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsing.parsed_sentence import ParsedSentence, Trees, write_parses
from treeviews.pipeline.text.aligned import whole_texts
from treeviews.pipeline.text.tokenization import EnglishTokenizer
from treeviews.pipeline.trees.flat_trees import ConstituencyParse, DependencyParse
from treeviews.pipeline.trees.treebanks import read_treebank

TOKENIZER = EnglishTokenizer()
ODD = " \t\n\r|\\_#\u00ad\u200b\u00a0\u2028.!()[]{}\"'/*-ab1é🙂"


def flat_tree(text: str) -> ParsedSentence:
    """Returns a sentence whose tokens all hang from the first one."""
    (cut,) = whole_texts([text], TOKENIZER)
    n = len(cut.words)
    return ParsedSentence(
        text,
        cut.tokens,
        cut.offsets,
        Trees(
            DependencyParse([0, *[1] * (n - 1)], ["root", *["dep"] * (n - 1)]),
            ConstituencyParse([0], [n], ["S"], ["X"] * n),
        ),
    )


def unescaped(gap: str) -> str:
    escapes = {r"\s": " ", r"\t": "\t", r"\n": "\n", r"\r": "\r", r"\p": "|", r"\\": "\\"}
    found, rest = "", gap
    while rest:
        if rest[:2] in (r"\u", r"\U"):
            size = 6 if rest[1] == "u" else 10
            found, rest = found + chr(int(rest[2:size], 16)), rest[size:]
        elif rest[0] == "\\":
            found, rest = found + escapes[rest[:2]], rest[2:]
        else:
            found, rest = found + rest[0], rest[1:]
    return found


def given_text(block: str) -> str:
    """Returns the text that a block of CoNLL-U was made of, from its columns alone."""
    rows = [line.split("\t") for line in block.split("\n") if line and line[0] != "#"]
    text = ""
    for number, row in enumerate(rows):
        keys = dict(key.split("=", 1) for key in row[9].split("|"))
        text += unescaped(keys.get("SpacesBefore", ""))
        start, end = map(int, keys["TokenRange"].split(":"))
        assert start == len(text)
        text += row[1]
        assert end == len(text)
        is_last = number == len(rows) - 1
        space = "" if is_last or keys.get("SpaceAfter") == "No" else " "
        text += unescaped(keys["SpacesAfter"]) if "SpacesAfter" in keys else space
    return text


@settings(max_examples=200, deadline=None)
@given(st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(ODD)), max_size=40))
def test_conllu_holds_the_given_text_and_reads_back(tmp_path_factory: Any, text: str) -> None:
    sentence = flat_tree(text)
    if not sentence.tokens:
        return
    file = tmp_path_factory.mktemp("conllu") / "trees.conllu"

    assert write_parses(file, [sentence]) == 0

    assert given_text(file.read_bytes().decode()) == text
    (read,) = read_treebank([file])
    assert (read.tokens, read.heads, read.deprels, read.xpos) == (
        sentence.tokens,
        sentence.heads,
        sentence.deprels,
        sentence.tags,
    )


def test_conllu_of_a_sentence() -> None:
    (sentence,) = bundled_parser().parse(["The co\u00adworker  sees (it)."])

    assert sentence.to_conllu() == (
        "# sent_id = 1\n"
        "# text = The co\u00adworker sees (it).\n"
        "1\tThe\t_\t_\tDT\t_\t2\tdet\t_\tTokenRange=0:3\n"
        "2\tco\u00adworker\t_\t_\tNN\t_\t3\tnsubj\t_\tTokenRange=4:13|SpacesAfter=\\s\\s\n"
        "3\tsees\t_\t_\tVBZ\t_\t0\troot\t_\tTokenRange=15:19\n"
        "4\t(\t_\t_\t-LRB-\t_\t5\tpunct\t_\tTokenRange=20:21|SpaceAfter=No\n"
        "5\tit\t_\t_\tPRP\t_\t3\tparataxis\t_\tTokenRange=21:23|SpaceAfter=No\n"
        "6\t)\t_\t_\t-RRB-\t_\t5\tpunct\t_\tTokenRange=23:24|SpaceAfter=No\n"
        "7\t.\t_\t_\t.\t_\t3\tpunct\t_\tTokenRange=24:25\n"
        "\n"
    )


def test_json_has_all_in_plain_types() -> None:
    (sentence,) = bundled_parser().parse(["It  rains."])

    assert json.loads(sentence.to_json()) == {
        "sent_id": "1",
        "source": 0,
        "start": 0,
        "text": "It  rains.",
        "tokens": ["It", "rains", "."],
        "offsets": [[0, 2], [4, 9], [9, 10]],
        "heads": [2, 0, 2],
        "deprels": ["nsubj", "root", "punct"],
        "spans": [[0, 3, "S"], [0, 1, "NP"], [1, 2, "VP"]],
        "tags": ["PRP", "VBZ", "."],
        "refusal": None,
    }
    line = ParsedSentence("a\ud800é", ["a", "é"], [(0, 1), (2, 3)]).to_json()
    assert json.loads(line.encode())["text"] == "a\ud800é"
    assert "é" in ParsedSentence("é", ["é"], [(0, 1)]).to_json()


def refused(text: str, sent_id: str) -> ParsedSentence:
    return ParsedSentence(text, [], [], refusal=Refusal("empty"), sent_id=sent_id)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("t.conllu", ["# sent_id = 1", "# sent_id = 3"]),
        ("t.mrg", ["(S (X It) (X rains) (X .))", "", "(S (X It) (X rains) (X .))"]),
        ("t.jsonl", ["null", '{"reason": "empty", "detail": ""}', "null"]),
    ],
)
def test_a_refused_sentence_is_told_and_keeps_its_place(
    tmp_path: Path, name: str, lines: list[str]
) -> None:
    rain = flat_tree("It rains.")
    third = ParsedSentence(rain.text, rain.tokens, rain.offsets, rain.trees, sent_id="3")

    assert write_parses(tmp_path / name, [rain, refused("", "2"), third]) == 1

    written = (tmp_path / name).read_text().splitlines()
    if name.endswith("jsonl"):
        written = [json.dumps(json.loads(line)["refusal"]) for line in written]
    elif name.endswith("conllu"):
        written = [line for line in written if line.startswith("# sent_id")]
    assert written == lines
