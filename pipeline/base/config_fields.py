"""Configurations and jobs: frozen dataclasses whose fields say their types and ranges themselves.

    @dataclass(frozen=True, slots=True)
    class SkipGramConfig(Config):
        called: ClassVar[str] = "word vector setting"
        size: Count = 100
        rms: Positive = 0.35

A field's annotation is all there is to say of it: its type, one of several names (`Literal`), a
`Range` of numbers, and whatever a floor above marks it with (`marked`). It is checked whenever the
dataclass is made, in code or from JSON. A field may be a number, a string, a choice, a path,
another `Config`, a mapping from strings or a tuple of these, or null where that is a type of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pipeline.base.json_files import read_json
from pipeline.base.mistakes import did_you_mean
from pipeline.base.refusal import shortened

M = TypeVar("M")

_SHOWN_NAMES = 5


class Range(NamedTuple):
    """What a number must do; of a tuple each. Null, where a field takes it, may be null."""

    words: str
    """After "must", as in ``be at least 1``."""
    holds: Callable[[float], bool]


def at_least(least: int) -> Range:
    """Returns the range of ``least`` and all above."""
    return Range(f"be at least {least}", lambda value: value >= least)


POSITIVE = Range("be positive", lambda value: value > 0)
Count = Annotated[int, at_least(1)]
Natural = Annotated[int, at_least(0)]
Positive = Annotated[float, POSITIVE]
Share = Annotated[float, Range("lie in [0, 1]", lambda value: 0 <= value <= 1)]
ShareBelow1 = Annotated[float, Range("lie in [0, 1)", lambda value: 0 <= value < 1)]


@dataclass(frozen=True, slots=True)
class Config:
    """Checks its fields when it is made, and is plain JSON where it must be."""

    called: ClassVar[str] = "setting"
    """A field, as messages name it."""

    def __post_init__(self) -> None:
        """Checks every field and holds it as its type says: 1 as 1.0, lists as tuples.

        Raises:
            ValueError: a value of another type or out of range; names the field.
        """
        cls: type = self.__class__
        for name, hint in _hints(cls).items():
            object.__setattr__(self, name, self._checked(name, hint))
        self._check_together()

    def _checked(self, name: str, hint: Any) -> Any:
        value, (bare, *marks) = getattr(self, name), _parts(hint)
        wanted = None
        try:
            held = _held(value, bare)
        except _OtherTypeError:
            wanted = f"be {_in_words(bare)}"
        else:
            numbers = () if held is None else held if isinstance(held, tuple) else (held,)
            ranges = [mark for mark in marks if isinstance(mark, Range)]
            wrong = [mark.words for mark in ranges if not all(map(mark.holds, numbers))]
            wanted = next(iter(wrong), None)
        if wanted is not None:
            raise ValueError(f"{self.called} {name} must {wanted}, got {shortened(value)}")
        return held

    def _check_together(self) -> None:
        """Refuses fields that do not go together; each by itself is as it must be.

        Raises:
            ValueError: names the fields and what they must be.
        """

    @classmethod
    def _several(cls) -> str:
        """Returns what messages call several fields."""
        return f"{cls.called[:-1]}ies" if cls.called.endswith("y") else f"{cls.called}s"

    @classmethod
    def check_names(cls, names: Mapping[str, Any]) -> None:
        """Refuses names that are no fields.

        Raises:
            ValueError: names them, and what may have been meant, or else those known.
        """
        known = sorted(field.name for field in fields(cls))
        if unknown := sorted(set(names) - set(known), key=str)[:_SHOWN_NAMES]:
            meant = did_you_mean(*map(str, unknown), known=known)
            listed = "" if meant else f"; known: {', '.join(known)}"
            raise ValueError(f"unknown {cls._several()} {shortened(unknown)}{listed}{meant}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Returns the configuration with these fields; the others take their defaults.

        Raises:
            ValueError: an unknown or a missing field, a value of another type or out of range, or
                no mapping at all, as a file of JSON may hold.
        """
        if not isinstance(values, Mapping):
            raise ValueError(f"{cls._several()} must be an object, got {shortened(values)}")
        cls.check_names(values)
        needed = [f.name for f in fields(cls) if f.default is f.default_factory is MISSING]
        if missing := [name for name in needed if name not in values]:
            raise ValueError(f"missing {cls._several()} {missing}")
        return cls(**values)

    @classmethod
    def from_json(cls, value: Any, source: Path | str, *, remedy: str) -> Self:
        """Returns the configuration that a file's content is; what else is in it is passed over.

        Args:
            value: whatever JSON the file holds, see `read_json`.
            source: path or URL of the file.
            remedy: what to do about a file that is none.

        Raises:
            ValueError: it is none; one sentence names the file, what is wrong and the remedy.
        """
        if isinstance(value, Mapping):
            known = {field.name for field in fields(cls)}
            value = {name: part for name, part in value.items() if name in known}
        try:
            return cls.from_dict(value)
        except ValueError as error:
            raise ValueError(f"{source}: {error}; {remedy}") from error

    @classmethod
    def read(cls, path: Path, *, remedy: str) -> Self:
        """Returns the configuration in a file of JSON; see `from_json`.

        Raises:
            FileNotFoundError: no such file.
            ValueError: as `read_json` and `from_json`.
        """
        return cls.from_json(read_json(path, remedy=remedy), path, remedy=remedy)

    def changed(self, changes: Mapping[str, Any]) -> Self:
        """Returns it with some fields changed.

        Raises:
            ValueError: an unknown field, or a value of another type or out of range.
        """
        self.check_names(changes)
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON knows them."""
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}


def marked(cls: type, kind: type[M]) -> dict[str, list[M]]:
    """Returns the marks of a kind that the fields' annotations carry, by field, of those with any.

    Such as ``a: Annotated[int, mark]``.
    """
    found = {name: _parts(hint)[1:] for name, hint in _hints(cls).items()}
    kept = {name: [m for m in marks if isinstance(m, kind)] for name, marks in found.items()}
    return {name: marks for name, marks in kept.items() if marks}


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Returns the types of the fields; kept, as each call compiles them from their text."""
    hints = get_type_hints(cls, include_extras=True)
    return {field.name: hints[field.name] for field in fields(cls)}


