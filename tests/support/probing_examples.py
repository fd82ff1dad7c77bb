"""A parsed corpus made by a small grammar, with every property that the probing tasks ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.parsed_corpora import left_branching
from tests.support.shard_files import write_shard
from treeviews.models.evaluation.build_probing import SENTEVAL_FOLDER, build_probing, read_summary
from treeviews.models.evaluation.probing_sentences import ParsedSentence, ProbingConfig
from treeviews.models.evaluation.probing_tasks import TASKS
from treeviews.models.evaluation.task_data import SENTENCES_NAME, load_task
from treeviews.models.evaluation.task_registry import task_named
from treeviews.pipeline.shards.manifests import read_dataset_manifest, write_dataset_manifest
from treeviews.pipeline.shards.schema import schema_for
from treeviews.pipeline.shards.shards import read_shard

STAGES = ("sentences", "dependencies", "constituents")
CONFIG = ProbingConfig(
    held_out_fraction=0.5, train_size=300, dev_size=80, test_size=160, min_train=20, min_dev=4,
    min_test=8, min_class_train=4, num_words=12,
)  # fmt: skip

_SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te")
NOUNS = tuple(a + b for a in _SYLLABLES for b in _SYLLABLES[:8])
_VERBS = tuple(a + "m" for a in _SYLLABLES)
_PLACES = tuple(a + "r" + b for a in _SYLLABLES for b in _SYLLABLES)


def sentence(
    words: str,
    heads: Sequence[int],
    deprels: str,
    tags: str,
    spans: Sequence[tuple[int, int, str]],
    **fields: Any,
) -> ParsedSentence:
    """Returns a parsed sentence written down by hand: words, relations and tags by blanks."""
    starts, ends, labels = zip(*spans, strict=True)
    parsed = ParsedSentence(
        0, "d", 0, tuple(words.split()), tuple(heads), tuple(deprels.split()), starts, ends,
        labels, tuple(tags.split()),
    )  # fmt: skip
    return replace(parsed, **fields)


def clause(random: np.random.Generator) -> dict[str, Any]:
    """Returns one row of all stages: ``[today] the nouns verbed a noun [in a place]* [.]``."""
    adverb, full_stop = random.random() < 0.3, random.random() < 0.8
    tokens, tags, heads, deprels = [], [], [], []

    def add(word: str, tag: str, head: int, deprel: str) -> None:
        tokens.append(word)
        tags.append(tag)
        heads.append(head)
        deprels.append(deprel)

    first = int(adverb)
    verb = first + 3  # 1-based
    if adverb:
        add("today", "NN", verb, "advmod")
    for place, relation in ((first + 2, "nsubj"), (verb + 2, "obj")):
        add("the", "DT", place, "det")
        plural = random.random() < 0.5
        noun = str(random.choice(NOUNS))
        add(noun + "s" * plural, "NNS" if plural else "NN", verb, relation)
        if relation == "nsubj":
            past = random.random() < 0.5
            form = str(random.choice(_VERBS)) + ("ed" if past else "et")
            add(form, "VBD" if past else "VBP", 0, "root")
    num_places = int(random.integers(0, 6))
    num_nested = int(random.integers(0, num_places + 1))
    for _ in range(num_places):
        position = len(tokens)
        add("in", "IN", position + 2, "case")
        add(str(random.choice(_PLACES)), "NN", verb, "obl")
    end = len(tokens)
    spans = [(first, first + 2, "NP"), (first + 2, end, "VP"), (first + 3, first + 5, "NP")]
    for k in range(num_places):
        start = first + 5 + 2 * k
        stop = first + 5 + 2 * num_nested if k < num_nested else start + 2
        spans += [(start, stop, "PP"), (start + 1, stop, "NP")]
    if adverb:
        spans.insert(0, (0, 1, "ADVP"))
    if full_stop:
        add(".", ".", verb, "punct")
    spans.insert(0, (0, len(tokens), "S"))
    left, right = left_branching(len(tokens))
    return {
        "tokens": tokens,
        "heads": heads,
        "deprels": deprels,
        "span_starts": [span[0] for span in spans],
        "span_ends": [span[1] for span in spans],
        "span_labels": [span[2] for span in spans],
        "tags": tags,
        "binary_left": left,
        "binary_right": right,
    }


def corpus_rows(num_documents: int = 40, *, sentences: int = 40) -> list[dict[str, Any]]:
    """Returns the rows of a corpus, sentence and parse together."""
    random = np.random.default_rng(11)
    return [
        {
            "document_id": f"document-{document:03d}",
            "sentence_index": index,
            **clause(random),
        }
        for document in range(num_documents)
        for index in range(sentences)
    ]


def write_rows(
    folder: Path, rows: Sequence[dict[str, Any]], *, without_parse: Sequence[int] = ()
) -> dict[str, Path]:
    """Writes rows as a parsed corpus in shards of 500; some rows lack the dependency parse."""
    for shard, start in enumerate(range(0, len(rows), 500)):
        part = [dict(row) for row in rows[start : start + 500]]
        for position, row in enumerate(part):
            if start + position in without_parse:
                row.update(heads=None, deprels=None)
        for stage in STAGES:
            columns = {name: [row[name] for row in part] for name in schema_for(stage).names}
            table = pa.Table.from_pydict(columns, schema=schema_for(stage))
            write_shard(folder / stage, stage, shard, table)
    for stage in STAGES:
        write_dataset_manifest(folder / stage, stage, config={})
    return {stage: folder / stage for stage in STAGES}


def tokens_of(sentences: Path) -> list[list[str]]:
    """Returns the tokens of every row of a sentence stage."""
    shards = read_dataset_manifest(sentences).shards
    tables = [read_shard(sentences, "sentences", shard.number, ["tokens"]) for shard in shards]
    return [tokens for table in tables for tokens in table["tokens"].to_pylist()]


@dataclass(frozen=True)
class Built:
    """Probing data as an evaluation reads them back."""

    summary: dict[str, Any]
    rows: dict[str, dict[str, npt.NDArray[np.int64]]]
    """Of each task and split, the corpus rows of the items' sentences, [n, sentences]."""
    labels: dict[str, dict[str, npt.NDArray[np.int64]]]
    units: dict[int, str]
    """Document, or held-out block, of each sentence that any task uses, in the table's order."""

    def units_of(self, task: str) -> list[set[str]]:
        """Returns the units of each split of a task."""
        return [{self.units[row] for row in rows.ravel()} for rows in self.rows[task].values()]


def read_built(folder: Path) -> Built:
    """Returns what ``build_probing`` wrote."""
    summary, place = read_summary(folder), folder / SENTEVAL_FOLDER
    table = pq.read_table(place / "probing" / SENTENCES_NAME)
    rows = table["dataset_row"].to_numpy()
    data = {
        task.name: load_task(task_named(task.evaluation_task), place).splits
        for task in TASKS
        if task.name in summary["tasks"]
    }
    return Built(
        summary,
        {n: {k: rows[np.stack(v.sentences, 1)] for k, v in of.items()} for n, of in data.items()},
        {n: {k: v.labels.astype(np.int64) for k, v in of.items()} for n, of in data.items()},
        dict(zip(rows.tolist(), table["unit"].to_pylist(), strict=True)),
    )


def built(folder: Path, config: ProbingConfig = CONFIG) -> dict[str, Any]:
    """Builds probing data from the made corpus; returns the summary."""
    corpus = write_rows(folder / "corpus", corpus_rows())
    return build_probing(corpus, folder / "probing", config)
