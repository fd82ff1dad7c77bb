from __future__ import annotations

import inspect

import pytest

from pipeline.sources.python_docs import plain_words, prose_paragraphs


def prose(text: str, **keywords) -> list[str]:
    return list(prose_paragraphs(inspect.cleandoc(text), **keywords))


def test_wrapped_lines_are_joined_and_hyphens_mended():
    text = """
        A boat is a vessel that is made for long-
        distance trips on water.  It floats.

        It may have a sail.
    """
    assert prose(text) == [
        "A boat is a vessel that is made for long-distance trips on water. It floats.",
        "It may have a sail.",
    ]


@pytest.mark.parametrize(
    "code",
    [
        ">>> sail(boat)\nThe boat is at sea.",
        "boat = Boat(sail, 3)\nboat.go()",
        "from harbour import boat",
        "sail(boat, wind=None) -> Trip",
        'boat ::= "hull" ["sail"]',
        "+------+-----+\n| Boat | Sea |\n+------+-----+",
        "Boat      What it is and does.",
        ":param boat: The boat that is meant.",
        "boat -- the boat that is meant.",
        "boat: the boat that is meant.",
        "Harbour\n=======",
        "*******\nHarbour\n*******",
        ".. note:: This is a directive.",
        "New in version 3.2.",
        "Returns:",
    ],
)
def test_what_is_no_prose_is_left_out(code):
    assert prose(f"It floats on the water.\n\n{code}\n\nIt may have a sail.") == [
        "It floats on the water.",
        "It may have a sail.",
    ]


def test_the_block_after_two_colons_is_left_out_until_it_dedents():
    text = """
        Call it like this::

            The boat is code here.

            It is still code.

        Then it returns to the harbour.
    """
    assert prose(text) == ["Call it like this:", "Then it returns to the harbour."]


def test_bullets_and_indented_blocks_are_paragraphs():
    text = """
        There are two of them:

        - The first one is a boat
          with a sail.
        * The second one is a ship.
            1. It has an engine.
    """
    assert prose(text) == [
        "There are two of them:",
        "The first one is a boat with a sail.",
        "The second one is a ship.",
        "It has an engine.",
    ]


def test_an_unfinished_end_is_cut():
    assert prose("The boat must be dry. This is so because") == ["The boat must be dry."]
    assert prose("The boat must be dry. Arguments:") == ["The boat must be dry."]


def test_a_summary_without_period_gets_one():
    text = "Return the boat to its harbour\n\nThis has no period either"
    assert prose(text, begins_with_summary=True) == ["Return the boat to its harbour."]
    assert prose(text) == []


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("a ``boat``", "a boat"),
        ("a :class:`Boat` and :func:`~harbour.sail`", "a Boat and sail"),
        ("the :ref:`port <harbour-label>`", "the port"),
        ("see `the site <http://example.org>`_ for it", "see the site for it"),
        ("a *fast* and **very fast** boat", "a fast and very fast boat"),
        ('call "sail()" on "boat"', "call sail() on boat"),
        ('he said "sail the boat" twice', 'he said "sail the boat" twice'),
        ("it floats [3].", "it floats."),
        ("2 * 3 * 4 is not emphasis", "2 * 3 * 4 is not emphasis"),
        ("the `old' quotes", "the old quotes"),
    ],
)
def test_inline_markup_becomes_words(markup, words):
    assert plain_words(markup) == words
