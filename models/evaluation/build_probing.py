"""Builds the derived tasks of a parsed corpus, or gives the reason why one is absent.

They are written as files of SentEval's format, so that any encoder can be scored on them.
SentEval's probing tasks are one file each, ``tr|va|te TAB class TAB tokens`` (Conneau et al. 2018;
``data/probing`` of its repository). Passages have a column a sentence, ``tr|va|te TAB class TAB
tokens TAB tokens …``; DiscoEval's own files (Chen et al. 2019) are one a split and begin with the
class. The files lie below ``senteval/``, a folder that ``treeviews evaluate --data`` takes, beside
a table of their sentences with documents and parses, and a note that they are not the published
ones (see `models.evaluation.task_data`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from treeviews.models.config.held_out import HELD_OUT_REMEDY
from treeviews.models.evaluation.probing_sentences import (
    SPLITS,
    ParsedSentence,
    ProbingConfig,
    read_held_out,
    text_key,
)
from treeviews.models.evaluation.probing_splits import Chosen, chosen_items
from treeviews.models.evaluation.probing_tasks import CANDIDATES, TASKS, DerivedTask, TooFewError
from treeviews.models.evaluation.resampling import draws_units
from treeviews.models.evaluation.senteval_format import DATASETS
from treeviews.models.evaluation.senteval_format import SPLITS as SPLIT_MARKS
from treeviews.models.evaluation.task_data import NOTE_NAME, SENTENCES, SENTENCES_NAME, DerivedNote
from treeviews.models.evaluation.task_registry import task_named
from treeviews.pipeline.base.atomic_files import sweep_unfinished, write_bytes_atomically
from treeviews.pipeline.base.json_files import read_object, write_sealed_json

SENTEVAL_FOLDER = "senteval"
"""Of the probing folder; laid out as SentEval's ``data``."""
SUMMARY_NAME = "probing.json"
FORMAT_VERSION = 6


