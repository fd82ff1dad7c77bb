"""Writes the built tasks as files of SentEval's format, so that any encoder can be scored on them.

SentEval's probing tasks are one file each, ``tr|va|te TAB class TAB tokens`` (Conneau et al. 2018;
``data/probing`` of its repository). Passages have a column a sentence, ``tr|va|te TAB class TAB
tokens TAB tokens …``; DiscoEval's own files (Chen et al. 2019) are one a split and begin with the
class. The files lie below ``senteval/``, a folder that
``treeviews evaluate --data`` takes, beside a table of their sentences with documents and
parses, and a note that they are not the published ones (see ``models.evaluation.tasks.load``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from models.evaluation.derived.declarations import TASKS
from models.evaluation.derived.held_out.config import SPLITS
from models.evaluation.derived.held_out.held_out_rows import ParsedSentence
from models.evaluation.derived.splits import Chosen
from models.evaluation.tasks.declarations import task_named
from models.evaluation.tasks.layout import DATASETS
from models.evaluation.tasks.load import SENTENCES_NAME, DerivedNote, sentence_file, write_note
from models.evaluation.tasks.readers import SPLITS as SPLIT_MARKS
from pipeline.base.atomic_files import sweep_unfinished, write_bytes_atomically

SENTEVAL_FOLDER = "senteval"
"""Of the probing folder; laid out as SentEval's ``data``."""

PROTOCOL: Mapping[str, Any] = {
    "standardise": True,
    "penalties": [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0],
}
"""What the tasks ask of the protocol, by fields of ``ProtocolConfig``: they are of any size. Weaker
penalties take half of the time and answer like the weakest of these."""

_MARK_OF = {split: mark for mark, split in SPLIT_MARKS.items()}
_EVALUATION_TASK = {task.name: task.evaluation_task for task in TASKS}


def senteval_path(name: str) -> Path:
    """Returns where a probing task stands below SentEval's ``data`` folder."""
    dataset = task_named(_EVALUATION_TASK[name]).dataset
    return Path(DATASETS[dataset].files["all"])


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
        folder / senteval_path(name): "".join(_lines(splits)).encode()
        for name, splits in chosen.items()
    }
    (place,) = {(folder / senteval_path(task.name)).parent for task in TASKS}
    place.mkdir(parents=True, exist_ok=True)
    sweep_unfinished(place)
    encoded[place / SENTENCES_NAME] = sentence_file(_rows(chosen.values()))
    digests = {path.name: hashlib.sha256(content).hexdigest() for path, content in encoded.items()}
    reasons = {senteval_path(name).name: reason for name, reason in absent.items()}
    write_note(place, DerivedNote(corpus, digests, reasons, PROTOCOL, parsers))
    for path, content in encoded.items():
        write_bytes_atomically(path, content)


def _rows(chosen: Iterable[Chosen]) -> list[dict[str, Any]]:
    """Returns the rows of the sentences that any task uses, in their order."""
    used = {
        sentence.tokens: sentence
        for splits in chosen
        for candidates in splits.values()
        for candidate in candidates
        for sentence in candidate.sentences
    }
    of_parses = ("heads", "deprels", "binary_left", "binary_right")
    columns = ("tokens", "unit", "dataset_row", *of_parses)
    return [
        {name: getattr(sentence, name) for name in columns}
        for sentence in sorted(used.values(), key=lambda sentence: sentence.row)
    ]


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
