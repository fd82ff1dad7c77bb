"""The command line of the training of either kind of parser, made from its configuration."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, get_args

import torch

from pipeline.base.bundled import parser_folder
from pipeline.base.mistakes import did_you_mean
from pipeline.base.settings import Settings
from pipeline.parser_training.epochs.optimizer import ProductType
from pipeline.parser_training.epochs.training import (
    ParserTraining,
    ParserTrainingConfig,
    train_parser,
)
from pipeline.parser_training.job import TrainedKind

_TREES = {"constituency": "files of bracketed trees"}
_LEAST = {"dependency": "--min-word-frequency", "constituency": "--min-character-count"}


def train(
    kind: TrainedKind,
    arguments: Sequence[str],
    *,
    on_progress: Callable[[float, str], None] | None = None,
) -> dict[str, Any]:
    """Trains as the command line's arguments say; returns the training's summary.

    Args:
        on_progress: called after each epoch with the finished share (0 to 1) and a message.

    Raises:
        ValueError: a setting, a file or the output folder is not what it should be.
    """
    config_type, training = _kind(kind)
    given = [_with_hyphens(argument) for argument in arguments]
    defaults = {name: field.default for name, field in config_type.model_fields.items()}
    if (initial := _initial_parser(given)) is not None:
        defaults[training.sizes_name] = training.sizes_of(initial)
    options = _argument_parser(kind, defaults).parse_args(given)
    torch.set_num_threads(options.threads)
    config = config_type(**_values(options, defaults))
    return train_parser(training(config), options.out, on_progress)


def _initial_parser(arguments: Sequence[str]) -> Path | None:
    """Returns what ``--initial`` names, whose sizes are the defaults of the other options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--initial", type=parser_folder)
    try:
        initial: Path | None = parser.parse_known_args(arguments)[0].initial
    except argparse.ArgumentError:
        return None  # told by the parser of all options
    return initial


def _kind(
    kind: TrainedKind,
) -> tuple[type[ParserTrainingConfig], type[ParserTraining[Any, Any, Any]]]:
    """Returns a kind's configuration and training; imports them alone, which takes seconds."""
    if kind == "dependency":
        from pipeline.parser_training.dependency import training as dependency

        return dependency.DependencyTrainingConfig, dependency.DependencyTraining
    if kind == "dependency-transformer":
        from pipeline.parser_training.recipes import transformer_training as transformer

        return transformer.TransformerTrainingConfig, transformer.TransformerTraining
    from pipeline.parser_training.constituency import training as constituency

    return constituency.ConstituencyTrainingConfig, constituency.ConstituencyTraining


def _with_hyphens(argument: str) -> str:
    """Returns ``--num-epochs`` of ``--num_epochs``, as a configuration spells it."""
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value if name.startswith("--") else argument


class _Options(argparse.ArgumentParser):
    """Options of a training, which are to be spelt out."""

    def error(self, message: str) -> NoReturn:
        """Tells what is wrong without all that would be right.

        Raises:
            ValueError: always.
        """
        unknown = message.removeprefix("unrecognized arguments: ").split()
        meant = did_you_mean(*unknown[:1], known=self._option_string_actions)
        raise ValueError(f"{message}{meant}; `{self.prog} --help` lists the options")


def _argument_parser(kind: TrainedKind, defaults: Mapping[str, Any]) -> argparse.ArgumentParser:
    trees = _TREES.get(kind, "CoNLL-U files")
    parser = _Options(
        prog=f"python -m pipeline.parser_training {kind}",
        description=f"Trains a {kind} parser from {trees} into a parser folder.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "out",
        type=Path,
        help="folder of the parser; an unfinished training there goes on",
    )
    for part in ("train", "dev"):
        files: dict[str, Any] = {"type": Path, "dest": f"{part}_files", "help": trees}
        add(f"--{part}", nargs="+", required=True, **files)
    add(
        "--exclude",
        dest="exclude_document_prefixes",
        nargs="*",
        default=[],
        help="leave out documents whose id begins so",
    )
    without = f", so {_LEAST[kind]} has no effect" if kind in _LEAST else ""
    add(
        "--initial",
        dest="initial_parser",
        type=parser_folder,
        help="a parser to go on from, by its folder or the name of one that ships; its "
        f"vocabularies and sizes are kept{without}",
    )
    _add_files_of_kind(parser, kind)
    add("--threads", type=int, default=1)
    for field, default in defaults.items():
        for name, value in _numbers(field, default).items():
            flag = "--" + name.replace("_", "-")
            add(flag, type=type(value), default=value, help=f"default {value}")
    precision = defaults["optimizer"].precision
    add("--precision", choices=get_args(ProductType), default=precision)
    return parser


def _add_files_of_kind(parser: argparse.ArgumentParser, kind: str) -> None:
    if kind == "dependency":
        help_text = "folder of word vectors that are added to the learned ones"
        parser.add_argument("--vectors", dest="word_vectors", type=Path, help=help_text)
        return
    if kind == "dependency-transformer":
        help_text = "folder of a transformer, as transformers' save_pretrained writes it"
        parser.add_argument("--transformer", type=Path, help=help_text)
        return
    for part in ("train", "dev"):
        parser.add_argument(
            f"--{part}-documents",
            type=Path,
            nargs="*",
            default=[],
            help=f"a CoNLL-U file for each --{part} file, which tells its sentences' documents",
        )


def _numbers(name: str, default: Any) -> dict[str, int | float]:
    """Returns the options that a field of a configuration becomes, with their defaults."""
    if isinstance(default, Settings):
        return {
            f"{field}_dropout" if name == "dropouts" else field: value
            for field, value in default.values().items()
            if isinstance(value, int | float)
        }
    return {name: default} if isinstance(default, int | float) else {}


def _values(options: argparse.Namespace, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of the configuration."""
    given, values = vars(options), dict[str, Any]()
    for field, default in defaults.items():
        if isinstance(default, Settings):
            numbers = {
                name.removesuffix("_dropout") if field == "dropouts" else name: given[name]
                for name in _numbers(field, default)
            }
            values[field] = default.changed(**numbers)
        else:
            value = given[field]
            values[field] = tuple(value) if isinstance(value, list) else value
    values["optimizer"] = values["optimizer"].changed(precision=options.precision)
    return values