def build_probing(
    corpus: Mapping[str, Path],
    out: Path,
    config: ProbingConfig,
    *,
    parsers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Writes the derived tasks of a corpus's held-out documents.

    ``senteval/`` holds the items in SentEval's format, with their sentences' documents and parses
    (see ``export``), and ``probing.json`` the summary, written last: without it the data do not
    exist.

    Args:
        corpus: folders of its ``sentences``, ``dependencies`` and ``constituents``.
        out: folder to write.
        parsers: checksum of each stage's parser, where it parsed exactly and is known: encoders
            that read by the same parsers take the sentences' parses as they are.

    Returns:
        The summary: classes, counts and chance of each task, absent tasks with reasons, counts
        of sentences left out, and the configuration.

    Raises:
        FileNotFoundError: a stage is not complete.
        ValueError: too few sentences for any probing task, or the stages do not fit together.
    """
    parsed, num_rows = read_held_out(corpus, config)
    probed, of_any_length, excluded = _usable(parsed, config)
    excluded["no_parse"] = num_rows - len(parsed)
    described: dict[str, Any] = {}
    absent: dict[str, str] = {}
    chosen: dict[str, Chosen] = {}
    for task in TASKS:
        usable = of_any_length if task.any_length else probed
        candidates = CANDIDATES[task.name](usable, config)
        try:
            chosen[task.name], unit = chosen_items(task, candidates, config)
        except TooFewError as error:
            absent[task.name] = str(error)
        else:
            described[task.name] = _describe(task, chosen[task.name], unit, config)
    if not chosen:
        counts = ", ".join(f"{why} {count:,}" for why, count in excluded.items())
        raise ValueError(
            f"{corpus['sentences']}: {len(probed)} usable held-out sentences (beside {counts}) are "
            f"too few for any of the {len(TASKS)} probing tasks; give more text, "
            f"{HELD_OUT_REMEDY}, or accept smaller tasks by --probing-changes (min_train, min_dev, "
            "min_test)"
        )
    summary = {
        "format_version": FORMAT_VERSION,
        "config": config.to_dict(),
        "tasks": described,
        "absent": absent,
        "num_rows": num_rows,
        "num_usable": len(probed),
        "excluded": dict(sorted(excluded.items())),
    }
    # A corpus's folder bears its name, and the digest of what its text was made from.
    name = corpus["sentences"].resolve().parent.name
    write_senteval_files(out / SENTEVAL_FOLDER, chosen, absent, corpus=name, parsers=parsers or {})
    write_sealed_json(out / SUMMARY_NAME, summary)
    return summary


def read_summary(folder: Path) -> dict[str, Any]:
    """Returns the summary of a complete probing folder.

    Raises:
        FileNotFoundError: the folder is not complete.
        ValueError: it is damaged.
    """
    path = folder / SUMMARY_NAME
    summary = read_object(path, ("tasks",), remedy="delete it and build the probing data again")
    tasks = summary["tasks"]
    summary["tasks"] = {task.name: tasks[task.name] for task in TASKS if task.name in tasks}
    return summary


def _usable(
    parsed: Iterable[ParsedSentence], config: ProbingConfig
) -> tuple[list[ParsedSentence], list[ParsedSentence], Counter[str]]:
    """Returns the first sentence of each text, and how many others there are by reason.

    They are those within the limits of length, and those of any length.
    """
    probed, of_any_length = [], []
    excluded: Counter[str] = Counter(no_parse=0)
    seen: set[str] = set()
    for sentence in parsed:
        text = text_key(sentence.tokens)
        is_first = text not in seen
        seen.add(text)
        if is_first:
            of_any_length.append(sentence)
        if not config.min_tokens <= len(sentence.tokens) <= config.max_tokens:
            excluded["outside_length_limits"] += 1
        elif is_first:
            probed.append(sentence)
        else:
            excluded["duplicate_text"] += 1
    return probed, of_any_length, excluded


def _describe(
    task: DerivedTask, chosen: Chosen, split_by: str, config: ProbingConfig
) -> dict[str, Any]:
    counts = {split: Counter(c.label for c in chosen[split]) for split in SPLITS}
    test = [c.sentence for c in chosen["test"]]
    commonest = min(counts["train"], key=lambda label: (-counts["train"][label], label))
    units = [sentence.unit for sentence in test]
    by_unit = draws_units(units)
    return {
        "label_rule": task.label_rule,
        "differs": task.differs,
        "balance": task.balance,
        "split_by": split_by,
        "classes": sorted(counts["train"]),
        "counts": {split: dict(sorted(counts[split].items())) for split in SPLITS},
        "sizes": {split: len(chosen[split]) for split in SPLITS},
        # Of the test sentences, those that the commonest class of the training split is right on.
        "chance": 100.0 * counts["test"][commonest] / len(test),
        "resampled_by": config.held_out_unit if by_unit else "sentence",
        "num_resampled": len(set(units) if by_unit else {sentence.row for sentence in test}),
    }


PROTOCOL: Mapping[str, Any] = {
    "standardise": True,
    "penalties": [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0],
}
"""What the tasks ask of the protocol, by fields of ``ProtocolConfig``: they are of any size. Weaker
penalties take half of the time and answer like the weakest of these."""

_MARK_OF = {split: mark for mark, split in SPLIT_MARKS.items()}
SENTEVAL_PATHS = {
    task.name: Path(DATASETS[task_named(task.evaluation_task).dataset].files["all"])
    for task in TASKS
}
"""Where each probing task stands below SentEval's ``data`` folder."""


def write_senteval_files(
    folder: Path,
    chosen: Mapping[str, Chosen],
    absent: Mapping[str, str],
    *,
    corpus: str,
    parsers: Mapping[str, str],
) -> None:
    """Writes one file a task, the sentences and the note; it comes first: no file is without it.

    Args:
        folder: SentEval's ``data`` folder to be, which will hold ``probing/``.
        chosen: the labelled sentences of each present task.
        absent: tasks that there are none of, with the reason.
        corpus: what the note calls the text.
        parsers: checksum of each stage's parser, where it parsed exactly and is known.

    Raises:
        ValueError: a token with white space, which the format cannot tell from two.
    """
    encoded = {
        folder / SENTEVAL_PATHS[name]: "".join(_lines(splits)).encode()
        for name, splits in chosen.items()
    }
    place = folder / SENTEVAL_PATHS[TASKS[0].name].parent
    place.mkdir(parents=True, exist_ok=True)
    sweep_unfinished(place)
    encoded[place / SENTENCES_NAME] = _sentence_file(chosen.values())
    digests = {path.name: hashlib.sha256(content).hexdigest() for path, content in encoded.items()}
    reasons = {SENTEVAL_PATHS[name].name: reason for name, reason in absent.items()}
    note = DerivedNote(
        corpus=corpus, files=digests, absent=reasons, protocol=PROTOCOL, parsers=parsers
    )
    write_sealed_json(place / NOTE_NAME, note.to_dict())
    for path, content in encoded.items():
        write_bytes_atomically(path, content)


def _sentence_file(chosen: Iterable[Chosen]) -> bytes:
    """Returns the content of the table of the sentences that any task uses, in their order."""
    used = {
        sentence.tokens: sentence
        for splits in chosen
        for candidates in splits.values()
        for candidate in candidates
        for sentence in candidate.sentences
    }
    rows = [
        {name: getattr(sentence, name) for name in SENTENCES.names}
        for sentence in sorted(used.values(), key=lambda sentence: sentence.row)
    ]
    stream = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=SENTENCES), stream, compression="zstd")
    content: bytes = stream.getvalue().to_pybytes()
    return content


def _lines(splits: Chosen) -> Iterator[str]:
    for split in SPLITS:
        for candidate in splits[split]:
            columns = (_MARK_OF[split], candidate.label, *map(_text, candidate.sentences))
            yield "\t".join(columns) + "\n"


def _text(sentence: ParsedSentence) -> str:
    text = " ".join(sentence.tokens)
    if text.split() != list(sentence.tokens):
        raise ValueError(
            f"{sentence.document_id}, sentence {sentence.sentence_index}: a token is empty or has "
            f"white space in it: {list(sentence.tokens)}; split the corpus into sentences again"
        )
    return text
