"""How stages are asked for: Luigi's command line, where a mistake is told in one sentence.

It holds for ``luigi --module treeviews.tasks STAGE``, which imports this package, and for
``treeviews run``.
"""

from __future__ import annotations

import argparse
import atexit
import io
import logging
import multiprocessing
import re
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import luigi
from luigi import interface
from luigi.cmdline_parser import CmdlineParser
from luigi.retcodes import retcode
from luigi.task_register import Register

from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.mistakes import FAILED, MISTAKE, did_you_mean, error_lines
from treeviews.tasks import run
from treeviews.tasks.artefact import ReportingTask
from treeviews.tasks.run_display import say

SETTINGS = {
    # Luigi would end a second run of the same command at once; here it waits at the folders' locks.
    ("core", "no_lock"): "true",
    ("core", "workers"): "2",
    ("core", "log_level"): "INFO",
}
"""Settings of Luigi's that hold unless its ``luigi.cfg`` says otherwise."""
SECONDS_TO_CONNECT = 3.0
"""That a scheduler has to answer."""
_BY_WHAT_FAILED = -1
"""Stands for an exit code that nobody has set."""


class _CodeOfRun(luigi.IntParameter):
    """An exit code of Luigi's, which is known when the run is over; a user's own one counts."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        value = super().__get__(instance, owner)
        return run.exit_code() if value == _BY_WHAT_FAILED else value


def set_up() -> None:
    """Gives Luigi our settings, and has its command, where it is the program, tell as we do."""
    config = luigi.configuration.get_config()
    for (section, name), value in SETTINGS.items():
        if not config.has_option(section, name):
            config.set(section, name, value)
    for name, parameter in retcode.get_params():
        code = _CodeOfRun(default=_BY_WHAT_FAILED, description=parameter.description)
        code.__set_name__(retcode, name)
        setattr(retcode, name, code)
    program = Path(sys.argv[0])
    is_luigi = program.name == "luigi" or program.parts[-2:] == ("luigi", "__main__.py")
    if is_luigi and multiprocessing.parent_process() is None:
        settings = luigi.interface.core()
        if _is_of_this_package(sys.argv[1:]):
            with asked(sys.argv[1:]):
                settings = luigi.interface.core()
            if not settings.local_scheduler:
                _check_scheduler(settings)
        begun = run.begin_run(logging.getLevelName(settings.log_level))
        run.tell_interrupts(begun)
        atexit.register(begun.finish)


def stages() -> dict[str, type[ReportingTask]]:
    """Returns the stages that can be asked for, by name, in order."""
    from treeviews import tasks

    named = {name: getattr(tasks, name) for name in tasks.__all__}
    return {name: stage for name, stage in named.items() if issubclass(stage, ReportingTask)}


def check_stage(name: str) -> None:
    """Refuses what is no stage, nor any task that Luigi knows.

    Raises:
        SystemExit: it is none; what may have been meant is told.
    """
    listed = f"stages, which stand before their parameters: {', '.join(stages())}"
    if not name:
        refuse("no stage is named", remedy=listed)
    if name not in Register.task_names():
        meant = did_you_mean(name, known=stages())
        refuse(f"no stage is called {told(name)!r}{meant}", remedy=listed)


def run_stage(stage: str, arguments: Sequence[str]) -> int:
    """Runs a stage with what it needs, and tells what failed; returns the exit code.

    Args:
        stage: its name.
        arguments: of Luigi's command line. The scheduler is that of this process unless they name
            another one.

    Raises:
        SystemExit: what was asked for cannot be run; it is told.
    """
    elsewhere = any(argument.startswith("--scheduler-") for argument in arguments)
    given = [stage, *arguments, *([] if elsewhere else ["--local-scheduler"])]
    with asked(given):
        settings = luigi.interface.core()
    if elsewhere:
        _check_scheduler(settings)
    begun = run.begin_run(logging.getLevelName(settings.log_level))
    try:
        with run.interrupted_by_sigterm():
            luigi.run(given)
        return begun.exit_code()
    except KeyboardInterrupt:
        run.tell_interrupt(begun)
        return FAILED
    finally:
        begun.finish()


@contextmanager
def asked(arguments: Sequence[str]) -> Iterator[luigi.Task]:
    """Reads a command line as Luigi does.

    Yields:
        The task that is asked for; defaults that the command line gives hold in the ``with`` block.

    Raises:
        SystemExit: what was asked for cannot be run; it is told.
    """
    wants_help = {"-h", "--help", "--help-all"} & set(arguments)
    stage = _stage_in(arguments)
    if not wants_help:
        check_stage(stage)
    said = io.StringIO()
    try:
        with redirect_stderr(said), CmdlineParser.global_instance(arguments, allow_override=True):
            pass
    except SystemExit:
        if wants_help:
            raise
        _refuse_options(said.getvalue(), stage)
    with CmdlineParser.global_instance(arguments, allow_override=True) as parser:
        for name, parameter in Register.get_task_cls(stage).get_params():
            _check_value(name, parameter, getattr(parser.known_args, name))
        for name, parameter in luigi.interface.core.get_params():
            _check_value(name, parameter, getattr(parser.known_args, f"core_{name}", None))
        try:
            task = parser.get_task_obj()
        except luigi.parameter.MissingParameterException as error:
            missing = re.search(r"requires the '(\w+)' parameter", str(error))
            what = f"--{missing[1].replace('_', '-')}" if missing else "another parameter"
            refuse(f"{stage} needs {what}", remedy=f"parameters: treeviews run {stage} --help")
        yield task


def _is_of_this_package(arguments: Sequence[str]) -> bool:
    """Returns whether a command line asks for a stage of ours; others' are not known yet."""
    words = [part for word in arguments for part in word.split("=", 1)]
    modules = [name for option, name in pairwise(words) if option == "--module"]
    return modules[-1:] in (["tasks"], [__package__])


