"""Options that are made of the fields of settings, and those whose value is a JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer

from treeviews.command.output import Command, with_options
from treeviews.pipeline.base.settings import Settings, descriptions_of, options_of


def takes(
    argument: str, settings: type[Settings], *fields: str, **names: str
) -> Callable[[Command], Command]:
    """Returns a decorator by which a command has an option for each of some fields of settings.

    Args:
        argument: of the command, which is given the settings that the options make.
        settings: their class.
        fields: those with options; by default the marked ones, or all where none is marked.
        names: what the option of a field is called where not as the field.
    """
    marked = {name: field for name, (field, _) in options_of(settings).items()}
    chosen = fields or (() if marked else settings.model_fields)
    options = {names.get(field, field): field for field in chosen} or marked
    hints = get_type_hints(settings)

    def decorate(command: Command) -> Command:
        def run(**given: Any) -> Any:
            values = {field: given.pop(name) for name, field in options.items()}
            return command(**given, **{argument: settings(**values)})

        added = {
            name: (
                Annotated[hints[field], _option(settings, name, field)],
                settings.model_fields[field].default,
            )
            for name, field in options.items()
        }
        return with_options(run, command, added, without=argument)

    return decorate


def _option(settings: type[Settings], name: str, field: str) -> Any:
    is_flag = settings.model_fields[field].default is False
    names = [f"--{name.replace('_', '-')}"] if is_flag else []
    return typer.Option(*names, help=descriptions_of(settings)[field])


def json_object(text: str) -> dict[str, Any]:
    """Returns the object that an option's value is.

    Raises:
        typer.BadParameter: it is none.
    """
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise typer.BadParameter(f"must be a JSON object such as '{{\"name\": 1}}', not {text!r}")
    return value
