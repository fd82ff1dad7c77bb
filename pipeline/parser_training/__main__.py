"""The command line of the training of parsers: ``python -m pipeline.parser_training KIND OUT …``.

``dependency``, ``dependency-transformer`` and ``constituency`` train a parser into the folder OUT;
``joint-trees`` and ``guided-trees`` write a file of further trees to train one on. The options of a
kind are the fields of its settings, which ``KIND --help`` lists. A task gives JOB.json instead, a
`ParserTrainingJob`, whose options are the same.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn

from pipeline.base.bundled import parser_folder
from pipeline.base.config_fields import Config, Count
from pipeline.base.foreign_text import guard_logs, told
from pipeline.base.job import Progress, run_from_command_line
from pipeline.base.mistakes import did_you_mean
from pipeline.base.watched import keep_memory

TrainedKind = Literal["dependency", "dependency-transformer", "constituency"]
"""What the command line calls a parser that it trains."""

SETTINGS = {
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
_HELP = {
    "train": "treebank files: CoNLL-U, or bracketed trees for a constituency parser",
    "dev": "treebank files, whose score chooses the epoch",
    "exclude": "leave out documents whose id begins so",
    "initial": "a parser to go on from, by its folder or the name of one that ships; its "
    "vocabularies and sizes are kept, so --min-word-frequency and --min-character-count have no "
    "effect",
    "vectors": "folder of word vectors that are added to the learned ones",
    "transformer": "folder of a transformer, as transformers' save_pretrained writes it",
    "train-documents": "a CoNLL-U file for each --train file, which tells its documents",
    "dev-documents": "the same for --dev",
    "precision": "of matrix products: bfloat16 or float32",
    "parsers": "parsers' folders, or names of those that ship",
    "sentences": "folder of sentence shards",
    "without": "CoNLL-U files, whose sentences are not to be taken",
    "dependencies": "CoNLL-U files",
}


@dataclass(frozen=True, slots=True)
class ParserTrainingJob(Config):
    """Which kind of parser to train, into which folder, and how."""

    called: ClassVar[str] = "parser training job field"

    kind: TrainedKind
    out: Path
    options: Mapping[str, Any]
    """Those of the command line, without their two hyphens."""
    threads: Count = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Does as the arguments say and prints the outcome; returns 2 for a user's mistake."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    kind, rest = "".join(given[:1]), given[1:]
    if kind.endswith(".json"):
        return run_from_command_line(
            lambda values, progress: execute(ParserTrainingJob.from_dict(values), progress), given
        )
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
        options = vars(_argument_parser(kind).parse_args(rest))
        outcome = run(kind, options.pop("out"), options, threads=options.pop("threads"))
    except (FileNotFoundError, FloatingPointError, ValueError) as error:
        print(f"error: {told(error, keep_lines=True)}", file=sys.stderr)
        return 2
    print(outcome if isinstance(outcome, str) else json.dumps(outcome, indent=1))
    return 0


def execute(job: ParserTrainingJob, progress: Progress) -> None:
    """Trains as a job says; resumes what the output folder holds.

    Raises:
        ValueError: what the training refuses.
    """
    run(job.kind, job.out, job.options, threads=job.threads, on_progress=progress)


def run(
    kind: str,
    out: Path,
    options: Mapping[str, Any],
    *,
    threads: int,
    on_progress: Progress | None = None,
) -> dict[str, Any] | str:
    """Trains a parser, or writes trees; returns a summary.

    Args:
        options: see `settings_of`.
        on_progress: called after each epoch with the finished share (0 to 1) and a message.

    Raises:
        ValueError: a setting, a file or the output is not what it should be.
    """
    import torch

    torch.set_num_threads(threads)
    outcome: dict[str, Any] | str = settings_of(kind, options).run(out, on_progress)
    return outcome


def settings_of(kind: str, options: Mapping[str, Any]) -> Any:
    """Returns the settings of a kind that options give; others have their defaults.

    Args:
        options: by the names of the command line, such as ``num-epochs``; what an initial parser
            has as its sizes need not be given.

    Raises:
        ValueError: an unknown option or a value that is not possible.
    """
    settings, known = _settings_class(kind), _options_of(kind)
    defaults, values = _defaults(settings), dict[str, Any]()
    given = {name.replace("_", "-"): value for name, value in options.items()}
    if given.get("initial"):
        given["initial"] = parser_folder(given["initial"])
        values[settings.sizes_name] = settings.sizes_of(given["initial"])
    for name, value in given.items():
        if name not in known:
            raise ValueError(
                f"unrecognized option --{name}{did_you_mean(name, known=known)}; "
                f"`python -m pipeline.parser_training {kind} --help` lists the options"
            )
        field, inner, _ = known[name]
        part = values.get(field, defaults[field])
        values[field] = part.changed({inner: value}) if inner else value
    return settings.from_dict(values)


def _settings_class(kind: str) -> Any:
    module, _, name = SETTINGS[kind].partition(".")
    return getattr(import_module(f"pipeline.parser_training.{module}"), name)


def _defaults(settings: Any) -> dict[str, Any]:
    """Returns the default of each field; `MISSING` where it must be given."""
    return {
        field.name: field.default if field.default_factory is MISSING else field.default_factory()
        for field in fields(settings)
    }


def _options_of(kind: str) -> dict[str, tuple[str, str, Any]]:
    """Returns option -> field, the field inside that one if any, and the default."""
    options: dict[str, tuple[str, str, Any]] = {}
    for field, default in _defaults(_settings_class(kind)).items():
        if not isinstance(default, Config):
            options[_OPTION_OF_FIELD.get(field, field).replace("_", "-")] = field, "", default
            continue
        for inner, value in default.to_dict().items():
            name = f"{inner}_dropout" if field == "dropouts" else inner
            if not isinstance(value, list):
                options[name.replace("_", "-")] = field, inner, value
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
        prog=f"python -m pipeline.parser_training {kind}",
        description=_settings_class(kind).__doc__,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
    )
    parser.add_argument("out", type=Path, help="folder of the parser, or file of the trees")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads, by default 1")
    for name, (_, _, default) in _options_of(kind).items():
        is_number = isinstance(default, int | float)
        is_several = default == () or (default is MISSING and name != "sentences")
        shown = "" if default in (MISSING, None, ()) else f"default {default}"
        parser.add_argument(
            *dict.fromkeys((f"--{name}", f"--{name.replace('-', '_')}")),
            type=type(default) if is_number else str,
            nargs="*" if is_several else None,
            required=default is MISSING,
            help="; ".join(filter(None, (_HELP.get(name), shown))),
        )
    return parser


if __name__ == "__main__":
    keep_memory()
    raise SystemExit(main())
