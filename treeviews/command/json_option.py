"""Options whose value is a JSON object of fields to change."""

from __future__ import annotations

import json
from typing import Any

import typer


def json_object(text: str, option: str, example: str) -> dict[str, Any]:
    """Returns the object that an option's value is.

    Args:
        text: the value.
        option: its name, for the message.
        example: of a value that is one.

    Raises:
        typer.BadParameter: it is none; names the option and what is wrong.
    """
    wanted = f"{option} must be a JSON object such as '{example}', not {text!r}"
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"{wanted} ({error})") from error
    if not isinstance(value, dict):
        raise typer.BadParameter(wanted)
    return value