def _stage_in(arguments: Sequence[str]) -> str:
    """Returns the stage that a command line names, or nothing."""
    skipped = False
    for word in arguments:
        if not skipped and not word.startswith("-"):
            return word
        skipped = word == "--module"
    return ""


def _check_value(name: str, parameter: luigi.Parameter, text: str | None) -> None:
    """Refuses a value that a parameter cannot have.

    Raises:
        SystemExit: it is malformed; what it must be is told.
    """
    if not text:
        return
    try:
        value, why = parameter.parse(text), ""
    except (ValueError, TypeError) as error:
        value, why = None, str(error)
    is_json = isinstance(parameter, luigi.DictParameter | luigi.ListParameter)
    kind = Mapping if isinstance(parameter, luigi.DictParameter) else Sequence
    if not why and (not is_json or (isinstance(value, kind) and not isinstance(value, str))):
        return
    example = re.search(r"'([{\[].*?[}\]])'", parameter.description or "")
    kinds: dict[type, str] = {
        luigi.DictParameter: f"a JSON object such as '{example[1] if example else '{}'}'",
        luigi.ListParameter: f"a JSON list such as '{example[1] if example else '[1, 2]'}'",
        luigi.IntParameter: "a whole number such as 3",
        luigi.OptionalIntParameter: "a whole number such as 3",
        luigi.FloatParameter: "a number such as 0.5",
        luigi.BoolParameter: "true or false",
    }
    choices = sorted(getattr(parameter, "choices", ()))
    wanted = f"one of {', '.join(choices)}" if choices else kinds.get(type(parameter), "")
    meant = did_you_mean(text, known=choices)
    reason = f" ({why})" if why and (is_json or not wanted) else ""
    refuse(
        f"--{name.replace('_', '-')} must be {wanted or 'another value'}, not {told(text)!r}"
        f"{reason}{meant}"
    )


def _refuse_options(said: str, stage: str) -> NoReturn:
    """Tells what Luigi's parser says of a command line, and what may have been meant."""
    message = (said.strip().splitlines() or ["it cannot be read"])[-1].partition("error: ")[2]
    unknown = [word.partition("=")[0] for word in message.split() if word.startswith("--")]
    meant = ""
    if "unrecognized" in message:
        names = [name for name, _ in Register.get_task_cls(stage).get_params()]
        names += [name for name, _ in luigi.interface.core.get_params()]
        meant = did_you_mean(*unknown, known=[f"--{name.replace('_', '-')}" for name in names])
    refuse(told(message) + meant, remedy=f"parameters: treeviews run {stage} --help")


def _check_scheduler(settings: Any) -> None:
    """Refuses a scheduler that does not answer.

    Raises:
        SystemExit: it does not; the remedy is told.
    """
    url = settings.scheduler_url or f"http://{settings.scheduler_host}:{settings.scheduler_port}/"
    address = urlsplit(url)
    if address.scheme in ("http", "https"):
        port = address.port or (443 if address.scheme == "https" else 80)
        try:
            socket.create_connection((address.hostname, port), SECONDS_TO_CONNECT).close()
        except OSError as error:
            refuse(
                f"no scheduler answers at {told(url)} ({error.strerror or error})",
                remedy="give --local-scheduler, start luigid there, or name another one by "
                "--scheduler-host or --scheduler-url",
            )


def refuse(sentence: str, *, remedy: str = "") -> NoReturn:
    """Tells a mistake in what was asked for, and ends the command.

    Raises:
        SystemExit: always, with the code of a mistake.
    """
    say([*error_lines(sentence), *([remedy] if remedy else [])])
    raise SystemExit(MISTAKE)


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
