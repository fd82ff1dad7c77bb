"""What a result carries of its data's origin: from the manifest by its file to the table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from models.evaluation.evaluate_task import remarks_of
from models.evaluation.task_result import (
    EncoderIdentity,
    TaskResult,
    result_path,
    write_result,
)
from models.evaluation.tasks.layout import DATASETS
from models.report.evaluation_table import evaluation_table
from pipeline.downloads.evaluation_data import (
    DataManifest,
    FileEntry,
    datasets_named,
    examine_folder,
    write_manifest,
)
from pipeline.downloads.evaluation_data.manifest import DatasetEntry, Proof
from tests.support.evaluation_examples import answers, result, task

OTHER_TOKENS = "tokenised otherwise than SentEval's"
FIRST_USE = "taken on first use, no published sha256"


def entry(proof: Proof = "finished", *, as_senteval: bool | None = True, remark: str = ""):
    return FileEntry("0" * 64, 1, 1, proof, as_senteval, "http://127.0.0.1", remark)


def written(folder: Path, **sets: dict[str, FileEntry]) -> Path:
    datasets = {name: DatasetEntry("present", files=files) for name, files in sets.items()}
    write_manifest(folder, DataManifest(datasets))
    return folder / "manifest.json"


def files_of(dataset: str, file: FileEntry) -> dict[str, FileEntry]:
    return dict.fromkeys(DATASETS[dataset].files.values(), file)


def test_of_what_is_as_published_or_unknown_nothing_is_said(tmp_path: Path) -> None:
    unknown = entry("none", as_senteval=None)
    path = written(tmp_path, MR=files_of("MR", entry()), CR=files_of("CR", unknown))
    assert [remarks_of(path, name) for name in ("MR", "CR", "SST5")] == [(), (), ()]
    assert remarks_of(None, "MR") == ()


@pytest.mark.parametrize(
    ("file", "remarks"),
    [
        (entry("first use", as_senteval=None), (FIRST_USE,)),
        (entry("declared", as_senteval=False, remark=OTHER_TOKENS), (OTHER_TOKENS,)),
        (
            entry("first use", as_senteval=False, remark=OTHER_TOKENS),
            (OTHER_TOKENS, FIRST_USE),
        ),
        (entry("declared", as_senteval=False), ("not SentEval's file byte for byte",)),
    ],
)
def test_a_departure_of_all_files_is_said_once(
    tmp_path: Path, file: FileEntry, remarks: tuple[str, ...]
) -> None:
    assert remarks_of(written(tmp_path, SICK=files_of("SICK", file)), "SICK") == remarks


def test_a_departure_of_some_files_names_them(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    for name, num_lines in (("pos", 300), ("neg", 5331)):
        path = folder / f"downstream/MR/rt-polarity.{name}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"a line\n" * num_lines)
    write_manifest(tmp_path / "note", examine_folder(datasets_named("MR"), folder))
    assert remarks_of(tmp_path / "note/manifest.json", "MR") == (
        "rt-polarity.pos: 300 lines, published 5,331",
        "rt-polarity.neg: as many lines as SentEval's, other bytes",
    )


def test_a_task_that_shares_files_with_a_set_shares_its_remarks(tmp_path: Path) -> None:
    file = entry("first use", as_senteval=None)
    path = written(tmp_path, STS13=files_of("STS13", file))
    (remark,) = remarks_of(path, "STS13-SMT")
    assert remark.endswith(f"STS.gs.OnWN.txt: {FIRST_USE}")
    assert "SMT" not in remark


def remarked(name: str, *remarks: str, encoder: str = "words") -> TaskResult:
    made = result(answers(40, 0.8), task(name), encoder=EncoderIdentity(encoder, encoder))
    return replace(made, data=replace(made.data, remarks=remarks))


def test_the_table_says_each_remark_once_with_its_tasks(tmp_path: Path) -> None:
    for encoder in ("words", "letters"):
        for made in (
            remarked("MR", encoder=encoder),
            remarked("CR", FIRST_USE, encoder=encoder),
            remarked("SST5", OTHER_TOKENS, FIRST_USE, encoder=encoder),
        ):
            write_result(result_path(tmp_path / encoder, made.task), made)
    table = evaluation_table([tmp_path / "words", tmp_path / "letters"])
    assert [line for line in table.splitlines() if "Data of" in line] == [
        f"- Data of CR, SST5: {FIRST_USE}.",
        f"- Data of SST5: {OTHER_TOKENS}.",
    ]
