"""What ``treeviews run --help`` says: the stages, and the parameters of each, in groups."""

from __future__ import annotations

import argparse
import shutil
from typing import Any

import luigi
from luigi import interface

from treeviews.tasks.artefact import ReportingTask
from treeviews.tasks.command_line import stages

SHOWN_SETTINGS = ("workers", "scheduler_host", "scheduler_port", "scheduler_url", "log_level")
"""Of Luigi's own settings."""
_MACHINE = "The machine, which changes no result"


def stages_help() -> str:
    """Returns the stages with a line each."""
    width = max(map(len, stages()))
    lines = [f"  {name:{width}}  {_first_line(stage)}" for name, stage in stages().items()]
    return "\n".join(
        [
            "usage: treeviews run [STAGE] [--parameter VALUE ...]",
            "",
            "Runs a stage (by default RunAll) with all that it needs and is not there.",
            "A run that was stopped goes on where it was. Exit codes: 0 done, 1 the work failed,",
            "2 it was not asked for rightly.",
            "",
            "stages:",
            *lines,
            "",
            "treeviews run STAGE --help has a stage's parameters.",
        ]
    )


def parameters_help(name: str) -> str:
    """Returns the parameters of a stage, in groups, with their defaults.

    Args:
        name: of a stage that there is.
    """
    stage = stages()[name]
    parser = argparse.ArgumentParser(
        prog=f"treeviews run {name}",
        usage=f"treeviews run {name} [--parameter VALUE ...]",
        description=" ".join((stage.__doc__ or "").split()),
        formatter_class=_formatter,
        add_help=False,
    )
    for title, parameters in parameter_groups(name).items():
        group = parser.add_argument_group(title)
        for parameter_name, parameter in parameters.items():
            _add(group, parameter_name, parameter)
    luigis = parser.add_argument_group("Luigi")
    for setting in SHOWN_SETTINGS:
        _add(luigis, setting, getattr(interface.core, setting))
    return parser.format_help()


def parameter_groups(name: str) -> dict[str, dict[str, luigi.Parameter]]:
    """Returns the parameters of a stage by what they are about; those of the machine come last.

    Args:
        name: of a stage that there is.
    """
    stage = stages()[name]
    groups: dict[str, dict[str, luigi.Parameter]] = {}
    for parameter_name, parameter in sorted(
        stage.get_params(), key=lambda item: not item[1].significant
    ):
        title = _MACHINE if not parameter.significant else _group(stage, parameter_name)
        groups.setdefault(title, {})[parameter_name] = parameter
    return groups


def _formatter(prog: str) -> argparse.HelpFormatter:
    width = min(shutil.get_terminal_size().columns, 100)
    return argparse.HelpFormatter(prog, max_help_position=34, width=width)


def _group(stage: type[ReportingTask], parameter: str) -> str:
    """Returns what a parameter is about: what the class that declares it says of itself."""
    owner = next(cls for cls in stage.__mro__ if parameter in vars(cls))
    return "This stage" if owner is stage else _first_line(owner)


def _first_line(documented: type) -> str:
    return (documented.__doc__ or "").strip().splitlines()[0].rstrip(".")


def _add(group: Any, name: str, parameter: luigi.Parameter) -> None:
    said = (parameter.description or "").replace("%", "%%")
    if choices := getattr(parameter, "choices", None):
        said = f"{said.partition('Choices: {')[0]}One of {', '.join(sorted(choices))}."
    default = "needed"
    if parameter.has_task_value("", name):
        value = parameter.task_value("", name)
        shown = parameter.serialize(value) if value is not None else ""
        default = f"default: {shown or 'none'}".replace("%", "%%")
    group.add_argument(
        f"--{name.replace('_', '-')}",
        metavar="" if isinstance(parameter, luigi.BoolParameter) else "VALUE",
        help=f"{said} [{default}]",
    )
