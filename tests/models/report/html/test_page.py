"""A page: what it holds, what it forbids, and text that stays text."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from models.report.html.drawing import Drawing, svg_file
from models.report.html.markup import Markup, element, joined, text
from models.report.html.page import html_page
from models.report.html.sections import (
    Bullets,
    Cell,
    Code,
    CodeBlock,
    Facts,
    Figure,
    Folded,
    Page,
    Paragraph,
    Section,
    Subheading,
    Table,
)
from models.report.html.style import COLORS
from models.report.markdown import markdown_page
from tests.support.parsed_pages import parsed

HOSTILE = "<script>alert(1)</script></svg></style> \x1b[2J \u202e & \"q\" 'r' <b>"
SHOWN = "<script>alert(1)</script></svg></style> \\x1b[2J \\u202e & \"q\" 'r' <b>"


def drawing(words: str = "a") -> Drawing:
    return Drawing("dots", words, words, 300.0, 100.0, element("circle", {"r": 2.5}))


def page_of(words: str) -> Page:
    parts = (
        Paragraph.of(words, Code(words)),
        Subheading(words),
        Bullets((words,)),
        Facts(((words, words), ("path", Code(words)))),
        CodeBlock(words, "sh"),
        Table.of(words, [words, "n"], [[words, Cell(words, "better", words)]]),
        Figure(words, (drawing(words), drawing(words))),
        Folded(words, (Paragraph.of(words),)),
    )
    return Page(words, [words, words], [Section(words, parts), Section(words, parts)])


def test_what_others_wrote_shows_as_itself() -> None:
    page = parsed(html_page(page_of(HOSTILE)))

    assert page.named("script") == []
    assert page.named("b") == []
    assert page.text.count(SHOWN) >= 20
    assert "\x1b" not in page.text
    assert "\u202e" not in page.text


def test_a_page_forbids_scripts_and_requests() -> None:
    found = html_page(page_of("a"))
    page = parsed(found)

    (policy,) = [m["content"] for m in page.named("meta") if "http-equiv" in m]
    (style,) = re.findall("<style>(.*?)</style>", found, re.S)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy is not None
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "url(" not in style
    assert "@import" not in style
    for _, attributes in page.elements:
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
        for name in ("href", "src", "xlink:href"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:,")), value


def test_headline_comes_first_and_sections_are_linked() -> None:
    found = html_page(Page("A run", ["Trees help.", "Words, too."], [Section("Scores", ())] * 2))
    page = parsed(found)

    assert found.index("Trees help.") < found.index("<nav") < found.index("<main")
    assert [a["href"] for a in page.named("a")] == ["#scores", "#scores-2"]
    assert [s["id"] for s in page.named("section")] == ["scores", "scores-2"]


def test_tables_name_their_caption_columns_and_rows() -> None:
    rows = [["SEQ", "80.0", Cell("81.0", "better")], ["DEP", "70.0", Cell("60.0", "worse")]]
    table = Table.of("Accuracy", ["view", "MR", "TREC"], rows)
    page = parsed(html_page(Page("t", [], [Section("Scores", (table,))])))

    assert [th.get("scope") for th in page.named("th")] == ["col"] * 3 + ["row"] * 2
    assert len(page.named("caption")) == 1
    assert "81.0▲ better than the baseline" in page.text
    assert "60.0▼ worse than the baseline" in page.text
    (box,) = [div for div in page.named("div") if div.get("class") == "box"]
    assert box["tabindex"] == "0"
    assert box["aria-label"] == "Accuracy"


def test_drawings_have_a_title_and_a_description_of_their_own() -> None:
    found = html_page(page_of("a"))
    page = parsed(found)

    labels = [str(svg["aria-labelledby"]).split() for svg in page.named("svg")]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert labels
    assert all(one in ids for pair in labels for one in pair)


def test_a_drawing_stands_alone_with_its_style() -> None:
    found = svg_file(drawing(HOSTILE))

    assert found.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert "--c0:#0072b2" in found
    assert "<script>" not in found


def test_both_renderers_say_the_same() -> None:
    table = Table.of("Scores", ["view", "MR"], [["SEQ", Cell("80.0", "better")]])
    parts = (Paragraph.of("Read ", Code("a b"), " first."), table, Figure("Dots.", (drawing("D"),)))
    given = Page("Run", ["Trees help."], [Section("Scores", parts)])

    shown = parsed(html_page(given)).text
    markdown = markdown_page(given)

    for words in ("Run", "Trees help.", "Scores", "80.0", "Dots."):
        assert words in shown
        assert words in markdown
    assert "Read `a b` first." in markdown
    assert "| SEQ | 80.0 ▲ |" in markdown
    assert "![D](dots.svg)" in markdown
    assert "Read a b first." in shown


def test_markup_is_made_from_text_alone() -> None:
    assert element("p", {"title": '"<'}, "<b>", None, Markup("<br>"), ["a", 1]) == (
        '<p title="&quot;&lt;">&lt;b&gt;<br>a1</p>'
    )
    assert element("meta", {"name": "a", "none": None}) == '<meta name="a">'
    assert element("circle", {"r": 2.0, "cx": -0.001, "cy": 1.239}) == (
        '<circle r="2" cx="0" cy="1.24"></circle>'
    )
    assert joined(["<", Markup("<i></i>")]) == "&lt;<i></i>"
    assert text("a\nb") == "a\\nb"
    assert text("a\nb", keep_lines=True) == "a\nb"


def test_a_row_has_a_cell_a_column() -> None:
    with pytest.raises(ValueError, match="does not fit the header"):
        Table.of("t", ["a", "b"], [["x"]])


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """WCAG 2.2, contrast ratio."""
    light, dark = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_marks_stand_out_from_their_ground(theme: str) -> None:
    colors = COLORS[theme]  # type: ignore[index]
    for ground in ("ground", "raised"):
        for words in ("ink", "muted", "link", "better", "worse"):
            assert contrast(colors[words], colors[ground]) >= 4.5, (words, ground)
    for mark in (f"c{n}" for n in range(7)):
        assert contrast(colors[mark], colors["raised"]) >= 3, mark
