"""Trains parsers: ``python -m treeviews.pipeline.parser_training KIND OUT …``.

``dependency``, ``dependency-transformer`` and ``constituency`` train a parser into the folder OUT;
``joint-trees`` and ``guided-trees`` write a file of further trees to train one on. The options of a
kind are the fields of its settings, which ``KIND --help`` lists. A task gives JOB.json instead, a
`ParserTrainingJob`, whose options are the same.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, get_origin

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from treeviews.pipeline.base.bundled import parser_folder
from treeviews.pipeline.base.foreign_text import guard_logs, told
from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.settings import Count, Settings
from treeviews.pipeline.base.watched import keep_memory

TrainingKind = Literal[
    "dependency", "dependency-transformer", "constituency", "joint-trees", "guided-trees"
]
SETTINGS: dict[str, str] = {
    "dependency": "dependency_training.DependencyTrainingConfig",
    "dependency-transformer": "transformer_training.TransformerTrainingConfig",
    "constituency": "constituency_training.ConstituencyTrainingConfig",
    "joint-trees": "teacher_trees.JointTrees",
    "guided-trees": "teacher_trees.GuidedTrees",
}
"""Kind -> its settings, imported when it is asked for, which takes seconds."""
_OPTION_OF_FIELD = {
    "train_files": "train",
    "dev_files": "dev",
    "exclude_document_prefixes": "exclude",
    "initial_parser": "initial",
    "word_vectors": "vectors",
}
"""Fields whose option has another name."""


class ParserTrainingJob(Settings):
    """What to train or write, where to, and how."""

    called: ClassVar[str] = "parser training job field"

    kind: TrainingKind
    out: Path
    options: Mapping[str, Any]
    """See `settings_of`."""
    threads: Count = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Does as the arguments say and prints the outcome; returns 2 for a user's mistake."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    kind, rest = "".join(given[:1]), given[1:]
    if kind.endswith(".json"):

        def run(values: Mapping[str, Any], progress: Progress) -> None:
            execute(ParserTrainingJob.from_dict(values), progress)

        return run_from_command_line(run, given)
    if kind not in SETTINGS:
        is_help = kind in {"-h", "--help"}
        meant = did_you_mean(kind, known=SETTINGS)
        unknown = f"error: no command {kind!r}{meant}\n" if kind and not is_help else ""
        text = f"{unknown}{__doc__}\ncommands: {', '.join(SETTINGS)}"
        print(text, file=None if is_help else sys.stderr)
        return 0 if is_help else 2
    guard_logs()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    try:
        # Fields are spelt with underscores, and so may options be.
        spelt = [re.sub("^--[^=]+", lambda name: name[0].replace("_", "-"), one) for one in rest]
        options = vars(_argument_parser(kind).parse_args(spelt))
        own = {name: options.pop(name) for name in ("out", "threads")}
        job = ParserTrainingJob.from_dict({"kind": kind, "options": options, **own})
        outcome = execute(job)
    except (FileNotFoundError, FloatingPointError, ValueError) as error:
        print(f"error: {told(error, keep_lines=True)}", file=sys.stderr)
        return 2
    print(outcome if isinstance(outcome, str) else json.dumps(outcome, indent=1))
    return 0


def execute(job: ParserTrainingJob, on_progress: Progress | None = None) -> dict[str, Any] | str:
    """Trains a parser, resuming what the output folder holds, or writes trees; returns a summary.

    Args:
        on_progress: called after each epoch with the finished share (0 to 1) and a message.

    Raises:
        ValueError: a setting, a file or the output is not what it should be.
    """
    import torch

    torch.set_num_threads(job.threads)
    outcome: dict[str, Any] | str = settings_of(job.kind, job.options).run(job.out, on_progress)
    return outcome


def settings_of(kind: str, options: Mapping[str, Any]) -> Any:
    """Returns the settings of a kind that options give; others have their defaults.

    Args:
        options: by the names of the command line, such as ``num-epochs``; what an initial parser
            has as its sizes need not be given.

    Raises:
        ValueError: an unknown option or a value that is not possible.
    """
    settings: Any = _settings_class(kind)
    known = _options_of(kind)
    given = {name.replace("_", "-"): value for name, value in options.items()}
    values: dict[str, Any] = {}
    if given.get("initial"):
        given["initial"] = parser_folder(given["initial"])
        values[settings.sizes_name] = settings.sizes_of(given["initial"])
    for name, value in given.items():
        if name not in known:
            raise ValueError(
                f"unrecognized option --{name}{did_you_mean(name, known=known)}; "
                f"`python -m treeviews.pipeline.parser_training {kind} --help` lists the options"
            )
        field, inner, _ = known[name]
        part = values.get(field, settings.model_fields[field].default)
        values[field] = part.changed(**{inner: value}) if inner else value
    return settings.from_dict(values)


def _settings_class(kind: str) -> type[Settings]:
    module, _, name = SETTINGS[kind].partition(".")
    settings: type[Settings] = getattr(
        import_module(f"treeviews.pipeline.parser_training.{module}"), name
    )
    return settings


def _options_of(kind: str) -> dict[str, tuple[str, str, FieldInfo]]:
    """Returns option -> field of the settings, the field inside that one if any, and its facts."""
    options: dict[str, tuple[str, str, FieldInfo]] = {}
    for field, facts in _settings_class(kind).model_fields.items():
        if not isinstance(facts.default, Settings):
            options[_OPTION_OF_FIELD.get(field, field).replace("_", "-")] = field, "", facts
            continue
        for inner, value in facts.default.values().items():
            name = f"{inner}_dropout" if field == "dropouts" else inner
            if not isinstance(value, tuple):
                of_inner = copy(type(facts.default).model_fields[inner])
                of_inner.default = value
                options[name.replace("_", "-")] = field, inner, of_inner
    return options


class _ArgumentParser(argparse.ArgumentParser):
    """Takes options that are spelt out."""

    def error(self, message: str) -> NoReturn:
        """Tells what is wrong without all that would be right.

        Raises:
            ValueError: always.
        """
        unknown = message.removeprefix("unrecognized arguments: ").split()
        meant = did_you_mean(*unknown[:1], known=self._option_string_actions)
        raise ValueError(f"{message}{meant}; `{self.prog} --help` lists the options")


def _argument_parser(kind: str) -> argparse.ArgumentParser:
    """Returns what reads the options of a kind; of those not given there is no value."""
    parser = _ArgumentParser(
        prog=f"python -m treeviews.pipeline.parser_training {kind}",
        description=_settings_class(kind).__doc__,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("out", type=Path, help="folder of the parser, or file of the trees")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads, by default 1")
    for name, (_, _, facts) in _options_of(kind).items():
        default = "" if facts.default in (PydanticUndefined, None, ()) else facts.default
        about = " ".join((facts.description or "").split()).replace("%", "%%")
        parser.add_argument(
            f"--{name}",
            type=type(default) if isinstance(default, int | float) else str,
            nargs="*" if get_origin(facts.annotation) is tuple else None,
            required=facts.is_required(),
            help=f"{about} default {default}" if default != "" else about,
        )
    return parser


if __name__ == "__main__":
    keep_memory()
    raise SystemExit(main())
