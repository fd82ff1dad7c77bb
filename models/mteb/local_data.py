"""A task's data from a folder of the user's own, in the layout of the hub or in a simpler one.

A folder a task, called by the task's name (``STS17``) or by that of its data set on the hub
(``sts17-crosslingual-sts``). In it there is either what the hub has, as a download of the data set
leaves it, or files (jsonl, json, csv, tsv, parquet; also packed by gzip) called by their splits,
with the columns of the hub's::

    STSBenchmark/test.jsonl                        sentence1, sentence2, score
    Banking77Classification/train.jsonl test.jsonl text, label
    TwentyNewsgroupsClustering/test.jsonl          sentences, labels (lists; of .v2 one each)
    TwitterURLCorpus/test.jsonl                    sentence1, sentence2, labels
    STS17/en-en/test.jsonl                         a folder a subset, where a task has several
    SciFact/corpus.jsonl queries.jsonl             _id, title, text
    SciFact/qrels/test.tsv                         query-id, corpus-id, score
    AskUbuntuDupQuestions/test.jsonl               query, positive, negative (lists)

What is simpler is linked into a temporary folder that is laid out as the hub's, so that MTEB's own
loader reads either.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".jsonl.gz", ".json.gz", ".csv.gz")
DEFAULT = "default"
RERANKING_COLUMNS = {"query", "positive", "negative"}
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")
"""What the hub adds to the name of a split that is cut into files."""
_TABLES = {".tsv": "\t", ".csv": ","}
"""Endings of tables of text -> what stands between their columns."""
_PARTS = ("corpus", "queries", "qrels", "top_ranked")


Files = dict[str, list[Path]]
"""By split."""


@dataclass(frozen=True, slots=True)
class LocalData:
    """Where a task's data lie, laid out as on the hub."""

    folder: Path
    subsets: tuple[str, ...]
    """Those of the task's subsets that are there."""
    splits: tuple[str, ...]
    """Those of the splits that the task is scored on that are there."""


def has_data(metadata: Any, data: Path) -> bool:
    """Returns whether the folder holds anything of a task, see `local_data`."""
    return any((data / name).is_dir() for name in _folder_names(metadata))


def local_data(task: Any, data: Path, temporary: Path) -> LocalData:
    """Returns a task's local data.

    Args:
        task: one of MTEB's.
        data: the folder that has a folder a task.
        temporary: where data of the simpler layout are linked.

    Raises:
        FileNotFoundError: there is no folder of the task, none of its subsets or none of its
            splits; names what is looked for.
        ValueError: lines for reranking that cannot be read.
    """
    names = _folder_names(task.metadata)
    folder = next((data / name for name in names if (data / name).is_dir()), None)
    if folder is None:
        raise FileNotFoundError(
            f"{data}: holds no folder {' or '.join(names)} for the task {task.metadata.name}; "
            f"download the data set {task.metadata.dataset['path']} into {data / names[0]}"
        )
    ranked = hasattr(task, "convert_to_reranking")
    splits = tuple(task.eval_splits)
    if (configs := _declared(folder)) is not None:
        found = LocalData(folder.resolve(), _present(task, configs, ranked=ranked), splits)
    else:
        target = temporary / task.metadata.name
        parts = _laid_out(folder, task, target, ranked=ranked)
        subsets = _present(task, parts, ranked=ranked)
        there = {split for subset in subsets for split in parts[_config(subset, ranked=ranked)]}
        found = LocalData(target, subsets, tuple(split for split in splits if split in there))
    if not found.subsets or not found.splits:
        raise FileNotFoundError(
            f"{folder}: holds no data of {task.metadata.name}: looked for the subsets "
            f"{', '.join(task.hf_subsets)} and the splits {', '.join(splits)}"
        )
    return found


def _present(task: Any, configs: Iterable[str], *, ranked: bool) -> tuple[str, ...]:
    names = set(configs)
    if ranked and DEFAULT in names:  # what older sets on the hub call their judgements
        names.add("qrels")
    return tuple(one for one in task.hf_subsets if _config(one, ranked=ranked) in names)


def _config(subset: str, *, ranked: bool) -> str:
    """Returns what the part of a data set is called that has a subset, or its judgements."""
    if not ranked:
        return subset
    return "qrels" if subset == DEFAULT else f"{subset}-qrels"


def _folder_names(metadata: Any) -> tuple[str, ...]:
    path = str(metadata.dataset["path"])
    return tuple(dict.fromkeys([metadata.name, path.rpartition("/")[2], path]))


def _declared(folder: Path) -> list[str] | None:
    """Returns the parts that the data set's card names; None where no card names any."""
    card = folder / "README.md"
    if not card.is_file():
        return None
    from huggingface_hub import metadata_load

    configs = (metadata_load(card) or {}).get("configs")
    return [one["config_name"] for one in configs] if configs else None


def _laid_out(folder: Path, task: Any, target: Path, *, ranked: bool) -> dict[str, Files]:
    """Lays a task's files out as on the hub; returns them by part and split."""
    parts: dict[str, Files] = {}
    target.mkdir(parents=True)
    for subset, place in _subset_folders(folder, task):
        if ranked:
            parts.update(_ranked_parts(place, subset, target))
        elif splits := _splits(place):
            parts[subset] = splits
    entries = [
        {
            "config_name": name,
            "data_files": [
                {"split": split, "path": [_linked(path, target, name) for path in paths]}
                for split, paths in splits.items()
            ],
        }
        for name, splits in parts.items()
    ]
    # JSON is YAML, in which the heads of cards are written.
    card = f"---\nconfigs: {json.dumps(entries)}\n---\n"
    (target / "README.md").write_text(card, encoding="utf-8")
    return parts


