"""How stages are asked for: Luigi's command line, where a mistake is told in one sentence.

``luigi --module treeviews.tasks STAGE``, which imports this package, does as ``treeviews run``.
"""

from __future__ import annotations

import argparse
import importlib
import io
import logging
import multiprocessing
import re
import signal
import socket
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import luigi
from luigi import interface
from luigi.cmdline_parser import CmdlineParser
from luigi.task_register import Register

from treeviews.pipeline.base.foreign_text import told
from treeviews.pipeline.base.job_server import start_job_server
from treeviews.pipeline.base.mistakes import (
    FAILED,
    MISTAKE,
    did_you_mean,
    error_lines,
    refuse_together,
)
from treeviews.tasks import run
from treeviews.tasks.artefact import ReportingTask
from treeviews.tasks.checks import mistakes_in
from treeviews.tasks.run_display import say

SETTINGS = {
    # Luigi would end a second run of the same command at once; here it waits at the folders' locks.
    ("core", "no_lock"): "true",
    ("core", "workers"): "2",
    ("core", "log_level"): "INFO",
} | {
    # Of Luigi's command with tasks of a program's own; by default it ends alike whatever failed.
    ("retcode", name): str(FAILED)
    for name in ("unhandled_exception", "missing_data", "task_failed", "scheduling_error")
}
"""Settings of Luigi's that hold unless its ``luigi.cfg`` says otherwise."""
SECONDS_TO_CONNECT = 3.0
"""That a scheduler has to answer."""
SHOWN_SETTINGS = ("workers", "scheduler_host", "scheduler_port", "scheduler_url", "log_level")
"""Of Luigi's own settings."""


def set_up() -> None:
    """Gives Luigi our settings; where its command asks for a stage of ours, runs it and ends."""
    config = luigi.configuration.get_config()
    for (section, name), value in SETTINGS.items():
        if not config.has_option(section, name):
            config.set(section, name, value)
    program = Path(sys.argv[0])
    is_luigi = program.name == "luigi" or program.parts[-2:] == ("luigi", "__main__.py")
    if is_luigi and multiprocessing.parent_process() is None:
        module, arguments = _without_module(sys.argv[1:])
        if module in ("tasks", __package__) and not {"--help", "--help-all"} & set(arguments):
            words = [word for word in arguments if not word.startswith("-")]
            stage = next((word for word in words if word in stages()), "".join(words[:1]))
            others = [word for word in arguments if word != stage]
            raise SystemExit(run_stage(stage, others))


def _without_module(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Returns the module that a command line has Luigi import, and its other arguments."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--module")
    known, others = parser.parse_known_args(arguments)
    return known.module, others


def stages() -> dict[str, type[ReportingTask]]:
    """Returns the stages that can be asked for, by name, in order."""
    from treeviews import tasks

    named = {name: getattr(tasks, name) for name in tasks.__all__}
    return {name: stage for name, stage in named.items() if issubclass(stage, ReportingTask)}


def run_stage(stage: str, arguments: Sequence[str]) -> int:
    """Runs a stage with what it needs, and tells what failed; returns the exit code.

    Args:
        stage: its name.
        arguments: of Luigi's command line. The scheduler is that of this process unless they, or
            Luigi's configuration, name another one.

    Raises:
        SystemExit: what was asked for cannot be run; it is told.
    """
    config, names = luigi.configuration.get_config(), ("scheduler_host", "scheduler_url")
    elsewhere = any(argument.startswith("--scheduler-") for argument in arguments)
    elsewhere |= any(config.has_option("core", name) for name in names)
    given = [stage, *arguments, *([] if elsewhere else ["--local-scheduler"])]
    with asked(given) as task:
        settings = luigi.interface.core()
        refuse_all(mistakes_in(task, _check_luigi))
    start_job_server(settings.workers)
    begun = run.begin_run(task, logging.getLevelName(settings.log_level))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        luigi.run(given)
        return begun.exit_code()
    except KeyboardInterrupt:
        begun.is_interrupted = True
        return FAILED
    except Exception as error:
        run.tell_error("Luigi", error)
        return begun.exit_code()
    finally:
        signal.signal(signal.SIGTERM, before)
        begun.finish()


