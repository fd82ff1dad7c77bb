"""What differs between two configurations of a stage, field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Keys = tuple[str, ...]


class _Absent:
    """Stands for a field that one side has not."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


class Difference(NamedTuple):
    """A field that two configurations differ in."""

    path: Keys
    """Keys from the outside in."""
    before: Any
    """`ABSENT` where there was none."""
    after: Any


def differences_of(before: Any, after: Any, path: Keys = ()) -> list[Difference]:
    """Returns the fields that differ; those of lists of objects by their places.

    Args:
        before: a value of JSON.
        after: another one.
        path: keys that lead to both.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        keys = dict.fromkeys([*before, *after])
        return [
            one
            for key in keys
            for one in differences_of(
                before.get(key, ABSENT), after.get(key, ABSENT), (*path, str(key))
            )
        ]
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        if len(before) == len(after) and (_has_objects(before) or _has_objects(after)):
            return [
                one
                for place, pair in enumerate(zip(before, after, strict=True))
                for one in differences_of(*pair, (*path, str(place)))
            ]
        return [] if list(before) == list(after) else [Difference(path, before, after)]
    return [] if before == after else [Difference(path, before, after)]


def strings_in(value: Any) -> Iterator[str]:
    """Yields every string of a value of JSON but the keys of its objects."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings_in(inner)


def _has_objects(values: list[Any] | tuple[Any, ...]) -> bool:
    return any(isinstance(one, Mapping) for one in values)
