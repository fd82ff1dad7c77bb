"""How stages are asked for: Luigi's command line, which refuses a mistake in one sentence.

`teach_command_line` changes what ``luigi --module tasks`` says of a wrong parameter, and which
codes it exits with, and shows a run in place of Luigi's own messages; `run_stage` is the same for
``treeviews run``.
"""

from __future__ import annotations

import argparse
import logging
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, NoReturn
from urllib.parse import urlsplit

import luigi
from luigi import interface
from luigi.cmdline_parser import CmdlineParser
from luigi.parameter import MissingParameterException
from luigi.retcodes import retcode
from luigi.task_register import Register

from pipeline.base.foreign_text import told
from pipeline.base.mistakes import DONE, FAILED, did_you_mean
from tasks import failures
from tasks.artefact import ReportingTask, announce_nothing
from tasks.checks import mistakes_in
from tasks.display import shown
from tasks.ending import (
    failure_lines,
    is_told,
    say,
    success_lines,
    told_interrupts,
)
from tasks.failures import refuse

logger = logging.getLogger("luigi-interface")

DEFAULT_WORKERS = 2
SECONDS_TO_CONNECT = 3.0
"""That a scheduler has to answer; Luigi itself tries for two minutes."""
_BY_WHAT_FAILED = -1
"""Stands for an exit code that nobody has set."""
_EXAMPLE = re.compile(r"'([{\[].*?[}\]])'")


class _CodeOfRun(luigi.IntParameter):
    """An exit code of Luigi's, which is known when the run is over; a user's own one counts."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        value = super().__get__(instance, owner)
        return failures.exit_code() if value == _BY_WHAT_FAILED else value


def teach_command_line() -> None:
    """Has Luigi's command exit by our codes, wait at locks, and refuse mistakes in one sentence.

    These hold in whatever folder it is started; what ``luigi.cfg`` there says counts more.
    """
    for name, _ in retcode.get_params():
        code = _CodeOfRun(default=_BY_WHAT_FAILED, description=getattr(retcode, name).description)
        code.__set_name__(retcode, name)
        setattr(retcode, name, code)
    # Luigi would end a second run of the same command at once; here it waits at the folders' locks.
    interface.core.no_lock._default = True
    interface.core.workers._default = DEFAULT_WORKERS
    interface.core.log_level._default = "INFO"
    CmdlineParser._build_parser = staticmethod(_refusing(CmdlineParser._build_parser))
    CmdlineParser._possibly_exit_with_help = staticmethod(
        _refusing_no_stage(CmdlineParser._possibly_exit_with_help)
    )
    CmdlineParser._get_task_kwargs = _task_values
    CmdlineParser.get_task_obj = _asked_task(CmdlineParser.get_task_obj)
    factory = interface._WorkerSchedulerFactory
    factory.create_remote_scheduler = _reached_scheduler(factory.create_remote_scheduler)
    interface._schedule_and_run = _told_run(interface._schedule_and_run)


def stages() -> dict[str, type[ReportingTask]]:
    """Returns the stages that can be asked for, by name, in order."""
    import tasks

    named = {name: getattr(tasks, name) for name in tasks.__all__}
    return {name: stage for name, stage in named.items() if issubclass(stage, ReportingTask)}


def check_stage(name: str) -> None:
    """Refuses what is no stage, nor any task that Luigi knows.

    Raises:
        SystemExit: it is none; what may have been meant is told.
    """
    if name not in Register.task_names():
        refuse(
            f"no stage is called {told(name)!r}{did_you_mean(name, known=stages())}",
            remedy=_stages_in_words(),
        )


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
    options = [] if elsewhere else ["--local-scheduler"]
    try:
        result = interface._run([stage, *arguments, *options])
    except KeyboardInterrupt as error:
        if not is_told(error):
            raise
        return FAILED
    return DONE if failures.is_done(result) else failures.exit_code()


@contextmanager
def asked(stage: str, arguments: Sequence[str]) -> Iterator[luigi.Task]:
    """Reads a command line as `run_stage` does, for who only looks at what it would do.

    Yields:
        The task that is asked for; defaults that the command line gives hold in the ``with`` block.

    Raises:
        SystemExit: what was asked for cannot be run; it is told.
    """
    announce_nothing()
    level = logger.level
    logger.setLevel(logging.ERROR)  # what is gone is shown as such, and nothing is made of it
    try:
        with CmdlineParser.global_instance([stage, *arguments]) as parser:
            yield parser.get_task_obj()
    finally:
        logger.setLevel(level)


def _told_run(run: Callable[..., Any]) -> Callable[..., Any]:
    """Returns Luigi's run of tasks, which is shown while it works and told of when it ends."""

    @wraps(run)
    def run_and_tell(
        tasks: Iterable[luigi.Task], factory: Any = None, override_defaults: Any = None
    ) -> Any:
        asked_for = list(tasks)  # a program may give what can be read but once
        failures.forget_failures()
        _check_settings()
        settings = interface.core(**(override_defaults or {}))
        level = logging.getLevelName(settings.log_level)
        alone = override_defaults is None  # not so in a program that calls luigi.build
        with told_interrupts(), shown(level=level, alone=alone) as display:
            _check_before(asked_for)
            result = run(asked_for, factory, override_defaults)
            failures.remember_not_run(result)
            display.close()
            if not failures.is_done(result):
                say(failure_lines(has_begun=display.has_begun))
            elif level <= logging.INFO:
                say(success_lines(asked_for, display.num_stages, display.seconds))
        return result

    return run_and_tell