@contextmanager
def asked(arguments: Sequence[str]) -> Iterator[luigi.Task]:
    """Reads a command line as Luigi does.

    Yields:
        The task that is asked for; defaults that the command line gives hold in the ``with`` block.

    Raises:
        SystemExit: what was asked for cannot be run; it is told.
    """
    module, (stage, *_) = _without_module(arguments)
    if module:
        importlib.import_module(module)
    check_stage(stage)
    said = io.StringIO()
    try:
        with redirect_stderr(said), CmdlineParser.global_instance(arguments, allow_override=True):
            pass
    except SystemExit:
        _refuse_options(said.getvalue(), stage)
    with CmdlineParser.global_instance(arguments, allow_override=True) as parser:
        malformed = _malformed(parser.known_args, stage)
        try:
            task = parser.get_task_obj()
        except luigi.parameter.MissingParameterException as error:
            missing = re.search(r"requires the '(\w+)' parameter", str(error))
            option = f"--{missing[1].replace('_', '-')}" if missing else "another parameter"
            if not any(sentence.startswith(f"{option} ") for sentence in malformed):
                malformed.append(f"{stage} needs {option}")
            refuse_all(malformed, remedy=f"parameters: treeviews run {stage} --help")
        if malformed:
            names = [sentence.split()[0][2:].replace("-", "[-_]") for sentence in malformed]
            of_these = re.compile(rf"\b(?:{'|'.join(names)})\b")  # which have other values here
            check = partial(_check_workers, luigi.interface.core())
            others = [said for said in mistakes_in(task, check) if not of_these.search(said)]
            refuse_all([*malformed, *others])
        yield task


def check_stage(name: str) -> None:
    """Refuses what is no stage, nor any task that Luigi knows.

    Raises:
        SystemExit: it is none; what may have been meant is told.
    """
    if name not in Register.task_names():
        meant = did_you_mean(name, known=stages())
        refuse(f"no stage is called {told(name)!r}{meant}", remedy="stages: treeviews run --help")


def _malformed(given: argparse.Namespace, stage: str) -> list[str]:
    """Returns what is said of values that a parameter cannot have.

    The values are taken out, so that what else is asked for can be checked.
    """
    sentences = []
    core = luigi.interface.core.get_params()
    for prefix, parameters in (("", Register.get_task_cls(stage).get_params()), ("core_", core)):
        for name, parameter in parameters:
            text = getattr(given, prefix + name, None)
            if text and (wanted := _wanted(parameter, text)):
                option = f"--{name.replace('_', '-')}"
                for place in (prefix + name, f"{stage}_{name}"):
                    setattr(given, place, None)
                sentences.append(f"{option} cannot be {told(text)!r}: {wanted}")
    return sentences


def _wanted(parameter: luigi.Parameter, text: str) -> str:
    """Returns what a value must be, of one that a parameter cannot have; else nothing."""
    try:
        value = parameter.parse(text)
        if not isinstance(parameter, luigi.DictParameter) or isinstance(value, Mapping):
            return ""
        reason = ""
    except (ValueError, TypeError) as error:
        reason = str(error)
    if isinstance(parameter, luigi.ChoiceParameter):
        choices = _choices(parameter)
        return f"give one of {', '.join(choices)}{did_you_mean(text, known=choices)}"
    if isinstance(parameter, luigi.DictParameter):
        example = getattr(parameter, "example", '{"name": 1}')
        return f"no JSON object; give one such as '{example}'"
    return next((said for kind, said in _KINDS.items() if isinstance(parameter, kind)), reason)


_KINDS: dict[type[luigi.Parameter], str] = {
    luigi.IntParameter: "no whole number; give one such as 1",
    luigi.FloatParameter: "no number; give one such as 0.5",
    luigi.BoolParameter: "give true or false",
    luigi.ListParameter: "no whole numbers; give them such as 1,2 or '[1, 2]'",
}
"""Kind of a parameter -> what is said of a value that is none."""


def _choices(parameter: luigi.Parameter) -> list[str]:
    """Returns the names that a parameter takes, in order; those of Luigi's stand in their help."""
    listed = (parameter.description or "").partition("Choices: {")[2]
    return sorted(getattr(parameter, "choices", None) or re.findall(r"[\w-]+", listed))


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


def _check_luigi() -> None:
    """Refuses a run without workers, and a scheduler that does not answer.

    One that is given by its URL Luigi asks itself.

    Raises:
        ValueError: names the remedy.
    """
    settings = luigi.interface.core()
    refuse_together(partial(_check_workers, settings), partial(_check_scheduler, settings))


