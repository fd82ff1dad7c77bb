"""The one door to the training of parsers: ``python -m pipeline.parser_training COMMAND …``.

``dependency``, ``dependency-transformer`` and ``constituency`` train a parser; ``joint-trees`` and
``guided-trees`` make further trees to train one on. Each has its own ``--help``. A task gives
JOB.json as the command: it holds a `ParserTrainingJob`.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Sequence
from typing import Any

from pipeline.base.foreign_text import guard_logs, told
from pipeline.base.job import Progress, run_from_command_line
from pipeline.base.mistakes import did_you_mean
from pipeline.base.watched import keep_memory
from pipeline.parser_training.job import ParserTrainingJob

COMMANDS = ("dependency", "dependency-transformer", "constituency", "joint-trees", "guided-trees")


def main(arguments: Sequence[str] | None = None) -> int:
    """Does as the arguments say and prints the outcome; returns 2 for a user's mistake."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    command, rest = "".join(given[:1]), given[1:]
    if command.endswith(".json"):
        return run_from_command_line(
            lambda values, progress: execute(ParserTrainingJob.from_dict(values), progress), given
        )
    if command not in COMMANDS:
        is_help = command in {"-h", "--help"}
        meant = did_you_mean(command, known=COMMANDS)
        unknown = f"error: no command {command!r}{meant}\n" if command and not is_help else ""
        text = f"{unknown}{__doc__}\ncommands: {', '.join(COMMANDS)}"
        print(text, file=None if is_help else sys.stderr)
        return 0 if is_help else 2
    guard_logs()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    try:
        print(_run(command, rest))
    except (FileNotFoundError, FloatingPointError, ValueError) as error:
        print(f"error: {told(error, keep_lines=True)}", file=sys.stderr)
        return 2
    return 0


def execute(job: ParserTrainingJob, progress: Progress) -> None:
    """Trains as a job says; resumes what the output folder holds.

    Raises:
        ValueError: what the training refuses.
    """
    from pipeline.parser_training.command_line import train

    train(job.kind, job.arguments, on_progress=progress)


def _run(command: str, arguments: Sequence[str]) -> str:
    """Returns what is to be printed; imports only what the command needs, which takes seconds."""
    if command == "joint-trees":
        from pipeline.parser_training.recipes.joint_trees import write_joint_trees

        return write_joint_trees(arguments)
    if command == "guided-trees":
        from pipeline.parser_training.recipes.guided_trees import write_guided_trees

        return write_guided_trees(arguments)
    from pipeline.parser_training.command_line import train

    kind: Any = command
    return json.dumps(train(kind, arguments), indent=1)


if __name__ == "__main__":
    keep_memory()
    raise SystemExit(main())
