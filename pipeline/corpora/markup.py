"""Plain words out of reStructuredText's inline markup."""

from __future__ import annotations

import re

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        # :role:`title <target>` and `title <target>`_ keep their title.
        (r":[\w:+.-]+:`([^`<]+?)\s*<[^`>]*>`", r"\1"),
        (r"`([^`<]+?)\s*<[^`>]*>`__?", r"\1"),
        # :role:`~package.name` keeps the last part, as the rendered page does.
        (r":[\w:+.-]+:`~(?:[\w]+\.)*([^`]+)`", r"\1"),
        (r":[\w:+.-]+:`!?([^`]+)`", r"\1"),
        (r"``(.+?)``", r"\1"),
        # `name', the old typewriter quotes, and `name`.
        (r"`([^`']+)['`]_{0,2}(?!\w)", r"\1"),
        (r"(?<![\w*])\*\*(\S(?:[^*]*?[^\s*])?)\*\*(?![\w*])", r"\1"),
        (r"(?<![\w*])\*([A-Za-z_](?:[^*]*?[^\s*])?)\*(?!\*)", r"\1"),
        # Quotes about one name are how the text builder shows code: "len()" is len().
        (r"(?<![\w\"'])\"([A-Za-z_][\w.]*(?:\(\))?)\"(?!\w)", r"\1"),
        # Footnote references.
        (r"\s\[\d{1,2}\](?=[\s.,;:)]|$)", ""),
        (r"\\(?=[*`|_\\])", ""),
    )
)


def plain_words(text: str) -> str:
    """Returns ``text`` with roles, literals, emphasis, links and footnote marks as plain words."""
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text.strip()
