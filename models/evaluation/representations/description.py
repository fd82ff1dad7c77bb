"""A representation in a few words, for tables that have several of one encoder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from models.evaluation.representations.representation import REPRESENTATIONS


def described(representation: Mapping[str, Any]) -> str:
    """Returns the name and what differs from the preset of that name.

    As in ``multi-view, views INV, remove_components 0``. A name that is no preset's stands by
    itself: whoever gave it said by it what is meant.

    Args:
        representation: as a result holds it, of this release or of an earlier one.
    """
    name = str(representation.get("name", ""))
    if name not in REPRESENTATIONS:
        return name
    preset = REPRESENTATIONS[name].to_dict()
    changed = [
        f"{field} {_in_words(value)}"
        for field, value in representation.items()
        if value != preset.get(field)
    ]
    return ", ".join([name, *changed])


def _in_words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "+".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value)