def _check_workers(settings: Any) -> None:
    if settings.workers < 1:
        raise ValueError(f"--workers must be at least 1, got {settings.workers}")


def _check_scheduler(settings: Any) -> None:
    host, port = settings.scheduler_host, settings.scheduler_port
    try:
        if not (settings.local_scheduler or settings.scheduler_url):
            socket.create_connection((host, port), SECONDS_TO_CONNECT).close()
    except OSError as error:
        raise ValueError(
            f"no scheduler answers at {told(host)}:{port} ({error.strerror or error}); give "
            "--local-scheduler, start luigid there, or name another one by --scheduler-host"
        ) from None


def refuse_all(sentences: Sequence[str], *, remedy: str = "") -> None:
    """Tells mistakes in what was asked for, if there are any, and ends the command.

    Args:
        remedy: of the only one.

    Raises:
        SystemExit: there are some.
    """
    if len(sentences) > 1:
        head = f"{len(sentences)} problems keep this run from starting:"
        refuse("\n- ".join([head, *sentences]))
    if sentences:
        refuse(sentences[0], remedy=remedy)


def refuse(sentence: str, *, remedy: str = "") -> NoReturn:
    """Tells a mistake in what was asked for, and ends the command.

    Raises:
        SystemExit: always, with the code of a mistake.
    """
    say([*error_lines(sentence), *([remedy] if remedy else [])])
    raise SystemExit(MISTAKE)


def stages_help() -> str:
    """Returns the stages with a line each."""
    width = max(map(len, stages()))
    lines = [f"  {name:{width}}  {_first_line(stage)}" for name, stage in stages().items()]
    head = """\
usage: treeviews run [STAGE] [--parameter VALUE ...]

Runs a stage (by default RunAll) and the unfinished stages that it needs.
The same command resumes a stopped run. Exit codes: 0 done, 1 the work failed,
2 the command is wrong.

stages:"""
    return "\n".join([head, *lines, "", "treeviews run STAGE --help lists its parameters."])


def parameters_help(name: str, arguments: Sequence[str] = ()) -> str:
    """Returns the parameters of a stage, in groups, with their defaults.

    Args:
        name: of a stage, or of any task that Luigi knows.
        arguments: of Luigi's command line; they may name the module that the stage is in.
    """
    module, _ = _without_module(arguments)
    if module:
        importlib.import_module(module)
    check_stage(name)
    about = " ".join((Register.get_task_cls(name).__doc__ or "").split())
    lines = [f"usage: treeviews run {name} [--parameter VALUE ...]", "", *textwrap.wrap(about, 100)]
    settings = {setting: getattr(interface.core, setting) for setting in SHOWN_SETTINGS}
    for title, parameters in (parameter_groups(name) | {"Luigi": settings}).items():
        lines += ["", f"{title}:"]
        for own, parameter in parameters.items():
            option = f"  --{own.replace('_', '-')} "
            text = _help("core" if title == "Luigi" else name, own, parameter)
            lines += textwrap.wrap(text, 100, initial_indent=option, subsequent_indent=" " * 8)
    return "\n".join(lines)


def parameter_groups(name: str) -> dict[str, dict[str, luigi.Parameter]]:
    """Returns the parameters of a stage by what the classes that declare them say of themselves.

    Those of the machine come last.

    Args:
        name: of a stage that there is.
    """
    stage = Register.get_task_cls(name)
    groups: dict[str, dict[str, luigi.Parameter]] = {}
    for own, parameter in sorted(stage.get_params(), key=lambda item: not item[1].significant):
        owner = next(cls for cls in stage.__mro__ if own in vars(cls))
        title = "This stage" if owner is stage else _first_line(owner)
        title = title if parameter.significant else "Settings that change no result"
        groups.setdefault(title, {})[own] = parameter
    return groups


def _first_line(documented: type) -> str:
    return (documented.__doc__ or documented.__name__).strip().splitlines()[0].rstrip(".")


def _help(stage: str, name: str, parameter: luigi.Parameter) -> str:
    text = parameter.description or ""
    if choices := _choices(parameter):
        text = f"{text.partition('Choices: {')[0].rstrip()} One of {', '.join(choices)}."
    if not parameter.has_task_value(stage, name):
        return f"{text} [needed]"
    value = parameter.task_value(stage, name)
    return f"{text} [default: {(value is not None and parameter.serialize(value)) or 'none'}]"
