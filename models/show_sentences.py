"""Shows sentences as views see them: ``python -m models.show_sentences JOB.json``.

The job names encoders, the derived tasks of a run and where both lie::

    {"encoders": [{"words": "trained", "encoder": "data/work/models/DEP-CONST-…"}],
     "data": "probing/…/senteval", "tasks": ["TreeDepth"], "out": "sentences.json"}

``encoder`` is what ``models.encoding.encoder_names`` describes, ``words`` is said of its views.
``sentences.json`` has, by each view, the nearest held-out sentences of some and a map of each task.
Further keys, all optional: ``queries`` (sentences of your own in the place of chosen ones),
``num_queries``, ``neighbours`` (of each), ``num_points`` (of a map), ``seed``; of each encoder
``encoder_settings``; ``parses`` (a folder that encoders share, as ``models.evaluate_tasks`` fills
it), ``device``, ``threads``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.encoding.encoder_interface import (
    WORDS_VIEW,
    ViewEncoder,
    name_of,
    view_and_pooling,
)
from models.encoding.named_encoder import resolve_encoder
from models.encoding.reading_encoder import EncoderSettings
from models.encoding.sentence_reader import keep_given
from models.encoding.text_encoder import available_device
from models.evaluation.embedding_cache import EmbeddingCache
from models.evaluation.tasks.declarations import DERIVED, task_named
from models.evaluation.tasks.load import (
    AbsentDataError,
    DerivedSentences,
    derived_sentences,
    load_task,
)
from models.evaluation.tasks.task import TaskData
from models.report.sentences.maps import SentenceMap, sentence_map
from models.report.sentences.neighbours import (
    Neighbourhood,
    as_json,
    nearest,
    spread_queries,
    without_zeros,
)
from pipeline.base.foreign_text import listed_strings
from pipeline.base.job import Progress, run_from_command_line
from pipeline.base.json_files import write_sealed_json

_NEEDED = ("encoders", "data", "tasks", "out")
_OPTIONAL = {
    "queries": [],
    "num_queries": 6,
    "neighbours": 3,
    "num_points": 200,
    "seed": 0,
    "parses": None,
    "device": "cpu",
    "threads": 1,
}
_LONGEST = 16
"""Tokens of a sentence that is chosen as a query; longer ones fill a page."""
_SHORTEST = 6


@dataclass(slots=True)
class _Seen:
    """What the encoders make of the sentences of a run: views by their words."""

    queries: list[str]
    """Of the user's own, and none until they are chosen where there are no such."""
    sentences: list[str]
    """That are searched: as the corpus has them, nothing altered."""
    vectors: dict[str, np.ndarray] = field(default_factory=dict)
    """Of these sentences; zeros of one that the view's parser refused."""
    asked: dict[str, np.ndarray] = field(default_factory=dict)
    """Of the queries."""
    of_tasks: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)


def execute(job: Mapping[str, Any], progress: Progress) -> None:
    """Runs a job; ``out`` appears whole.

    Raises:
        ValueError: a key is missing or unknown, a task is none of single sentences, or the data
            are damaged.
    """
    if missing := [key for key in _NEEDED if key not in job]:
        raise ValueError(f"the job lacks {missing}")
    if unknown := sorted(set(job) - {*_NEEDED, *_OPTIONAL}):
        raise ValueError(f"the job has unknown keys {unknown}; known: {[*_NEEDED, *_OPTIONAL]}")
    settled = {**_OPTIONAL, **job}
    torch.set_num_threads(int(settled["threads"]))
    with tempfile.TemporaryDirectory() as temporary:
        _show({**settled, "parses": settled["parses"] or temporary}, progress)


def _show(job: Mapping[str, Any], progress: Progress) -> None:
    started = time.perf_counter()
    given = derived_sentences(DERIVED[0], Path(job["data"]))
    if given is None:
        raise ValueError(f"{job['data']}: no derived tasks; name the folder that a run built")
    tasks = _tasks(job)
    seen = _Seen(listed_strings(job["queries"]), _of_corpus(given))
    keep_given(Path(job["parses"]), given.texts, given.table, given.parsers)
    for place, declared in enumerate(job["encoders"]):
        _see(seen, given, tasks, declared, job)
        progress((place + 1) / (len(job["encoders"]) + 1), f"{declared['words']}: encoded")
    if not seen.queries:
        _choose_queries(seen, int(job["num_queries"]))
    neighbourhoods = [_neighbours(view, seen, int(job["neighbours"])) for view in seen.vectors]
    maps = [_map(name, data, seen, job) for name, data in tasks.items()]
    value = {
        "queries": seen.queries,
        "num_searched": len(seen.sentences),
        "neighbourhoods": [as_json(one) for one in neighbourhoods],
        "maps": [one.to_json() for one in maps],
        "seconds": round(time.perf_counter() - started, 3),
        "absent": [name for name in job["tasks"] if name not in tasks],
    }
    write_sealed_json(Path(job["out"]), value)


