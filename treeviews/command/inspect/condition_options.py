"""The options that say what a sentence must have, of every subcommand that looks for some."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from pipeline.inspect.conditions import Conditions


def conditions_of(
    words: Annotated[
        list[str] | None,
        typer.Option(help="A token as it stands, or several side by side. May be given twice."),
    ] = None,
    pattern: Annotated[
        str,
        typer.Option(help="A regular expression in the text, its tokens one space apart."),
    ] = "",
    form: Annotated[
        str, typer.Option(help="A regular expression that a whole token matches.")
    ] = "",
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", "-i", help="Of words, expressions, ends of an arc.")
    ] = False,
    relation: Annotated[str, typer.Option(help="Such as nsubj, which is nsubj:pass, too.")] = "",
    dependent: Annotated[str, typer.Option(help="Token at the lower end of that relation.")] = "",
    head: Annotated[str, typer.Option(help="Token at its upper end.")] = "",
    label: Annotated[
        list[str] | None,
        typer.Option(help="Of a constituent, such as NP. May be given twice."),
    ] = None,
    min_length: Annotated[int, typer.Option(min=0, help="Tokens, at least.")] = 0,
    max_length: Annotated[int | None, typer.Option(min=0, help="Tokens, at most.")] = None,
    min_depth: Annotated[int, typer.Option(min=0, help="Levels of the tree, at least.")] = 0,
    max_depth: Annotated[
        int | None, typer.Option(min=0, help="Levels of the tree, at most.")
    ] = None,
    depth_of: Annotated[
        Literal["constituents", "dependencies"], typer.Option(help="Of which tree that depth is.")
    ] = "constituents",
) -> Conditions:
    """Returns what the options ask for; `Conditions` says more of each."""
    from pipeline.inspect.conditions import Conditions

    return Conditions(
        words=tuple(words or ()),
        pattern=pattern,
        form=form,
        ignore_case=ignore_case,
        relation=relation,
        dependent=dependent,
        head=head,
        labels=tuple(label or ()),
        lengths=(min_length, max_length),
        depths=(min_depth, max_depth),
        depth_of=depth_of,
    )


def takes_conditions(command: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a subcommand that takes the options above in the place of its last argument.

    Args:
        command: has ``conditions`` last.
    """
    options = _parameters(conditions_of)
    own = [p for name, p in _parameters(command).items() if name != "conditions"]
    parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in (*own, *options.values())]

    @wraps(command)
    def given(**arguments: Any) -> Any:
        asked = conditions_of(**{name: arguments.pop(name) for name in options})
        return command(**arguments, conditions=asked)

    del given.__wrapped__  # type: ignore[attr-defined]  # else its signature is what typer reads
    given.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    given.__annotations__ = {p.name: p.annotation for p in parameters}
    return given


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Returns a function's parameters with their types, that of conditions aside: it loads much."""
    signature = inspect.signature(function, eval_str=True, locals={"Conditions": object})
    return signature.parameters
