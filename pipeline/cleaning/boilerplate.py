"""Lines of web pages that are no text: menus, notices of rights and policies, calls to click.

After C4 (Raffel et al. 2020, section 2.2), which drops lines that name JavaScript or a policy, and
pages with "lorem ipsum". Differs from C4: a line must be short and itself the notice, as in text
about the web nearly every line that names these is text; the rest of its page stays; and braces
are no sign of code, since formulas have them. Menus and calls to click are ours: C4 loses them by
asking each line for an end mark.
"""

from __future__ import annotations

import re

NOTICE_WORDS = 30
"""Words of a paragraph that may be a notice; a longer one speaks of something."""
CALL_WORDS = 12
_ITEM_WORDS = 4
_LEAST_ITEMS = 3

_SEPARATOR = re.compile(r"\s+[|·•»›>]\s+")
_ITEM = re.compile(r"[^\W\d_][\w'’&/ -]*")
_NOTICES = {
    "policy_notice": re.compile(
        r"\b(?:we|(?:this|our) (?:web)?(?:site|page)) uses? cookies\b"
        r"|\bby (?:using|continuing|browsing|clicking|accessing|signing)\b.*\byou (?:agree|accept"
        r"|consent)\b"
        r"|^\W*(?:(?:terms of (?:use|service)|(?:privacy|cookie) policy)\W*(?:and\W)?)+$",
        re.IGNORECASE,
    ),
    "script_notice": re.compile(
        r"\b(?:please|must|to) (?:enable|turn on|activate) javascript\b"
        r"|^\W*(?:this|our) (?:web)?(?:site|page)\b.*\brequires javascript\b"
        r"|\bjavascript (?:is|must be|seems to be|appears to be) (?:disabled|enabled|turned o)",
        re.IGNORECASE,
    ),
    "placeholder": re.compile(r"\blorem ipsum\b", re.IGNORECASE),
    "rights_notice": re.compile(
        r"\ball rights reserved\b|©\s*(?:\w+\s+)?(?:1[89]|20)\d\d\b|\bcopyright\s*(?:©|\(c\))"
        r"|^\W*copyright\W*(?:1[89]|20)\d\d\b",
        re.IGNORECASE,
    ),
}
_CALL = re.compile(
    r"^\W*(?:(?:read|learn|see|show|view|load) (?:more|all|less)\W*$"
    r"|read the full (?:article|story)\b|skip to (?:the )?(?:main |page )?content\b"
    r"|(?:back|return|go) to (?:the )?(?:top|home ?page)\W*$"
    r"|(?:sign|log) (?:in|up|out)\W*$|subscribe (?:now|today|to our)\b"
    r"|share (?:this|on|via) (?:\w+ )?(?:\w+)\W*$|follow us\b|print this (?:page|article)\W*$"
    r"|e-?mail this (?:page|article)\W*$|leave a (?:comment|reply)\W*$"
    r"|(?:previous|next) (?:page|post|article|chapter)\W*$|add to (?:cart|basket)\W*$"
    r"|download (?:now|(?:the |as )?pdf)\W*$)|(?<![\"“‘'])\bclick here\b",
    re.IGNORECASE,
)


def boilerplate_in(text: str, num_words: int) -> str:
    """Returns the reason for which a paragraph is boilerplate; empty where it is none.

    Args:
        num_words: of the text, between white space.
    """
    if num_words > NOTICE_WORDS:
        return ""
    for reason, pattern in _NOTICES.items():
        if pattern.search(text):
            return reason
    if num_words <= CALL_WORDS and _CALL.search(text):
        return "call_to_click"
    items = _SEPARATOR.split(text.strip(" |>·•"))
    if len(items) >= _LEAST_ITEMS and all(map(_is_menu_item, items)):
        return "navigation"
    return ""


def _is_menu_item(text: str) -> bool:
    return len(text.split()) <= _ITEM_WORDS and _ITEM.fullmatch(text) is not None
