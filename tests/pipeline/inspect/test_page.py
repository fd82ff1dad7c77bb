"""``inspect html``: which sentences a page draws, and that text is nothing but text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import subcommand
from tests.support.shard_files import sentence_rows, write_stage
from treeviews.pipeline.inspect.show import arcs, phrases
from treeviews.pipeline.trees.flat_trees import ConstituencyParse, DependencyParse

main = subcommand("inspect")


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


def read_page(corpus: Path, *options: str) -> Read:
    out = corpus / "page.html"
    assert main(["html", str(corpus), "--out", str(out), *options]) == 0
    return Read(out.read_text("utf-8"))


@pytest.mark.parametrize(
    ("options", "places"),
    [
        (["--where", "len(tokens) > 2"], ["0:0", "1:0"]),
        (["--where", "len(tokens) > 2", "-n", "1"], ["0:0"]),
        (["-n", "3"], ["0:0", "0:1", "1:0"]),
    ],
)
def test_sentences_are_chosen_by_place_or_by_sql(
    corpus: Path, options: list[str], places: list[str]
) -> None:
    if "--where" in options:
        pytest.importorskip("duckdb")
    assert read_page(corpus, *options).of("h2") == places


HOSTILE = ["<script>", "alert(1)", "</script>", "&amp;", '"><img', "\x1b[2J", "\u202eevil", "🦉"]


def test_a_corpus_own_text_stands_there_as_itself(tmp_path: Path) -> None:
    n = len(HOSTILE)
    write_stage(tmp_path / "sentences", "sentences", sentence_rows([HOSTILE], document="<b>\nname"))
    arcs_ = {"heads": list(range(n)), "deprels": ["<i>"] * n}
    write_stage(tmp_path / "dependencies", "dependencies", [arcs_])
    spans = {"span_starts": [0], "span_ends": [n], "span_labels": ["<a>"], "tags": ["<u>"] * n}
    binary = {"binary_left": [*range(1, n - 1), -1], "binary_right": list(range(-n, -1))}
    write_stage(tmp_path / "constituents", "constituents", [spans | binary])
    found = read_page(tmp_path)
    assert not {"script", "img", "i", "b", "a", "u", "link"} & {tag for tag, _ in found.elements}
    policies = [of["content"] for _, of in found.elements if "http-equiv" in of]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]
    assert not any({"src", "href", "onclick"} & set(of) for _, of in found.elements)
    words = [word.replace("\x1b", r"\x1b").replace("\u202e", r"\u202e") for word in HOSTILE]
    assert found.of("p") == [r"<b>\nname, sentence 0, 8 tokens", " ".join(words)]
    assert [text.strip() for text in found.of("tspan") if text.strip() != "<i>"] == words
    (drawn,) = found.of("pre")
    assert all(word in drawn for word in words)


def test_what_is_no_tree_is_told(tmp_path: Path) -> None:
    write_stage(tmp_path / "sentences", "sentences", sentence_rows([["a", "b"]] * 2))
    rows = [{"heads": [2, 1], "deprels": ["x", "y"]}, {"heads": None, "deprels": None}]
    write_stage(tmp_path / "dependencies", "dependencies", rows)
    said = read_page(tmp_path).of("p")
    assert said[2].startswith("dependencies: no tree (0 roots where exactly one is needed)")
    assert said[5] == "dependencies: rejected by the parser"


@pytest.mark.parametrize("length", [1, 200])
def test_sentences_of_any_length_and_depth_are_drawn(length: int) -> None:
    tokens = ["w"] * length
    drawn = arcs(tokens, DependencyParse(list(range(length)), ["dep"] * length), "0:0")
    assert drawn.count("displacy-arrowhead") == length - 1
    tree = ConstituencyParse(
        list(range(length)), [length] * length, ["S"] * length, ["NN"] * length
    )
    assert phrases(tokens, tree).count("S") == length
