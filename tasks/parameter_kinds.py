"""Kinds of parameters, and parameters that are made of the fields of settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin

import luigi

from treeviews.pipeline.base.bundled import parser_folder
from treeviews.pipeline.base.foreign_text import without_secrets
from treeviews.pipeline.base.settings import Settings, descriptions_of, options_of

S = TypeVar("S", bound=Settings)
C = TypeVar("C")


class AddressParameter(luigi.Parameter):
    """An address, which Luigi's logs and pages show without its login and tokens.

    So two tasks that differ in a token alone are one for Luigi, as they are for us. Luigi makes
    tasks anew from what it shows, such as those that another task yields: the whole value is kept
    in memory for them.
    """

    _whole: ClassVar[dict[str, str]] = {}
    """What is shown -> the last value of a task that is shown so."""

    def normalize(self, x: str) -> str:
        """Returns a task's value, which is kept."""
        if (shown := without_secrets(x)) != x:
            self._whole[shown] = x
        return x

    def serialize(self, x: str) -> str:
        """Returns the value as Luigi names the task by it."""
        return without_secrets(x)

    def parse(self, x: str) -> str:
        """Returns the whole value of one that was shown, and any other as it is."""
        return self._whole.get(x, x)


class ChoiceParameter(luigi.ChoiceParameter):
    """One of several names; none at all where that is the default."""

    def __init__(self, *arguments: Any, choices: Sequence[str], **named: Any) -> None:
        super().__init__(*arguments, choices=choices, **named)
        self.choices = list(choices)
        self.description = named["description"]  # without Luigi's set of them

    def parse(self, x: str) -> str | None:
        """Returns the name; None of the empty text."""
        return super().parse(x) if x else None

    def serialize(self, x: str | None) -> str:
        """Returns the text that is parsed as the name."""
        return x or ""

    def normalize(self, x: str | None) -> str | None:
        """Returns a name that there is."""
        return None if x is None else super().normalize(x)


class ChangesParameter(luigi.DictParameter):
    """Fields of settings that are not as they are by default, as JSON."""

    def __init__(self, settings: type[Settings], example: str) -> None:
        place = settings.__module__.removeprefix("treeviews.").replace(".", "/")
        self.example = example
        super().__init__(
            default={},
            description=f"{settings.called.capitalize()}s to change, as JSON: '{example}'. "
            f"{place}.py lists all of them.",
        )


class NumbersParameter(luigi.ListParameter):
    """Whole numbers: ``1,2`` or, as JSON, ``[1, 2]``."""

    def parse(self, x: str) -> tuple[int, ...]:
        """Returns the numbers."""
        listed = x.strip().removeprefix("[").removesuffix("]").strip()
        return tuple(map(int, listed.split(","))) if listed else ()


class Sha256Parameter(luigi.Parameter):
    """A sha256 in hexadecimal, however its letters are typed."""

    def normalize(self, x: str) -> str:
        """Returns it in lower case, so that the same file has one digest and one place."""
        return x.lower()


class ParserParameter(luigi.PathParameter):
    """A parser: a path, or the name of one that ships, which stands for its folder."""

    def normalize(self, x: str | Path) -> Path:
        """Returns the path, so that a name and its folder are one parser of one digest."""
        return parser_folder(x)


def takes(*settings: type[Settings]) -> Callable[[type[C]], type[C]]:
    """Returns a decorator that gives a class the parameters of settings, one a marked field.

    A parameter has the type, default and description of its field; `settings_of` makes the settings
    of a task's parameters, which checks them.
    """

    def add(cls: type[C]) -> type[C]:
        for of_class in settings:
            for name, (field, mark) in options_of(of_class).items():
                parameter = _parameter(of_class, field, significant=mark.is_significant)
                parameter.__set_name__(cls, name)
                setattr(cls, name, parameter)
        return cls

    return add


def settings_of(
    task: Any, settings: type[S], changes: Mapping[str, Any] | None = None, **own: Any
) -> S:
    """Returns settings as a task's parameters say.

    Raises:
        ValueError: fields that cannot be, or that have an option and are among the changes.
    """
    return settings.from_dict(fields_of(task, settings, changes or {}, **own))


def fields_of(
    task: Any, settings: type[Settings], changes: Mapping[str, Any], **own: Any
) -> dict[str, Any]:
    """Returns the fields of settings that a task's parameters say, together with changes.

    A change of a field that has a parameter of its own is an error in the field's place, which the
    settings refuse together with what else is wrong; it names the parameter.

    Args:
        task: has the parameters of the fields' options.
        settings: their class.
        changes: further fields, as the user gives them in JSON.
        own: fields that the task says itself.
    """
    asked = values_of(task, settings) | own
    options = {field: name for name, (field, _) in options_of(settings).items()}
    for field in sorted(set(changes) & set(asked)):
        option = f"--{options.get(field, field).replace('_', '-')}"
        asked[field] = ValueError(
            f"{settings.called} {field}: give it by {option}, not by the changes"
        )
    return {**changes, **asked}


def values_of(
    task: Any, settings: type[Settings], *, significant_only: bool = False
) -> dict[str, Any]:
    """Returns the fields of settings that a task's parameters say, by name.

    Args:
        significant_only: those alone that keep results apart, as a digest has them.
    """
    return {
        field: getattr(task, name)
        for name, (field, mark) in options_of(settings).items()
        if mark.is_significant or not significant_only
    }


def _parameter(settings: type[Settings], name: str, **named: Any) -> luigi.Parameter:
    field = settings.model_fields[name]
    named["description"] = descriptions_of(settings)[name]
    if not field.is_required():
        named["default"] = field.default
    kinds = get_args(field.annotation) or (field.annotation,)
    if get_origin(field.annotation) is Literal:
        return ChoiceParameter(choices=kinds, **named)
    return _KINDS[kinds[0]][type(None) in kinds](**named)


_KINDS: dict[Any, tuple[type[luigi.Parameter], type[luigi.Parameter]]] = {
    str: (luigi.Parameter, luigi.OptionalParameter),
    int: (luigi.IntParameter, luigi.OptionalIntParameter),
    float: (luigi.FloatParameter, luigi.OptionalFloatParameter),
    bool: (luigi.BoolParameter, luigi.OptionalBoolParameter),
    Path: (luigi.PathParameter, luigi.OptionalPathParameter),
}
"""Type of a field -> the parameter, and that of a field that may be null."""
