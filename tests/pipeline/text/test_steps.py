from __future__ import annotations

from collections import Counter

import pytest

from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.text.cleaning_steps import (
    CleaningConfig,
    check_language,
    clean_content,
    describe_cleaning,
    profile,
)
from treeviews.pipeline.text.documents import Paragraph

PROSE = [
    "The ferry crossed the bay twice a day, and nobody there remembered a year without it.",
    "“Yes.”",
    "“But, Arabella--”",
    "“Why do you bid me go in, if I am to come out again?”",
    "She paid 20 euros on 3 March 2009 and 30 euros on 4 April 2010, and was told to wait.",
    "Our lawyers say that a privacy policy which nobody reads protects nobody at all.",
    "Use language that says where a link leads, and never “click here” alone.",
    "In JavaScript, a closure keeps the variables of the function in which it was made.",
    "the boats, which are kept in the old harbour",
    "The map (copyright 1984) shows a bridge that was never built.",
]
ALONE = {"duplicates": "none", "repeated_in": 0}


def cleaned(texts, config, changed=None) -> list[str]:
    """Texts as they are after cleaning, a refusal as ``!reason``; counts what was changed."""
    kept = []
    for text in texts:
        content, changes = clean_content(Paragraph(text, "a:1"), config)
        kept.append(content.text if isinstance(content, Paragraph) else f"!{content.reason}")
        if changed is not None:
            changed.update(changes)
    return kept


def test_by_default_nothing_is_changed_and_nothing_enters_a_digest():
    texts = ["Home | About | Contact", "donâ€™t", "ﬁne", "x", *PROSE]
    assert cleaned(texts, CleaningConfig()) == texts
    assert describe_cleaning(CleaningConfig()) == {}
    assert describe_cleaning(CleaningConfig(min_duplicate_words=30)) == {}


def test_prose_passes_the_profile():
    assert cleaned(PROSE, profile("clean", ALONE)) == PROSE


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("navigation", "Home | About us | Opening hours | Contact"),
        ("navigation", "Start › Boats › Sailing boats"),
        ("call_to_click", "Click here to see the timetable!"),
        ("call_to_click", "Read more…"),
        ("call_to_click", "Skip to main content"),
        ("rights_notice", "© 2014 The Ferry Company. All rights reserved."),
        ("rights_notice", "Copyright (c) 2009 Harbour Museum"),
        ("policy_notice", "We use cookies to make this site better."),
        ("policy_notice", "By using this site you agree to our terms."),
        ("policy_notice", "Terms of Use and Privacy Policy"),
        ("script_notice", "Please enable JavaScript to see the map of the harbour."),
        ("placeholder", "Lorem ipsum dolor sit amet, consectetur adipiscing elit."),
        ("unended_line", "Chapter the Third"),
        ("word_lengths", "a b c d e f g h i j k l m n o p q r s t."),
        (
            "few_lettered_words",
            "The ferries carried" + " 10,000 20,000" * 10 + " people.",
        ),
        (
            "other_language",
            "Die Fähre fährt zweimal am Tag über die Bucht, und niemand im Dorf "
            "kann sich an ein Jahr ohne sie erinnern.",
        ),
    ],
)
def test_the_profile_refuses(reason, text):
    assert cleaned([text], profile("clean", ALONE)) == [f"!{reason}"]


@pytest.mark.parametrize(
    ("form", "expected"), [("none", "cafe\u0301 ﬁne"), ("nfc", "café ﬁne"), ("nfkc", "café fine")]
)
def test_characters_take_one_form(form, expected):
    changed = Counter()
    text = "cafe\u0301 ﬁne"
    assert cleaned([text], CleaningConfig(normalisation=form), changed=changed) == [expected]
    assert changed == ({} if form == "none" else {"normalised": 1})


@pytest.mark.parametrize("text", ["don’t — “well”", "naïve café, 20 °C", "one 🙂 two", "£5 …"])
def test_what_was_read_as_windows_1252_is_put_right(text):
    misread = "".join(
        bytes([byte]).decode("cp1252") if byte not in (0x81, 0x8D, 0x8F, 0x90, 0x9D) else chr(byte)
        for byte in text.encode()
    )
    changed = Counter()
    assert cleaned([misread], CleaningConfig(mojibake=True), changed=changed) == [text]
    assert changed == {"mojibake": 1}


def test_cleaning_what_is_clean_changes_nothing():
    config = profile("clean", ALONE | {"normalisation": "nfkc"})
    texts = [*PROSE, "cafe\u0301 owners donâ€™t sleep.", "Home | News | Contact", "x", "ﬁve ½ ²."]
    once = [text for text in cleaned(texts, config) if not text.startswith("!")]
    assert cleaned(once, config) == once
    assert len(once) > len(PROSE)


def test_a_refusal_stands_in_its_paragraph_s_place_and_says_where():
    notice, _ = clean_content(Paragraph("Read more", "a:7"), CleaningConfig(boilerplate=True))
    assert (notice.reason, notice.position, notice.excerpt) == ("call_to_click", "a:7", "Read more")
    giant = Refusal("giant_line", "", "a:8")
    assert clean_content(giant, profile("clean", ALONE)) == (giant, [])


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("clean", {"min_duplicate_words": 1}, "min_duplicate_words must be at least 5"),
        ("clean", {"boilerplat": True}, "boilerplate"),
        ("clean", {"max_mean_word": 2}, "less than min_mean_word"),
        ("none", {"language": "qq"}, r"which py3langid does not know; known: .*en"),
    ],
)
def test_wrong_settings_are_errors(name, changes, message):
    with pytest.raises(ValueError, match=message):
        check_language(profile(name, changes).language)