def _check_before(tasks: Sequence[luigi.Task]) -> None:
    """Has the run end here if it cannot be."""
    if refusals := mistakes_in(tasks):
        failures.refuse_run(tasks[0].task_family, refusals)


def _check_settings() -> None:
    """Refuses a setting of Luigi's own that is malformed, such as the number of workers."""
    for name, parameter in interface.core.get_params():
        try:
            parameter.task_value("core", name)
        except ValueError as error:
            refuse(_malformed(name, parameter, None, error))


def _refusing(build: Callable[..., argparse.ArgumentParser]) -> Callable[..., Any]:
    """Returns what builds a parser that tells a mistake in a sentence, without all its usage."""

    @wraps(build)
    def build_refusing(
        root_task: str | None = None, help_all: bool = False
    ) -> argparse.ArgumentParser:
        if root_task is not None:
            check_stage(root_task)
        parser = build(root_task=root_task, help_all=help_all)
        parser.error = lambda message: _refuse_options(parser, message, root_task)  # type: ignore[method-assign]
        return parser

    return build_refusing


def _refusing_no_stage(show_help: Callable[..., None]) -> Callable[..., None]:
    """Returns what shows help where it is asked for, and refuses a command without a stage."""

    @wraps(show_help)
    def show_help_or_refuse(parser: argparse.ArgumentParser, known: argparse.Namespace) -> None:
        show_help(parser, known)
        if not known.root_task:
            refuse("no stage is named", remedy=_stages_in_words())

    return show_help_or_refuse


def _stages_in_words() -> str:
    return f"stages, which stand before their parameters: {', '.join(stages())}"


def _refuse_options(parser: argparse.ArgumentParser, message: str, stage: str | None) -> NoReturn:
    known = [
        option
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for option in action.option_strings
    ]
    unknown = [word.partition("=")[0] for word in message.split() if word.startswith("--")]
    meant = ""
    if "unrecognized" in message:
        meant = did_you_mean(*unknown, known=known)
    remedy = f"parameters: treeviews run {stage} --help" if stage else ""
    refuse(told(message) + meant, remedy=remedy)


def _task_values(parser: CmdlineParser) -> dict[str, Any]:
    """Returns the parameters that the command line gives, as `CmdlineParser` does.

    Raises:
        SystemExit: a value is malformed; it is told.
    """
    values: dict[str, Any] = {}
    for name, parameter in parser._get_task_cls().get_params():
        if text := getattr(parser.known_args, name):
            try:
                values[name] = parameter.parse(text)
            except (ValueError, TypeError) as error:
                refuse(_malformed(name, parameter, text, error))
            if not _is_of_kind(parameter, values[name]):
                refuse(_malformed(name, parameter, text, None))
    return values


def _is_of_kind(parameter: luigi.Parameter, value: Any) -> bool:
    if isinstance(parameter, luigi.DictParameter):
        return isinstance(value, Mapping)
    return not isinstance(parameter, luigi.ListParameter) or isinstance(value, list | tuple)


def _malformed(
    name: str, parameter: luigi.Parameter, text: str | None, error: Exception | None
) -> str:
    """Returns in a sentence what a parameter must be, and what was given."""
    option = f"--{name.replace('_', '-')}"
    found = _EXAMPLE.search(parameter.description or "")
    kinds: dict[type, str] = {
        luigi.DictParameter: f"a JSON object such as '{found[1] if found else '{}'}'",
        luigi.ListParameter: f"a JSON list such as '{found[1] if found else '[1, 2]'}'",
        luigi.IntParameter: "a whole number such as 3",
        luigi.OptionalIntParameter: "a whole number such as 3",
        luigi.FloatParameter: "a number such as 0.5",
        luigi.BoolParameter: "true or false",
    }
    meant = ""
    if isinstance(parameter, luigi.ChoiceParameter):
        choices = sorted(str(choice) for choice in parameter._choices)
        wanted = f"one of {', '.join(choices)}"
        meant = did_you_mean(text or "", known=choices)
    else:
        wanted = next((words for kind, words in kinds.items() if type(parameter) is kind), "")
    given = f", not {told(text)!r}" if text is not None else ""
    json_says = "JSON" in wanted and error is not None
    why = f" ({error})" if json_says or not wanted else ""
    return f"{option} must be {wanted or 'another value'}{given}{why}{meant}"


def _asked_task(get: Callable[[CmdlineParser], luigi.Task]) -> Callable[[CmdlineParser], Any]:
    @wraps(get)
    def get_asked(parser: CmdlineParser) -> luigi.Task:
        try:
            return get(parser)
        except MissingParameterException as error:
            found = re.search(r"requires the '(\w+)' parameter", str(error))
            stage = parser.known_args.root_task
            what = f"--{found[1].replace('_', '-')}" if found else "another parameter"
            refuse(f"{stage} needs {what}", remedy=f"parameters: treeviews run {stage} --help")

    return get_asked


def _reached_scheduler(create: Callable[..., Any]) -> Callable[..., Any]:
    """Returns what makes the client of a scheduler, after a look whether anybody listens there."""

    @wraps(create)
    def create_reached(factory: Any, url: str) -> Any:
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
        return create(factory, url)

    return create_reached
