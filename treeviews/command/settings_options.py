"""Options that are made of the fields of settings, and those whose value is a JSON object."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from treeviews.pipeline.base.settings import Settings, descriptions_of, options_of

Command = Callable[..., None]


def takes(argument: str, settings: type[Settings]) -> Callable[[Command], Command]:
    """Returns a decorator by which a command has an option for each marked field of settings.

    Args:
        argument: of the command, which is given the settings that the options make.
        settings: their class.
    """
    options, hints = options_of(settings), get_type_hints(settings)
    told = descriptions_of(settings)

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            fields = {field: given.pop(name) for name, (field, _) in options.items()}
            command(**given, **{argument: settings(**fields)})

        signature = inspect.signature(command, eval_str=True)
        parameters = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=settings.model_fields[field].default,
                annotation=Annotated[hints[field], typer.Option(help=told[field])],
            )
            for name, (field, _) in options.items()
        ]
        own = [one for one in signature.parameters.values() if one.name != argument]
        own = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own]
        vars(run)["__signature__"] = signature.replace(parameters=[*own, *parameters])
        run.__annotations__ = {one.name: one.annotation for one in [*own, *parameters]}
        del vars(run)["__wrapped__"]
        return run

    return decorate


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