def _parts(hint: Any) -> tuple[Any, ...]:
    """Returns a type and what it is marked with."""
    return (hint.__origin__, *hint.__metadata__) if get_origin(hint) is Annotated else (hint,)


class _OtherTypeError(Exception):
    """A value is not of the type that is wanted."""


def _held(value: Any, hint: Any) -> Any:
    """Returns a value as a field of a type holds it.

    Raises:
        _OtherTypeError: it cannot be of that type.
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        for single in inner:
            with suppress(_OtherTypeError):
                return _held(value, single)
    elif origin is Literal and value in inner:
        return value
    elif origin is tuple and isinstance(value, list | tuple):
        return tuple(_held(item, inner[0]) for item in value)
    elif origin is Mapping and isinstance(value, Mapping):
        return {key: _held(item, inner[1]) for key, item in value.items()}
    elif origin is None:
        return _held_plain(value, hint)
    raise _OtherTypeError


def _held_plain(value: Any, hint: Any) -> Any:
    if hint is Any:
        return value
    if issubclass(hint, Config) and isinstance(value, Mapping):
        return hint.from_dict(value)
    if hint is Path and isinstance(value, str):
        return Path(value)
    if isinstance(value, bool) == (hint is bool):
        if hint is float and isinstance(value, int | float) and abs(value) < math.inf:
            with suppress(OverflowError):  # a whole number of hundreds of digits
                return float(value)
            raise _OtherTypeError
        if hint is not float and isinstance(value, hint):
            return value
    raise _OtherTypeError


def _plain(value: Any) -> Any:
    if isinstance(value, Config):
        return value.to_dict()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


_WORDS = {
    int: "a whole number",
    float: "a finite number",
    bool: "true or false",
    str: "a string",
    NoneType: "null",
    Path: "a path",
}


def _in_words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_in_words(single) for single in inner)
    if origin is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if origin is tuple:
        return f"a list of which each is {_in_words(inner[0])}"
    if origin is Mapping and inner[1] is not Any:
        return f"an object of which each is {_in_words(inner[1])}"
    return _WORDS.get(hint, "an object")
