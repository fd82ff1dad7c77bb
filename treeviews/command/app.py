"""``treeviews``: its subcommands, its exit codes, and how it ends on an error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import typer

from treeviews.command import (
    encode,
    evaluate,
    inspect,
    models,
    parse,
    run,
    vectors,
    vocabulary,
    work_folder,
)
from treeviews.command.console import Checked, prints_result, usage_sentence, write_no_more
from treeviews.pipeline.base.mistakes import (
    DONE,
    FAILED,
    MISTAKE,
    code_of,
    error_lines,
    keep_traceback,
    mistakes_of,
)

PROGRAM = "treeviews"
_INTERRUPTED = 130
"""What typer gives after Ctrl-C, of which it says nothing."""


def _group(about: str, **more: Any) -> typer.Typer:
    return typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None, **more)


app = _group(
    "Sentence embeddings from syntax: parse text, train encoders and score them.\n\n"
    "Results go to standard output, messages to standard error. Exit codes: 0 done, 1 the work "
    "failed, 2 the command is wrong.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
FREE = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Of a command that hands its parameters on to Luigi."""
STAGE: dict[str, Any] = {
    "add_help_option": False,
    "context_settings": FREE | {"allow_interspersed_args": False, "help_option_names": []},
}
"""Of one that hands its help on, too."""
app.command("run", **STAGE)(run.run)
app.command("status", context_settings=FREE)(prints_result(run.status))
app.command("list", cls=Checked)(prints_result(work_folder.list_folder))
app.command("diff", cls=Checked)(prints_result(work_folder.diff))
app.command("encode", cls=Checked)(encode.encode)
app.command("parse", cls=Checked)(parse.parse)
app.command("evaluate", cls=Checked)(prints_result(evaluate.evaluate))
app.command("compare", cls=Checked)(prints_result(evaluate.compare))
app.command("presets", cls=Checked)(prints_result(models.presets))
GROUPS: dict[str, tuple[typer.Typer, Sequence[Callable[..., Any]]]] = {
    "inspect": (
        _group(
            "Inspect parsed text. `treeviews inspect PATH` shows an overview.",
            cls=inspect.PathFirst,
        ),
        list(map(prints_result, inspect.COMMANDS)),
    ),
    "models": (
        _group("Show, expand, export, push and fetch encoders."),
        (prints_result(models.show), models.expand, models.export, models.push, models.fetch),
    ),
    "vectors": (
        _group("Import, show and check word vectors."),
        (prints_result(vectors.import_), prints_result(vectors.show), vectors.check),
    ),
    "vocabulary": (
        _group("Show the words of a corpus, counted by CountVocabulary."),
        (prints_result(vocabulary.show), prints_result(vocabulary.coverage)),
    ),
    "data": (_group("Download evaluation sets and word vectors."), ()),
}
"""Name -> its group and the commands in it, each called as its function is."""
for name, (group, commands) in GROUPS.items():
    for command in commands:
        group.command(command.__name__.rstrip("_"), cls=Checked)(command)
    app.add_typer(group, name=name)
downloads = _group("Download SentEval's data or published word vectors.")
downloads.command("senteval", **STAGE)(run.senteval)
downloads.command("vectors", **STAGE)(run.vectors)
GROUPS["data"][0].add_typer(downloads, name="download")


@app.callback(invoke_without_command=True)
def _options(version: bool = typer.Option(False, "--version", help="Show the version.")) -> None:
    if version:
        from importlib.metadata import version as installed

        print(f"{PROGRAM} {installed('treeviews')}")
        raise typer.Exit(DONE)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code: 0 done, 1 the work failed, 2 a user's mistake.

    Args:
        argv: the arguments; by default those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = typer.main.get_command(app)(arguments, prog_name=PROGRAM, standalone_mode=False)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        sys.stdout.flush()
    except typer.TyperException as error:
        return _tell_usage(error)
    except (typer.Abort, KeyboardInterrupt):
        return _tell(["error: interrupted"], FAILED)
    except SystemExit as error:  # told already
        return error.code if isinstance(error.code, int) else FAILED
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:
            write_no_more()  # Python must not write to standard output at its end
        if isinstance(error, BrokenPipeError):  # whoever reads, such as a pager, has enough
            return FAILED
        where = keep_traceback(error)
        lines = [line for said in mistakes_of(error) for line in error_lines(said, where)]
        return _tell(lines, code_of(error))
    return code if isinstance(code, int) else DONE


def _tell(lines: Sequence[str], code: int) -> int:
    sys.stdout.flush()
    print(*lines, sep="\n", file=sys.stderr)
    return code


def _tell_usage(error: Any) -> int:
    """Tells what of the command line is wrong."""
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return MISTAKE
    lines = error_lines(usage_sentence(error))
    if context := getattr(error, "ctx", None):
        lines.append(f"help: {context.command_path} --help")
    return _tell(lines, MISTAKE)
