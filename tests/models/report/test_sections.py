"""Pages: what they hold and forbid, and text that stays text in HTML, Markdown and LaTeX."""

from __future__ import annotations

import re

import pytest

from tests.support.parsed_pages import parsed
from treeviews.models.report.sections import (
    Cell,
    CodeBlock,
    Drawing,
    Folded,
    Page,
    Section,
    Table,
    escaped_latex,
    html_page,
    latex_table,
    markdown_page,
    markdown_table,
    style_sheet,
)

HOSTILE = "<script>alert(1)</script></svg></style> \x1b[2J \u202e & \"q\" 'r' <b> {{ 1 }} {% x %}"
SHOWN = HOSTILE.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")


def drawing(words: str = "a") -> Drawing:
    return Drawing("dots", words, words, '<?xml?><svg width="1pt" height="1pt"><g id="a"/></svg>')


def page_of(words: str) -> Page:
    parts = (
        words,
        [words],
        {words: words},
        CodeBlock(words, "sh"),
        Table(words, [words, "n"], [words, [words, Cell(words, "better", words)]]),
        drawing(words),
        Folded(words, (words,)),
    )
    return Page(words, [words, words], [Section(words, parts), Section(words, parts)])


def test_what_others_wrote_shows_as_itself() -> None:
    page = parsed(html_page(page_of(HOSTILE)))
    markdown = markdown_page(page_of(HOSTILE))

    assert page.named("script") == page.named("b") == []
    assert page.text.count(SHOWN) >= 18
    for shown in (page.text, markdown):
        assert "\x1b" not in shown and "\u202e" not in shown
    outside = re.sub(r"```sh\n.*?\n```", "", markdown, flags=re.DOTALL)
    assert "<script>" not in outside and "<b>" not in outside
    latex = latex_table(Table(HOSTILE, ["a"], [[r"\input{x} %"]]), "t", ["one\n\\input{x}"])
    assert (
        latex.splitlines()[1] == "% one \\input{x}" and r"\input" not in latex.split("midrule")[1]
    )


def test_a_page_forbids_scripts_and_requests() -> None:
    html = html_page(page_of("a"))
    page = parsed(html)

    assert html.startswith("<!doctype html>")
    (policy,) = [str(m["content"]) for m in page.named("meta") if "http-equiv" in m]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    assert "url(" not in style_sheet() and "@import" not in style_sheet()
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        for name in ("href", "src", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,"))


def test_tables_name_their_caption_columns_and_rows() -> None:
    rows = ["views", ["SEQ", "80.0", Cell("81.0", "better")], ["DEP", "70.0", Cell("6", "worse")]]
    page = parsed(html_page(Page("t", [], [Section("S", (Table("Accuracy", "abc", rows),))])))

    scopes = [th.get("scope") for th in page.named("th")]
    assert scopes == ["col", "col", "col", "colgroup", "row", "row"]
    assert "81.0▲ better than the baseline" in page.text
    assert "6▼ worse than the baseline" in page.text
    (box,) = [div for div in page.named("div") if div.get("class") == "box"]
    assert (box["tabindex"], box["aria-label"]) == ("0", "Accuracy")


def test_a_table_keeps_cells_apart_and_a_fence_its_backticks() -> None:
    assert markdown_table(["a", "b"], [["x|y", "1"]]).splitlines()[-1] == "| x\\|y | 1 |"
    page = Page("t", [], [Section("S", (CodeBlock("```", "sh"),))])
    assert "````sh\n```\n````" in markdown_page(page)
    figure = markdown_page(Page("t", [], [Section("S", (drawing("D"),))]))
    assert "![D](dots.svg)" in figure
    with pytest.raises(ValueError, match="does not fit the header"):
        Table("t", ["a", "b"], [["x"]])


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        (r"\input{x}", r"\textbackslash{}input\{x\}"),
        ("[1, 2]", "{}[1, 2]"),
        ("80.0 ± 0.3", r"80.0 $\pm$ 0.3"),
    ],
)
def test_text_stays_text_in_latex(text: str, escaped: str) -> None:
    assert escaped_latex(text) == escaped
