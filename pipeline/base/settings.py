"""Settings, jobs and records: frozen pydantic models whose fields say their types and ranges.

    class SkipGramConfig(Settings):
        called: ClassVar[str] = "word vector setting"
        size: Count = 100
        rms: Positive = 0.35

A field's annotation is all there is to say of it: its type, one of several names (`Literal`), a
`Range` of numbers, and whatever a floor above marks it with (`marks_of`). It is checked whenever
the model is made, in code or from JSON; a mistake is one sentence, and all are reported together.
The lines below a field say what it is for; stages and commands make their parameters and options of
both.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from treeviews.pipeline.base.json_files import read_json
from treeviews.pipeline.base.mistakes import MistakesError, did_you_mean, mistakes_of
from treeviews.pipeline.base.refusal import shortened

M = TypeVar("M")

_SHOWN_NAMES = 5


@dataclass(frozen=True, slots=True)
class Range:
    """What a number must do; of a tuple each. Null, where a field takes it, may be null."""

    words: str
    """After "must", as in ``be at least 1``."""
    holds: Callable[[float], bool]

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Returns pydantic's check of the type, with that of the range behind it."""
        return core_schema.with_info_after_validator_function(self.check, handler(source))

    def check(self, value: Any, info: ValidationInfo) -> Any:
        """Returns a number, or several, that are in range.

        Raises:
            ValueError: one of them is not.
        """
        numbers = () if value is None else value if isinstance(value, tuple) else (value,)
        if not all(map(self.holds, numbers)):
            raise ValueError(f"must {self.words}")
        return value


def at_least(least: int) -> Range:
    """Returns the range of ``least`` and all above."""
    return Range(f"be at least {least}", lambda value: value >= least)


@dataclass(frozen=True, slots=True)
class Option:
    """Marks a field that stages and commands ask for by an option of its own."""

    name: str = ""
    """What the option is called, where not as the field."""
    is_significant: bool = True
    """Whether results are kept apart by it; a machine's speed is no reason."""


FieldCheck = AfterValidator
"""Marks a field with a function that returns its value, or refuses it."""
POSITIVE = Range("be positive", lambda value: value > 0)
Count = Annotated[int, at_least(1)]
Natural = Annotated[int, at_least(0)]
Positive = Annotated[float, POSITIVE]
Share = Annotated[float, Range("lie in [0, 1]", lambda value: 0 <= value <= 1)]
ShareBelow1 = Annotated[float, Range("lie in [0, 1)", lambda value: 0 <= value < 1)]


