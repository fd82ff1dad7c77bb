"""``treeviews``: its subcommands, its exit codes, and how it ends on an error."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

import typer

from treeviews.command import (
    data,
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
from treeviews.command.output import write_no_more
from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.mistakes import (
    DONE,
    FAILED,
    MISTAKE,
    code_of,
    did_you_mean,
    error_lines,
    keep_traceback,
    sentence_of,
)

PROGRAM = "treeviews"
_INTERRUPTED = 130
"""What typer gives after Ctrl-C, of which it says nothing."""
_NO_CHOICE = re.compile(r"'(?P<given>[^']*)' is not one of (?P<choices>.*)")

app = typer.Typer(
    help="Sentence embeddings from syntax: text to trees, encoders and scores.\n\n"
    "Results go to standard output, messages to standard error. Exit codes: 0 done, 1 the work "
    "failed, 2 the command is wrong.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
run.add_to(app)
work_folder.add_to(app)
encode.add_to(app)
parse.add_to(app)
evaluate.add_to(app)
inspect.add_to(app)
models.add_to(app)
data.add_to(app)
vectors.add_to(app)
vocabulary.add_to(app)


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
    except BrokenPipeError:
        # Whoever reads, such as a pager, has enough; Python must not write to it at its end.
        write_no_more()
        return FAILED
    except SystemExit as error:  # told already
        return error.code if isinstance(error.code, int) else FAILED
    except Exception as error:
        return _tell(error_lines(sentence_of(error), keep_traceback(error)), code_of(error))
    return code if isinstance(code, int) else DONE


def _tell(lines: Sequence[str], code: int) -> int:
    sys.stdout.flush()
    print(*lines, sep="\n", file=sys.stderr)
    return code


def _tell_usage(error: Any) -> int:
    """Tells what of the command line is wrong, and what may have been meant."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(error.format_message(), file=sys.stderr)
        return MISTAKE
    if unknown := getattr(error, "option_name", None):
        known = [o for p in context.command.params for o in p.opts] if context else []
        sentence = f"{error.message}{did_you_mean(unknown, known=known)}"
    else:
        sentence = error.format_message().removeprefix("Invalid value: ").rstrip(".")
        sentence = sentence.replace("Value error, ", "")
        if refused := _NO_CHOICE.search(sentence):
            known = re.findall(r"'([^']*)'", refused["choices"])
            sentence += did_you_mean(refused["given"], known=known)
    lines = error_lines(told(" ".join(sentence.split())))
    if context is not None:
        lines.append(f"help: {context.command_path} --help")
    return _tell(lines, MISTAKE)
