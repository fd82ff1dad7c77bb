from __future__ import annotations

import logging

import pytest

from treeviews.pipeline.base.foreign_text import (
    escaped_markdown,
    guard_logs,
    printable,
    told,
    without_secrets,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b2J", "\\x9b2J"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("caf\udce9.txt", "caf\\udce9.txt"),
        ("\u2028\ufeff\U000e0041", "\\u2028\\ufeff\\U000e0041"),
        (
            "caf\u00e9 \U0001f469\u200d\U0001f680 \u65e5\u672c",
            "caf\u00e9 \U0001f469\u200d\U0001f680 \u65e5\u672c",
        ),
    ],
)
def test_control_characters_are_made_visible_and_words_stay(text, shown):
    assert printable(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("# Heading", "\\# Heading"),
        ("a\n\n# Heading\n```", "a # Heading \\`\\`\\`"),
        ("[x](http://y)", "[x\\](http://y)"),
        ("**bold** _it_ my_model_1", "\\*\\*bold\\*\\* \\_it\\_ my_model_1"),
        ("\x1b[0m", "\\\\x1b[0m"),
        ("views:DEP,SEQ -1.5 87.2", "views:DEP,SEQ -1.5 87.2"),
        ("[a]: http://y ![p][q]", "[a\\]: http://y \\![p\\][q]"),
    ],
)
def test_markdown_shows_foreign_text_as_it_is(text, shown):
    assert escaped_markdown(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://KEY:SECRET@bucket/prefix", "s3://***@bucket/prefix"),
        ("s3://KEY:SE/C+R@ET@bucket/prefix", "s3://***@bucket/prefix"),
        ("https://user:pass@host:8080/a", "https://***@host:8080/a"),
        ("http://host:8080/a@b", "http://host:8080/a@b"),
        ("s3://bucket/a@b", "s3://bucket/a@b"),
        ("https://h/f?sig=abc%2B&sv=1", "https://h/f?sig=***&sv=1"),
        (
            "https://h/f?X-Amz-Credential=AK%2F1&X-Amz-Date=2&X-Amz-Signature=ab#part",
            "https://h/f?X-Amz-Credential=***&X-Amz-Date=2&X-Amz-Signature=***#part",
        ),
        ("luigi --password hunter2 --max-tokens 9", "luigi --password *** --max-tokens 9"),
        ("AWS_SECRET_ACCESS_KEY=abc luigi", "AWS_SECRET_ACCESS_KEY=*** luigi"),
        (
            "--api-key=abc --batch-tokens=5 --author=me",
            "--api-key=*** --batch-tokens=5 --author=me",
        ),
        ("an error at 'http://u:p@h/x' today", "an error at 'http://***@h/x' today"),
        ("--min-token-count=5 token_id=a", "--min-token-count=5 token_id=***"),
    ],
)
def test_secrets_are_hidden_and_the_rest_stays(text, shown):
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


def test_logs_are_guarded_whoever_writes_them(caplog):
    before = logging.getLogRecordFactory()
    try:
        guard_logs()
        logging.getLogger("other.library").warning("at %s\nand\x1b[2J", "http://u:p@h/")
    finally:
        logging.setLogRecordFactory(before)
    assert caplog.messages == ["at http://***@h/\nand\\x1b[2J"]


@pytest.mark.parametrize("piece", ["a", "token", "://a:1/", "a=", "-x", "://@"])
@pytest.mark.parametrize("tail", ["", "@"])
def test_the_longest_text_is_told(piece: str, tail: str) -> None:
    """In time that grows with its length: with its square, a test would not end."""
    text = piece * (1_000_000 // len(piece)) + tail

    assert told(text)
