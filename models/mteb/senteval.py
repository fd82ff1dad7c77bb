"""SentEval's graded pairs as MTEB's tasks of the same names: both can score the same pairs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from models.evaluation.tasks.declarations import task_named
from models.evaluation.tasks.load import load_task, missing_files
from pipeline.base.atomic_files import write_text_atomically

MTEB_TASK_OF = {
    "STS12": "STS12",
    "STS13": "STS13",
    "STS14": "STS14",
    "STS15": "STS15",
    "STS16": "STS16",
    "STS-B-cosine": "STSBenchmark",
    "SICK14": "SICK-R",
}
"""Tasks of ours by the cosine -> what MTEB calls its own. Those on the hub are not always the same
pairs: its SICK-R has also the pairs of train and dev."""


def write_mteb_data(senteval: Path, out: Path, tasks: Sequence[str] = ()) -> dict[str, int]:
    """Writes pairs as `models.mteb.local_data` reads them, in the order of our own items.

    Sentences are those that our task gives to an encoder, so that equal encoders have equal
    scores: MTEB's ``cosine_spearman`` is our ``spearman_all``.

    Args:
        senteval: SentEval's ``data`` folder.
        out: the folder that is to have a folder a task.
        tasks: ours, of `MTEB_TASK_OF`; by default those that there are data of.

    Returns:
        How many pairs there are, by MTEB's name of the task.

    Raises:
        FileNotFoundError: data of a task are not there, or of none.
        ValueError: a task without graded pairs, or malformed data.
    """
    if unknown := sorted(set(tasks) - set(MTEB_TASK_OF)):
        raise ValueError(
            f"{', '.join(unknown)}: no graded pairs of MTEB's; give of {', '.join(MTEB_TASK_OF)}"
        )
    present = [name for name in MTEB_TASK_OF if not missing_files(task_named(name), senteval)]
    counts: dict[str, int] = {}
    for name in tasks or present:
        data = load_task(task_named(name), senteval)
        lines = [
            {
                "subset": subset,
                "sentence1": data.sentences[first],
                "sentence2": data.sentences[second],
                "score": float(grade),
            }
            for subset, items in data.splits.items()
            for first, second, grade in zip(*items.sentences, items.labels, strict=True)
        ]
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        path = out / MTEB_TASK_OF[name] / "test.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text_atomically(path, text)
        counts[MTEB_TASK_OF[name]] = len(lines)
    if not counts:
        raise FileNotFoundError(f"{senteval}: holds none of {', '.join(MTEB_TASK_OF)}")
    return counts