def _linked(path: Path, target: Path, part: str) -> str:
    """Returns the place of a file within the target; links it there if it is not in it."""
    if not path.is_relative_to(target):
        link = target / part / path.name
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(path.resolve())
        path = link
    return path.relative_to(target).as_posix()


def _subset_folders(folder: Path, task: Any) -> Iterator[tuple[str, Path]]:
    """Yields each subset with its folder: one of its name, or for a lone one the task's own."""
    subsets = list(task.hf_subsets)
    for subset in subsets:
        if (folder / subset).is_dir():
            yield subset, folder / subset
        elif subset == DEFAULT or len(subsets) == 1:
            yield subset, folder


def _splits(folder: Path) -> Files:
    """Returns the files of each split, by the split's name; also in ``data/``, as on the hub."""
    found: Files = {}
    for place in (folder, folder / "data"):
        for path in sorted(place.glob("*")):
            ending = next((one for one in ENDINGS if path.name.endswith(one)), None)
            if ending is not None and path.is_file():
                name = _SHARD.sub("", path.name.removesuffix(ending))
                found.setdefault(name, []).append(path)
    return found


def _ranked_parts(folder: Path, subset: str, target: Path) -> dict[str, Files]:
    """Returns queries, corpus and judgements, each with its splits, by the hub's names."""
    top = _splits(folder)
    if "corpus" not in top:
        return _rerankings(top, subset, target)
    prefix = "" if subset == DEFAULT else f"{subset}-"
    found: dict[str, Files] = {}
    for part in _PARTS:
        splits = {part: top[part]} if part in top else _splits(folder / part)
        for split, paths in splits.items():
            if part == "qrels" and paths[0].suffix in _TABLES:
                # As BEIR has them; datasets reads no folder of several formats.
                out = _written(target / f"{prefix}{part}", split, _judgements(paths[0]))
                splits[split] = [out]
        if splits:
            found[f"{prefix}{part}"] = splits
    return found


def _judgements(path: Path) -> list[dict[str, Any]]:
    """Returns the lines of a table of judgements, which has a head.

    Raises:
        ValueError: a column is missing, or a score is no integer; names the file.
    """
    with path.open(encoding="utf-8", newline="") as file:
        try:
            return [
                {
                    "query-id": row["query-id"],
                    "corpus-id": row["corpus-id"],
                    "score": int(row["score"]),
                }
                for row in csv.DictReader(file, delimiter=_TABLES[path.suffix])
            ]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path}: must have the columns query-id, corpus-id and score ({error})"
            ) from error


def _written(folder: Path, split: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Returns the file of a split, in which rows now stand, one a line."""
    path = folder / f"{split}.jsonl"
    folder.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _rerankings(splits: Files, subset: str, target: Path) -> dict[str, Files]:
    """Returns the parts of lines with a query, its positives and its negatives.

    As MTEB's own conversion (``AbsTaskReranking``): queries without either are left out, texts keep
    their order, and a query is ranked against its own texts alone.

    Raises:
        ValueError: lines that lack a column; names the file.
    """
    prefix = "" if subset == DEFAULT else f"{subset}-"
    found: dict[str, Files] = {}
    for split, paths in splits.items():
        rows: dict[str, list[dict[str, Any]]] = {part: [] for part in _PARTS}
        lines = [(path, line) for path in paths for line in _rows(path)]
        for number, (path, line) in enumerate(lines):
            if not line.keys() >= RERANKING_COLUMNS:
                raise ValueError(
                    f"{path}: row {number} has {', '.join(line)}; give "
                    f"{', '.join(sorted(RERANKING_COLUMNS))}, or corpus, queries and qrels"
                )
            _add_reranking(rows, f"{split}_query{number}", line)
        for part, content in rows.items():
            out = _written(target / f"{prefix}{part}", split, content)
            found.setdefault(f"{prefix}{part}", {})[split] = [out]
    return found


def _add_reranking(
    rows: dict[str, list[dict[str, Any]]], query: str, line: Mapping[str, Any]
) -> None:
    """Adds one query with its texts; named so that equal scores are ranked as by MTEB."""
    if not (line["positive"] and line["negative"]):
        return
    rows["queries"].append({"_id": query, "text": line["query"]})
    names = []
    for kind, column, grade in (("apositive", "positive", 1), ("negative", "negative", 0)):
        for place, text in enumerate(line[column]):
            name = f"{kind}_{query}_{place:05}"
            names.append(name)
            rows["corpus"].append({"_id": name, "title": "", "text": text})
            rows["qrels"].append({"query-id": query, "corpus-id": name, "score": grade})
    rows["top_ranked"].append({"query-id": query, "corpus-ids": names})


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        found: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        return found
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        try:
            return [json.loads(line) for line in file if line.strip()]
        except ValueError as error:
            raise ValueError(f"{path}: not one JSON object a line ({error})") from error
