"""Trains parsers: ``python -m treeviews.pipeline.parser_training KIND OUT …``.

KIND is ``dependency``, ``dependency-transformer`` or ``constituency``, OUT the parser's folder. The
options of a kind are the fields of its settings, which ``KIND --help`` lists. A task gives JOB.json
instead, a `ParserTrainingJob`, whose options are the same.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_origin

from pydantic_core import PydanticUndefined

from treeviews.pipeline.base.bundled import parser_folder
from treeviews.pipeline.base.foreign_text import guard_logs, told
from treeviews.pipeline.base.job import Progress, run_from_command_line
from treeviews.pipeline.base.mistakes import did_you_mean
from treeviews.pipeline.base.settings import Count, Settings, descriptions_of
from treeviews.pipeline.base.watched import keep_memory

if TYPE_CHECKING:
    from treeviews.pipeline.parser_training.train_parser import ParserTraining

TrainingKind = Literal["dependency", "dependency-transformer", "constituency"]
TRAININGS: dict[str, str] = {
    "dependency": "dependency_training.DependencyTraining",
    "dependency-transformer": "transformer_training.TransformerTraining",
    "constituency": "constituency_training.ConstituencyTraining",
}
"""Kind -> its training, imported when it is asked for, which takes seconds."""
_OPTION_OF_FIELD = {
    "train_files": "train",
    "dev_files": "dev",
    "exclude_document_prefixes": "exclude",
    "initial_parser": "initial",
    "word_vectors": "vectors",
}
"""Fields whose option has another name."""


class ParserTrainingJob(Settings):
    """What to train, where to, and how."""

    called: ClassVar[str] = "parser training job field"

    kind: TrainingKind
    out: Path
    options: Mapping[str, Any]
    """See `settings_of`."""
    threads: Count = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Does as the arguments say and prints the outcome; returns 2 for a user's mistake."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    kind = "".join(given[:1])
    if kind.endswith(".json"):
        return run_from_command_line(execute, given, kind=ParserTrainingJob)
    if kind in {"-h", "--help"}:
        print(__doc__)
        return 0
    guard_logs()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    try:
        summary = execute(_job_of(kind, given[1:]))
    except (FileNotFoundError, FloatingPointError, ValueError) as error:
        print(f"error: {told(error, keep_lines=True)}", file=sys.stderr)
        return 2
    print(json.dumps(summary, indent=1))
    return 0


def execute(job: ParserTrainingJob, on_progress: Progress | None = None) -> dict[str, Any]:
    """Trains a parser, resuming what the output folder holds; returns a summary.

    Args:
        on_progress: called after each epoch with the finished share (0 to 1) and a message.

    Raises:
        ValueError: a setting, a file or the output is not what it should be.
    """
    import torch

    from treeviews.pipeline.parser_training.train_parser import train_parser

    torch.set_num_threads(job.threads)
    training = _training_of(job.kind)(settings_of(job.kind, job.options))
    return train_parser(training, job.out, on_progress)


def settings_of(kind: str, options: Mapping[str, Any]) -> Any:
    """Returns the settings of a kind that options give; others have their defaults.

    Args:
        options: by the names of the command line, such as ``num-epochs``; what an initial parser
            has as its sizes need not be given.

    Raises:
        ValueError: an unknown option or a value that is not possible.
    """
    settings, known = _training_of(kind).settings, _options_of(kind)
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
        field, inner, *_ = known[name]
        part = values.get(field, settings.model_fields[field].default)
        values[field] = part.changed(**{inner: value}) if inner else value
    return settings.from_dict(values)


def _training_of(kind: str) -> type[ParserTraining[Any, Any]]:
    if kind not in TRAININGS:
        meant = did_you_mean(kind, known=TRAININGS)
        raise ValueError(f"no kind of parser {kind!r}{meant}; known: {', '.join(TRAININGS)}")
    module, _, name = TRAININGS[kind].partition(".")
    training: type[ParserTraining[Any, Any]] = getattr(
        import_module(f"treeviews.pipeline.parser_training.{module}"), name
    )
    return training


def _options_of(kind: str) -> dict[str, tuple[str, str, type[Settings], Any]]:
    """Returns option -> field of the settings, the field inside that, if any, owner and default."""
    options: dict[str, tuple[str, str, type[Settings], Any]] = {}
    settings = _training_of(kind).settings
    for field, facts in settings.model_fields.items():
        if not isinstance(facts.default, Settings):
            name = _OPTION_OF_FIELD.get(field, field).replace("_", "-")
            options[name] = field, "", settings, facts.default
            continue
        for inner, value in facts.default.values().items():
            name = f"{inner}_dropout" if field == "dropouts" else inner
            if not isinstance(value, tuple):
                options[name.replace("_", "-")] = field, inner, type(facts.default), value
    return options


def _job_of(kind: str, arguments: Sequence[str]) -> ParserTrainingJob:
    """Returns what the command line asks for; of options not given there is no value."""
    parser = argparse.ArgumentParser(
        prog=f"python -m treeviews.pipeline.parser_training {kind}",
        usage="%(prog)s OUT --train FILE … --dev FILE … [OPTION VALUE …]",
        description=_training_of(kind).settings.__doc__,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("out", help="folder of the parser")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads, by default 1")
    for name, (field, inner, owner, value) in _options_of(kind).items():
        default = "" if value in (PydanticUndefined, None, ()) else value
        about = descriptions_of(owner).get(inner or field, "").replace("%", "%%")
        facts = owner.model_fields[inner or field]
        parser.add_argument(
            f"--{name}",
            type=type(default) if isinstance(default, int | float) else str,
            nargs="*" if get_origin(facts.annotation) is tuple else None,
            required=facts.is_required(),
            help=f"{about} default {default}" if default != "" else about,
        )
    options = vars(parser.parse_args(arguments))
    own = {name: options.pop(name) for name in ("out", "threads")}
    return ParserTrainingJob.from_dict({"kind": kind, "options": options, **own})


if __name__ == "__main__":
    keep_memory()
    raise SystemExit(main())
