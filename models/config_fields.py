"""Checks plain values, as JSON and command lines give them, against a configuration's fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def checked_fields(cls: type, values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Returns the values as the fields of a dataclass hold them: 1 as 1.0, lists as tuples.

    Whether a value is in its range is for the dataclass to say.

    Args:
        cls: a dataclass whose fields are numbers, strings, choices or tuples of these.
        what: the settings' name in messages, as in ``training``.

    Raises:
        ValueError: an unknown field, or a value of another type; names the field.
    """
    known = [field.name for field in fields(cls)]
    if unknown := sorted(set(values) - set(known)):
        raise ValueError(f"unknown {what} settings {unknown}; known: {sorted(known)}")
    hints = _type_hints(cls)
    for name, value in values.items():
        if not _fits(value, hints[name]):
            raise ValueError(
                f"{what} setting {name} must be {_in_words(hints[name])}, got {value!r}"
            )
    return {name: _as_held(value, hints[name]) for name, value in values.items()}


def check_choices(config: Any) -> None:
    """Checks the fields of a dataclass that are one of several names.

    Raises:
        ValueError: a field holds another name; lists those it may hold.
    """
    for name, hint in _type_hints(config.__class__).items():
        value = getattr(config, name)
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise ValueError(f"{name} must be one of {', '.join(get_args(hint))}, not {value!r}")


@cache
def _type_hints(cls: type) -> dict[str, Any]:
    """Returns the types of the fields; kept, as each call compiles them from their text."""
    return get_type_hints(cls)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _fits(value: Any, hint: Any) -> bool:
    return any(_fits_one(value, single) for single in _alternatives(hint))


def _fits_one(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return isinstance(value, str)
    if get_origin(hint) is tuple:
        return isinstance(value, list | tuple) and all(_fits(v, get_args(hint)[0]) for v in value)
    if isinstance(value, bool) and hint is not bool:
        return False
    if hint is float:
        return isinstance(value, int | float) and math.isfinite(value)
    return isinstance(value, hint)


def _as_held(value: Any, hint: Any) -> Any:
    for single in _alternatives(hint):
        if single is float and isinstance(value, int):
            return float(value)
        if get_origin(single) is tuple and isinstance(value, list | tuple):
            return tuple(_as_held(v, get_args(single)[0]) for v in value)
    return value


_WORDS = {
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    str: "a string",
    NoneType: "null",
}


def _in_words(hint: Any) -> str:
    return " or ".join(_one_in_words(single) for single in _alternatives(hint))


def _one_in_words(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return f"one of {', '.join(get_args(hint))}"
    if get_origin(hint) is tuple:
        return f"a list of which each is {_in_words(get_args(hint)[0])}"
    return _WORDS[hint]
