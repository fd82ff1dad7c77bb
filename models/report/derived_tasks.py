"""Tasks derived from a corpus: where they stand, and how tables tell them from published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from models.evaluation.probing.export import SENTEVAL_FOLDER, evaluation_tasks
from models.report.markdown import section


def task_title(task: str, corpora: Mapping[str, str]) -> str:
    """Returns what a table calls a task.

    Args:
        corpora: the corpus of each derived task, by the task's name.
    """
    return f"{task} (derived)" if task in corpora else task


def derived_notes(corpora: Mapping[str, str]) -> list[str]:
    """Returns one note a corpus; none where all tasks are the published ones."""
    tasks: dict[str, list[str]] = {}
    for task, corpus in corpora.items():
        tasks.setdefault(corpus, []).append(task)
    return [
        f"{', '.join(names)}: derived from {corpus}, other sentences and labels than those of the "
        "published tasks of these names; no published figure compares."
        for corpus, names in tasks.items()
    ]


def exported_section(probing_folder: Path, tasks: Sequence[str]) -> str:
    """Returns how any encoder is scored on the probing tasks of a run.

    Args:
        tasks: the probing tasks that the corpus was large enough for.
    """
    command = (
        "python -m models.evaluate --encoder package.module:function \\\n"
        f"  --data {probing_folder / SENTEVAL_FOLDER} \\\n"
        f"  --tasks {','.join(evaluation_tasks(tasks))}"
    )
    return section(
        "The same tasks for any encoder",
        f"`{probing_folder / SENTEVAL_FOLDER}` holds the probing tasks in SentEval's format. A "
        "function of your own from a list of strings to a matrix is scored on them by",
        f"```sh\n{command}\n```",
        "The protocol is the same as above, and the tasks bring their documents and parses: "
        "such figures stand beside those of the table, and a model of this run gets its own again.",
    )
