"""Drawings: what stands where, and that text is nothing but text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pipeline.inspect.drawing.arcs import arcs_svg
from pipeline.inspect.drawing.page import DrawnSentence, Figure, page
from pipeline.inspect.drawing.phrases import binary_svg, constituents_svg
from pipeline.trees.parses import ConstituencyParse, DependencyParse
from tests.support.command import subcommand
from tests.support.looked_at_corpus import constituent_row, write_looked_at
from tests.support.shard_files import sentence_rows, write_stage

main = subcommand("inspect")

KNOWN_TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "dl", "dt", "dd", "section"),
    *("p", "div", "figure", "figcaption", "svg", "text", "path"),
}


class Read(HTMLParser):
    """What a browser finds in a page: its elements, and the text of each."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and self._open:
            self.texts.append((self._open[-1], data))

    def of(self, tag: str) -> list[str]:
        return [text for where, text in self.texts if where == tag]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_looked_at(tmp_path / "corpus")


def read_page(corpus: Path, *options: str) -> Read:
    out = corpus / "page.html"
    assert main(["html", str(corpus), "--out", str(out), *options]) == 0
    return Read(out.read_text("utf-8"))


# ---- which sentences


@pytest.mark.parametrize(
    ("options", "places"),
    [
        (["--at", "1:0", "--at", "0:1"], ["1:0", "0:1"]),
        (["--relation", "det", "-n", "1"], ["0:0"]),
        (["--relation", "nsubj:pass"], ["1:0"]),
        ([], ["0:0", "0:1", "1:0", "1:1"]),
    ],
)
def test_sentences_are_chosen_by_place_or_condition_or_drawn(
    corpus: Path, options: list[str], places: list[str]
) -> None:
    assert read_page(corpus, *options).of("h2") == places