class Settings(BaseModel):
    """Checks its fields when it is made, and is plain JSON where it must be."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=()
    )

    called: ClassVar[str] = "setting"
    """A field, as messages name it."""

    def __init__(self, /, **values: Any) -> None:
        """Checks every field; lists stand for tuples, and strings for paths, as in JSON.

        An error in place of a value is what is wrong with it, and is reported beside the others.

        Raises:
            ValueError: an unknown or a missing field, a value of another type or out of range, or
                fields that do not go together; a sentence each.
        """
        known = type(self).model_fields
        for name, value in values.items():
            try:
                values[name] = _from_json(value, known[name].annotation if name in known else None)
            except ValueError as error:  # of settings within these: pydantic refuses it in turn
                values[name] = error
        try:
            super().__init__(**values)
        except ValidationError as error:
            sentences = self._sentences(values, error.errors())
            raise (MistakesError if len(sentences) > 1 else ValueError)(*sentences) from None

    @classmethod
    def _sentences(cls, values: Mapping[str, Any], errors: list[ErrorDetails]) -> list[str]:
        """Returns what is wrong: unknown fields first, then missing ones, then the values."""
        sentences = []
        try:
            cls.check_names({str(e["loc"][0]): 0 for e in errors if e["type"] == "extra_forbidden"})
        except ValueError as error:
            sentences.append(str(error))
        if missing := [str(e["loc"][0]) for e in errors if e["type"] == "missing"]:
            sentences.append(f"missing {cls._several()} {missing}")
        of_values = [e for e in errors if e["type"] not in ("extra_forbidden", "missing")]
        firsts: dict[Any, ErrorDetails] = {}
        for detail in of_values:
            firsts.setdefault(detail["loc"][:1], detail)
        for detail in firsts.values():
            sentences += cls._sentences_of_value(values, detail)
        return sentences

    @classmethod
    def _sentences_of_value(cls, values: Mapping[str, Any], error: ErrorDetails) -> tuple[str, ...]:
        reason = error.get("ctx", {}).get("error")
        if error["loc"] and isinstance(value := values.get(str(error["loc"][0])), ValueError):
            return mistakes_of(value)
        # Of fields together, or of settings within these.
        if not error["loc"] or (reason is not None and not str(reason).startswith("must ")):
            return mistakes_of(reason or ValueError(error["msg"]))
        name = str(error["loc"][0])
        wanted = str(reason or error["msg"].replace("Input should", "must"))
        where = ".".join(map(str, error["loc"][1:])) if reason is None else ""
        sentence = (
            f"{cls.called} {name} {wanted}{f' in {where}' if where else ''}, "
            f"got {shortened(values.get(name))}"
        )
        return (sentence,)

    @model_validator(mode="after")
    def _together(self) -> Self:
        self._check_together()
        return self

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
        known = sorted(cls.model_fields)
        if unknown := sorted(set(names) - set(known), key=str)[:_SHOWN_NAMES]:
            meant = did_you_mean(*map(str, unknown), known=known)
            listed = "" if meant else f"; known: {', '.join(known)}"
            raise ValueError(f"unknown {cls._several()} {shortened(unknown)}{listed}{meant}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Returns the settings with these fields; the others take their defaults.

        Raises:
            ValueError: as when they are made, or it is no mapping, as a file of JSON may hold.
        """
        if not isinstance(values, Mapping):
            raise ValueError(f"{cls._several()} must be an object, got {shortened(values)}")
        return cls(**{str(name): value for name, value in values.items()})

    @classmethod
    def from_json(cls, value: Any, source: Path | str, *, remedy: str) -> Self:
        """Returns the settings that a file's content is; what else is in it is passed over.

        Args:
            value: whatever JSON the file holds, see `read_json`.
            source: path or URL of the file.
            remedy: what to do about a file that is none.

        Raises:
            ValueError: it is none; one sentence names the file, what is wrong and the remedy.
        """
        if isinstance(value, Mapping):
            value = {name: part for name, part in value.items() if name in cls.model_fields}
        try:
            return cls.from_dict(value)
        except ValueError as error:
            raise ValueError(f"{source}: {error}; {remedy}") from error

    @classmethod
    def read(cls, path: Path, *, remedy: str) -> Self:
        """Returns the settings in a file of JSON; see `from_json`.

        Raises:
            FileNotFoundError: no such file.
            ValueError: as `read_json` and `from_json`.
        """
        return cls.from_json(read_json(path, remedy=remedy), path, remedy=remedy)

    def changed(self, /, **changes: Any) -> Self:
        """Returns them with some fields changed.

        Raises:
            ValueError: an unknown field, or a value of another type or out of range.
        """
        return type(self)(**(self.values() | changes))

    def values(self) -> dict[str, Any]:
        """Returns the fields by name, as they are."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as JSON knows them."""
        return {name: to_json(value) for name, value in self.values().items()}


def marks_of(cls: type[Settings], kind: type[M]) -> dict[str, list[M]]:
    """Returns the marks of a kind that the fields' annotations carry, by field, of those with any.

    Such as ``a: Annotated[int, mark]``.
    """
    marks = {
        name: [mark for mark in field.metadata if isinstance(mark, kind)]
        for name, field in cls.model_fields.items()
    }
    return {name: of_field for name, of_field in marks.items() if of_field}


def options_of(cls: type[Settings]) -> dict[str, tuple[str, Option]]:
    """Returns the options of settings: what each is called -> its field and mark."""
    return {
        mark.name or field: (field, mark)
        for field, marks in marks_of(cls, Option).items()
        for mark in marks
    }


@cache
def descriptions_of(cls: type[Settings]) -> dict[str, str]:
    """Returns what the lines below each field say of it, as text for a command's help."""
    texts: dict[str, str] = {}
    for owner in cls.__mro__[cls.__mro__.index(Settings) - 1 :: -1]:
        (body,) = ast.parse(dedent(inspect.getsource(owner))).body
        for field, words in pairwise(getattr(body, "body", ())):
            is_text = isinstance(words, ast.Expr) and isinstance(words.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and is_text:
                text = " ".join(ast.literal_eval(words.value).split())  # type: ignore[attr-defined]
                texts[ast.unparse(field.target)] = text.replace("`", "")
    return texts


def _from_json(value: Any, annotation: Any) -> Any:
    """Returns a value as a field of a type holds it, where JSON has no such type."""
    if annotation is Any:
        return value
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Annotated, Union, UnionType):
        return _from_json(value, inner[0])
    if isinstance(value, list | tuple):
        return tuple(_from_json(item, inner[0] if inner else Any) for item in value)
    if isinstance(value, Mapping):
        if isinstance(annotation, type) and issubclass(annotation, Settings):
            return annotation.from_dict(value)
        return {key: _from_json(item, inner[-1] if inner else Any) for key, item in value.items()}
    return Path(value) if annotation is Path and isinstance(value, str) else value


def to_json(value: Any) -> Any:
    """Returns settings, dataclasses, paths, mappings and sequences of these as JSON knows them."""
    if isinstance(value, Settings):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    return [to_json(item) for item in value] if isinstance(value, list | tuple) else value
