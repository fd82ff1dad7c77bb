"""What commands share: options made of settings, texts in, and how results are printed."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO, Annotated, Any, NamedTuple, get_type_hints

import typer

from treeviews.pipeline.base.foreign_text import printable, told
from treeviews.pipeline.base.mistakes import DONE, MistakesError, refuse_together
from treeviews.pipeline.base.settings import Settings, descriptions_of, options_of

Command = Callable[..., Any]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
TextFile = Annotated[
    Path | None, typer.Option("--input", help="Text file; default: standard input.")
]
OutputFile = Annotated[
    Path | None, typer.Option("--out", "--output", help="Output file; default: standard output.")
]
ENCODERS = (
    "english or another bundled model (see treeviews list), a model folder, bag_of_words, sif, "
    "random-SEED, views of models as MODEL@VIEW+MODEL@VIEW, or your own function as "
    "package.module:name (the module's code is run)."
)


class Result(NamedTuple):
    """What a command answers; what is costly to make is an iterator, of which one is read."""

    value: Any
    """As JSON; paths and dates are text."""
    lines: Iterable[str]
    """As text for people, in which no character is hidden."""
    code: int = DONE


def prints_result(command: Callable[..., Result | None]) -> Command:
    """Gives a command the option ``--json``, and prints what it returns, if anything."""

    def run(*, as_json: bool = False, **given: Any) -> int:
        if (result := command(**given)) is None:
            return DONE
        if as_json:
            print(json.dumps(result.value, indent=2, default=_as_json))
        else:
            for line in result.lines:
                print(printable(line, keep_lines=True))
        return result.code

    return with_options(run, command, {"as_json": (AsJson, False)})


def _as_json(value: object) -> Any:
    return list(value) if isinstance(value, Iterator) else str(value)


def with_options(
    run: Command, command: Command, added: Mapping[str, tuple[Any, Any]], without: str = ""
) -> Command:
    """Returns a function that takes a command's arguments and some more, as typer is to see it.

    Args:
        run: the function, which calls the command.
        added: name -> type and default value of the arguments that the command lacks.
        without: an argument of the command that nobody gives.
    """
    own = inspect.signature(command, eval_str=True).parameters.values()
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [one.replace(kind=kind) for one in own if one.name != without]
    parameters += [
        inspect.Parameter(name, kind, default=default, annotation=annotation)
        for name, (annotation, default) in added.items()
    ]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


@contextmanager
def open_text(source: Path | None) -> Iterator[tuple[IO[bytes], str]]:
    """Opens a text file, or standard input, for the time of a ``with`` block; names it, too."""
    with nullcontext(sys.stdin.buffer) if source is None else source.open("rb") as lines:
        yield lines, "standard input" if source is None else str(source)


SECONDS_BETWEEN_REPORTS = 5.0


def count_teller() -> Callable[[int], None]:
    """Returns what tells every few seconds how many sentences are done."""
    last_told = time.monotonic()

    def tell(done: int) -> None:
        nonlocal last_told
        if time.monotonic() - last_told >= SECONDS_BETWEEN_REPORTS:
            last_told = time.monotonic()
            say(f"{done:,} sentences")

    return tell


def say(text: object) -> None:
    """Writes a message, which is no result, to standard error."""
    print(text, file=sys.stderr, flush=True)


def say_speed(num_sentences: int, num_refused: int, seconds: float, more: str = "") -> None:
    """Says how many sentences were done, and how fast."""
    say(
        f"{num_sentences} sentences, {num_refused} refused, {more}{seconds:.1f} s, "
        f"{num_sentences / max(seconds, 1e-9):.0f} sentences/s"
    )


def write_no_more() -> None:
    """Makes what is left to be written, at Python's end too, go nowhere."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_output(output: Path) -> None:
    """Refuses, before anything is computed, a place that no file can be written to.

    Raises:
        typer.BadParameter: names what is wrong with it.
    """
    if output.is_dir():
        raise typer.BadParameter(f"{output} is a folder; give --out a file in it")
    if not output.parent.is_dir():
        raise typer.BadParameter(f"{output.parent}: no such folder; make it first")
    is_device = output.exists() and not output.is_file()
    if not os.access(output if is_device else output.parent, os.W_OK):
        raise typer.BadParameter(f"{output.parent}: not writable; give --out another place")


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
    check = checked(lambda value: settings(**{field: value}))
    return typer.Option(*names, callback=check, help=descriptions_of(settings)[field])


def checked(check: Callable[[Any], object]) -> Callable[[Any], Any]:
    """Returns a callback of an option, which refuses what a check refuses of its value."""

    def callback(value: Any) -> Any:
        check(value)
        return value

    return callback


class Checked(typer.core.TyperCommand):
    """A command that refuses all of its options that cannot be, not the first alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Reads the options.

        Raises:
            MistakesError: several cannot be.
        """
        given = [*args]
        try:
            return super().parse_args(ctx, args)
        except (typer.BadParameter, ValueError) as first:
            values, _, _ = self.make_parser(ctx).parse_args(given)
            options = self.get_params(ctx)
            try:
                refuse_together(*(partial(self._take, ctx, each, values) for each in options))
            except ValueError as error:
                raise (error if isinstance(error, MistakesError) else first) from None
            raise

    def _take(self, ctx: Any, option: Any, values: Mapping[str, Any]) -> None:
        try:
            option.handle_parse_result(ctx, values, [])
        except typer.BadParameter as error:
            raise ValueError(usage_sentence(error)) from None


def usage_sentence(error: Any) -> str:
    """Returns what of a command line is wrong, as typer says it."""
    sentence = error.format_message().removeprefix("Invalid value: ").rstrip(".")
    return told(" ".join(sentence.replace("Value error, ", "").split()))


def json_object(text: str) -> dict[str, Any]:
    """Returns the object that an option's value is.

    Raises:
        typer.BadParameter: it is none.
    """
    with suppress(ValueError):
        if isinstance(value := json.loads(text), dict):
            return value
    raise typer.BadParameter(f"must be a JSON object such as '{{\"name\": 1}}', not {text!r}")