def test_a_sample_is_that_of_its_seed(corpus: Path) -> None:
    samples = [
        tuple(read_page(corpus, "-n", "2", "--seed", str(seed)).of("h2")) for seed in range(8)
    ]
    assert samples[3] == tuple(read_page(corpus, "-n", "2", "--seed", "3").of("h2"))
    assert len(set(samples)) > 1
    assert all(len(sample) == 2 for sample in samples)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--at", "0:9"], "shard 0 has no row 9; it has 2 rows"),
        (["--at", "7:0"], "no shard 7 that all stages have; they share [0, 1]"),
        (["--at", "7"], "'7' is no place; write SHARD:ROW, such as 0:7"),
        (["--at", "0:0", "--label", "NP"], "leave out the conditions, or --at"),
        (["--label", "XX"], "no sentence has all that is asked for"),
    ],
)
def test_a_choice_without_a_sentence_is_a_mistake_and_leaves_no_page(
    corpus: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    out = corpus / "page.html"
    assert main(["html", str(corpus), "--out", str(out), *options]) == 2
    assert said in capsys.readouterr().err
    assert not out.exists()


def test_the_result_as_json_names_the_places(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read_page(corpus, "--at", "1:0", "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["sentences"] == [{"shard": 1, "row": 0}]
    assert told["path"] == str(corpus / "page.html")


def test_a_rejected_sentence_says_so(corpus: Path) -> None:
    captions = read_page(corpus, "--at", "1:1").of("figcaption")
    assert captions[0] == "dependencies: rejected by the parser"
    assert captions[1:] == ["constituents", "binarized, as encoders read it"]


# ---- what a page holds

HOSTILE = [
    "<script>",
    "alert(1)",
    "</script>",
    "&amp;",
    '"><img',
    "\x1b[2J",
    "\u202eevil",
    "🦉",
    "قال",
]


def test_a_corpus_own_text_stands_there_as_itself(tmp_path: Path) -> None:
    name = "<b>\nname"
    write_stage(tmp_path / "sentences", "sentences", sentence_rows([HOSTILE], document=name))
    length = len(HOSTILE)
    arcs = {"heads": list(range(length)), "deprels": ["<i>"] * length}
    write_stage(tmp_path / "dependencies", "dependencies", [arcs])
    found = read_page(tmp_path)
    assert {tag for tag, _ in found.elements} <= KNOWN_TAGS
    words = [word.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e") for word in HOSTILE]
    assert found.of("p") == [r"<b>\nname, sentence 0, 9 tokens", " ".join(words)]
    assert [text for text in found.of("text") if text != "<i>"] == words


def test_a_page_loads_nothing_and_runs_nothing(corpus: Path) -> None:
    found = read_page(corpus)
    policies = [of["content"] for tag, of in found.elements if "http-equiv" in of]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    for tag, attributes in found.elements:
        assert tag not in ("script", "link", "img", "iframe", "base")
        assert not {"src", "href", "onclick", "style"} & set(attributes)
    (style,) = found.of("style")
    assert "url(" not in style and "@import" not in style
    for part in ("prefers-color-scheme:dark", "@media print", "overflow-x:auto"):
        assert part in style


def test_a_row_whose_tree_is_none_is_told(tmp_path: Path) -> None:
    write_stage(tmp_path / "sentences", "sentences", sentence_rows([["a", "b"]] * 2))
    rows = [{"heads": [2, 1], "deprels": ["x", "y"]}, {"heads": [0], "deprels": ["root"]}]
    write_stage(tmp_path / "dependencies", "dependencies", rows)
    captions = read_page(tmp_path).of("figcaption")
    assert captions[0].startswith("dependencies: no tree (0 roots where exactly one is needed)")
    assert captions[1].startswith("dependencies: no tree (1 heads for 2 tokens)")


def test_a_page_is_the_same_for_the_same_sentences() -> None:
    sentence = DrawnSentence("0:0", "a", ["x"], [[Figure("nothing to draw")]])
    assert page("t", [], [sentence]) == page("t", [], [sentence])


# ---- drawings


def texts(svg: str) -> list[tuple[float, float, str]]:
    """Returns x, y and text of everything that is written in a drawing."""
    found = re.findall(r'<text x="([\d.]+)" y="([\d.]+)" class="[\w ]+">([^<]*)</text>', svg)
    return [(float(x), float(y), text) for x, y, text in found]


def test_words_stand_in_their_order_and_longer_arcs_above_shorter_ones() -> None:
    parse = DependencyParse([3, 3, 0, 3], ["far", "near", "root", "after"])
    found = texts(arcs_svg(["one", "two", "three", "four"], parse))
    words = [x for x, _, text in found if text in ("one", "two", "three", "four")]
    height = {text: y for _, y, text in found}
    assert words == sorted(words)
    assert height["root"] < height["far"] < height["near"] == height["after"] < height["one"]


def test_arcs_that_cross_are_drawn_on_levels_of_their_own() -> None:
    found = texts(arcs_svg(list("abcd"), DependencyParse([0, 4, 1, 1], ["r", "p", "q", "s"])))
    heights = [y for _, y, text in found if text in "pqs"]
    assert len(set(heights)) == 3


def test_a_node_stands_above_all_that_it_holds() -> None:
    _, row = constituent_row("(S (QP (DT a) (NN b)) (VP (VB c) (NP+X (NN d) (NN e))) (. .))")
    parse = ConstituencyParse(row["span_starts"], row["span_ends"], row["span_labels"], row["tags"])
    found = texts(constituents_svg(list("abcde."), parse))
    height = {text: y for _, y, text in found}
    across = {text: x for x, _, text in found}
    assert height["S"] < height["VP"] < height["X"] < height["DT"] < height["a"]
    assert across["a"] < across["QP"] < across["b"] < across["VP"] < across["e"]
    assert height["NP"] < height["X"]  # a chain is as many nodes


def test_the_binarized_tree_bears_its_labels_or_numbers() -> None:
    tokens, row = constituent_row("(S (A a) (B b) (C c))")
    parse = ConstituencyParse(row["span_starts"], row["span_ends"], row["span_labels"], row["tags"])
    children = row["binary_left"], row["binary_right"]
    labelled = [text for _, _, text in texts(binary_svg(tokens, *children, parse))]
    assert labelled == ["S", "S|", "a", "b", "c"]
    other = [text for _, _, text in texts(binary_svg(tokens, [-1, -2], [1, -3], parse))]
    assert other == ["(0)", "(1)", "a", "b", "c"]
    assert [text for _, _, text in texts(binary_svg(["a"], [], [], None))] == ["a"]


@pytest.mark.parametrize("length", [1, 400])
def test_sentences_of_any_length_and_depth_are_drawn(length: int) -> None:
    tokens = ["w"] * length
    arcs = DependencyParse(list(range(length)), ["dep"] * length)
    tree = ConstituencyParse(
        list(range(length)), [length] * length, ["S"] * length, ["NN"] * length
    )
    assert len(texts(arcs_svg(tokens, arcs))) == 2 * length
    assert len(texts(constituents_svg(tokens, tree))) == 3 * length