def _tasks(job: Mapping[str, Any]) -> dict[str, TaskData]:
    """Returns the tasks that the corpus was large enough for."""
    found = {}
    for name in job["tasks"]:
        task = task_named(name)
        if task not in DERIVED or task.features != "sentence":
            known = ", ".join(one.name for one in DERIVED if one.features == "sentence")
            raise ValueError(f"{name}: no derived task of single sentences; choose among {known}")
        try:
            found[name] = load_task(task, Path(job["data"]))
        except AbsentDataError:
            continue
    return found


def _of_corpus(given: DerivedSentences) -> list[str]:
    parts = given.table.column("part").to_pylist()
    return [text for text, part in zip(given.texts, parts, strict=True) if part == "corpus"]


def _choose_queries(seen: _Seen, wanted: int) -> None:
    """Sets queries among sentences of which every view has a vector."""
    everywhere = set(range(len(seen.sentences)))
    for vectors in seen.vectors.values():
        everywhere &= set(without_zeros(vectors).tolist())
    rows = sorted(everywhere)
    lengths = {row: seen.sentences[row].count(" ") + 1 for row in rows}
    usual = [row for row in rows if _SHORTEST <= lengths[row] <= _LONGEST] or rows
    chosen = [usual[i] for i in spread_queries([seen.sentences[row] for row in usual], wanted)]
    seen.queries = [seen.sentences[row] for row in chosen]
    seen.asked = {view: vectors[chosen] for view, vectors in seen.vectors.items()}


def _neighbours(view: str, seen: _Seen, k: int) -> Neighbourhood:
    rows = without_zeros(seen.vectors[view])
    searched = ([seen.sentences[row] for row in rows], seen.vectors[view][rows])
    return nearest(view, (seen.queries, seen.asked[view]), searched, k)


def _see(
    seen: _Seen,
    given: DerivedSentences,
    tasks: Mapping[str, TaskData],
    declared: Mapping[str, Any],
    job: Mapping[str, Any],
) -> None:
    """Adds the views of one encoder."""
    settings = EncoderSettings.from_dict(
        {
            **declared.get("encoder_settings", {}),
            "device": available_device(str(job["device"])),
            "parses": job["parses"],
            "on_refusal": "zero",
        }
    )
    encoder = resolve_encoder(declared["encoder"], settings)
    if not isinstance(encoder, ViewEncoder):
        raise ValueError(f"{declared['encoder']}: gives no views; name a model or word vectors")
    found = EmbeddingCache().embeddings(encoder, given.texts)
    places = {text: place for place, text in enumerate(given.texts)}
    inside = np.array([places[text] for text in seen.sentences])
    are_known = all(query in places for query in seen.queries)
    own = None if are_known else encoder.encode_views(seen.queries)
    for key, matrix in found.views.items():
        view = _in_words(key, list(found.views), declared["words"])
        seen.vectors[view] = matrix[inside]
        asked = [places[query] for query in seen.queries] if are_known else []
        seen.asked[view] = matrix[asked] if own is None else own[key]
        for name, data in tasks.items():
            seen.of_tasks.setdefault(name, {})[view] = matrix[_sentences(data)[0]]


def _in_words(key: str, keys: Sequence[str], words: str) -> str:
    """Returns what a view is called: ``DEP, trained``, with its place where two bear a name."""
    view, _ = view_and_pooling(key)
    name = name_of(view)
    if name == WORDS_VIEW or len(keys) == 1:
        return words
    alike = [one for one in keys if name_of(view_and_pooling(one)[0]) == name]
    return f"{view if len(alike) > 1 else name}, {words}"


def _sentences(data: TaskData) -> tuple[np.ndarray, np.ndarray]:
    """Returns the sentences of all splits of a task and their classes, each sentence once."""
    rows = np.concatenate([items.first for items in data.splits.values()])
    labels = np.concatenate([items.labels for items in data.splits.values()]).astype(np.int64)
    rows, first = np.unique(rows, return_index=True)
    return rows, labels[first]


def _map(name: str, data: TaskData, seen: _Seen, job: Mapping[str, Any]) -> SentenceMap:
    rows, classes = _sentences(data)
    labelled = [
        (data.sentences[row], data.class_names[number])
        for row, number in zip(rows, classes, strict=True)
    ]
    return sentence_map(
        name, labelled, seen.of_tasks[name], int(job["num_points"]), int(job["seed"])
    )


if __name__ == "__main__":
    sys.exit(run_from_command_line(execute))
