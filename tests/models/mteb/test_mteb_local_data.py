"""Where MTEB's data are looked for: the hub's layout, and simpler ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("mteb", reason="mteb is not installed")

from models.mteb.library import offline
from models.mteb.tasks import load_mteb_task
from tests.support import mteb_data


def loaded(name: str, folder: Path) -> Any:
    with offline() as temporary:
        return load_mteb_task(name, folder, temporary).task


def write_parquet(path: Path, rows: mteb_data.Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)


def test_a_download_of_the_hub_is_read_by_its_card(tmp_path: Path) -> None:
    folder = tmp_path / "sts17-crosslingual-sts"  # what the data set is called there
    write_parquet(folder / "files" / "one.parquet", mteb_data.graded(5, 0))
    configs = [
        {"config_name": "en-en", "data_files": [{"split": "test", "path": "files/one.parquet"}]}
    ]
    (folder / "README.md").write_text(f"---\nconfigs: {json.dumps(configs)}\n---\n# STS17\n")
    task = loaded("STS17", tmp_path)
    assert task.hf_subsets == ["en-en"]
    assert task.dataset["en-en"]["test"]["score"][:] == [
        row["score"] for row in mteb_data.graded(5, 0)
    ]


def test_shards_of_a_split_are_joined(tmp_path: Path) -> None:
    rows = mteb_data.graded(6, 0)
    for number in range(2):
        name = f"test-{number:05}-of-00002.parquet"
        write_parquet(tmp_path / "STSBenchmark" / "data" / name, rows[3 * number : 3 * number + 3])
    task = loaded("STSBenchmark", tmp_path)
    assert [dict(row) for row in task.dataset["test"]] == rows


def test_only_the_splits_and_subsets_that_are_there_are_scored(tmp_path: Path) -> None:
    name = "AmazonCounterfactualClassification"
    for split in ("train", "test"):
        mteb_data.write_rows(tmp_path / name / "en" / f"{split}.jsonl", mteb_data.labelled(9, 0))
    task = loaded(name, tmp_path)
    assert (task.hf_subsets, list(task.eval_splits)) == (["en"], ["test"])


def test_lines_of_a_query_and_its_texts_are_ranked_each_by_itself(tmp_path: Path) -> None:
    mteb_data.write_rows(
        tmp_path / "AskUbuntuDupQuestions" / "test.jsonl", mteb_data.rerankings(4, 0)
    )
    data = loaded("AskUbuntuDupQuestions", tmp_path).dataset["default"]["test"]
    assert len(data["queries"]) == 3, "that without a positive is left out"
    for query, names in data["top_ranked"].items():
        assert list(data["relevant_docs"][query].values()).count(1) == 2
        assert len(names) == 7 and all(query in name for name in names)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"STSBenchmark/dev.jsonl": "[]"}, "looked for the subsets default and the splits test"),
        (
            {"AskUbuntuDupQuestions/test.jsonl": '{"query": "a"}'},
            "row 0 has query; give negative, positive, query",
        ),
        (
            {
                "SciFact/corpus.jsonl": '{"_id": "a", "text": "b"}',
                "SciFact/queries.jsonl": '{"_id": "a", "text": "b"}',
                "SciFact/qrels/test.tsv": "query\tdocument\n1\t2\n",
            },
            "must have the columns query-id, corpus-id and score",
        ),
        ({"STSBenchmark/test.jsonl": "no json"}, "MTEB cannot read its data of STSBenchmark"),
    ],
)
def test_data_that_are_not_as_they_must_be_are_told(
    tmp_path: Path, files: dict[str, str], message: str
) -> None:
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content + "\n")
    name = next(iter(files)).split("/")[0]
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        loaded(name, tmp_path)
