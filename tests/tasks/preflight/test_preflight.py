"""What is said before a run begins."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.config.training_config import TrainingConfig
from pipeline.base.json_files import write_sealed_json
from pipeline.shards.manifests import (
    MANIFEST_NAME,
    read_dataset_manifest,
    write_dataset_manifest,
)
from tasks import EmbedCorpus, ParseDependencies, RunAll, SplitSentences, TrainEncoders
from tasks.experiments.paper_tables import PaperTables
from tasks.preflight import machine
from tasks.preflight.checks import preflight
from tasks.preflight.findings import Findings, found_by
from tests.support.luigi_builds import build
from tests.support.small_stages import Grain
from tests.support.stories import write_stories
from treeviews.command import main


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Some four hundred sentences: enough to be split, and too few for most else."""
    return write_stories(tmp_path / "text", num_documents=4, num_sentences=100)


@pytest.fixture
def findings_of(tmp_path: Path, text: Path) -> Callable[..., Findings]:
    def ask(**parameters: Any) -> Findings:
        given = {"source": "files", "paths": str(text), "work_folder": tmp_path / "work"}
        return preflight([RunAll(**(given | parameters))])

    return ask


@pytest.mark.slow
@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"paths": "nowhere"}, "nowhere: no such file"),
        ({"changes": {"hiden_size": 3}}, "did you mean hidden_size?"),
        ({"changes": {"epochs": "many"}}, "epochs"),
        ({"views": "DEPP"}, "did you mean DEP?"),
        ({"preset": "laptob"}, "did you mean laptop?"),
        ({"views": "BOW"}, "needs two views"),
        ({"views": "BOW,BOW"}, "nothing to train"),
        ({"probing_changes": {"test_sise": 3}}, "test_sise"),
        ({"protocol_changes": {"folds": 3}}, "folds"),
        ({"cleaning_changes": {"x": 3}}, "x"),
        ({"vectors": Path("nowhere")}, "nowhere: not a file"),
        ({"vector_changes": {"size": 30}}, "give --vectors corpus"),
        ({"dependency_parser": Path("nowhere")}, "nowhere: no such folder or file"),
        ({"senteval_data": "."}, ".: holds none of"),
        ({"senteval_data": "nowhere"}, "nowhere: no such folder"),
        ({"work_folder": Path("/proc/nowhere")}, "/proc: not writable"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
        ({"threads": -1}, "threads must be 0 or more"),
        ({"limit": 20}, "--limit 20: too few for any probing task"),
        ({"limit": 200}, "--limit 200: too few for any probing task"),
    ],
)
def test_what_cannot_be_is_refused(
    findings_of: Callable[..., Findings], parameters: dict[str, Any], told: str
) -> None:
    assert any(told in sentence for sentence in findings_of(**parameters).refusals)


def test_a_run_that_can_be_is_not_refused(findings_of: Callable[..., Findings]) -> None:
    assert findings_of().refusals == []


def test_views_that_suit_the_changes_alone_are_not_refused(
    findings_of: Callable[..., Findings],
) -> None:
    assert findings_of(views="SEQ", changes={"objective": "generative"}).refusals == []


def test_all_that_is_wrong_is_told_together_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["--source", "files", "--paths", "nowhere", "--views", "DEPP", "--vectors", "none"]
    assert main(["run", *asked]) == 2
    first, *others = capsys.readouterr().err.splitlines()
    assert first == "error: 3 things are in the way of this run:"
    assert [line[:2] for line in others] == ["- "] * 3
    assert list(tmp_path.iterdir()) == []


def test_a_program_that_builds_a_task_is_told_by_the_result(tmp_path: Path) -> None:
    task = SplitSentences(source="files", paths=str(tmp_path / "none"), work_folder=tmp_path)
    assert not build(task)


def test_a_small_text_is_no_certain_failure(findings_of: Callable[..., Findings]) -> None:
    warnings = " ".join(findings_of().warnings)
    assert "the first probing tasks need 388 held-out sentences or so" in warnings
    assert "the run may fail" in warnings
    assert "train next to nothing" in warnings
    smaller = {"min_train": 9, "min_dev": 3, "min_test": 3}
    assert "probing tasks need" not in " ".join(findings_of(probing_changes=smaller).warnings)


def test_one_document_cannot_be_held_out_in_part(
    findings_of: Callable[..., Findings], text: Path
) -> None:
    one = str(next(text.iterdir()))
    (refusal,) = findings_of(paths=one).refusals
    assert "--held-out-unit block" in refusal
    in_blocks = findings_of(paths=one, held_out_unit="block").refusals
    assert not any("one document" in sentence for sentence in in_blocks)


def test_a_training_on_nothing_is_refused(tmp_path: Path, text: Path) -> None:
    task = TrainEncoders(source="files", paths=str(text), work_folder=tmp_path, limit=1)
    (refusal,) = preflight([task]).refusals
    assert "none is left to train on" in refusal


def test_sentences_that_are_cut_are_counted(
    tmp_path: Path, text: Path, findings_of: Callable[..., Findings]
) -> None:
    sentences = SplitSentences(source="files", paths=str(text), work_folder=tmp_path / "work")
    sentences.folder.mkdir(parents=True)
    write_dataset_manifest(sentences.folder, "sentences", config={})
    manifest = read_dataset_manifest(sentences.folder)
    for rows, told in ((1000, "the text has 1,000 sentences: the first"), (3000, "")):
        counted = replace(manifest, rows=rows).to_dict()
        write_sealed_json(sentences.folder / MANIFEST_NAME, counted)
        of_probing = [one for one in findings_of().warnings if "probing tasks" in one]
        assert bool(of_probing) == bool(told)
        assert all(told in one for one in of_probing)


def test_a_stage_that_trains_nothing_is_not_told_of_training(tmp_path: Path, text: Path) -> None:
    task = SplitSentences(source="files", paths=str(text), work_folder=tmp_path)
    assert preflight([task]) == Findings()


def test_what_is_not_used_need_not_be_there(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"source": "files", "paths": str(text), "work_folder": tmp_path, "views": "SEQ,LIN"}
    bundled = TrainEncoders.dependency_parser
    monkeypatch.setattr(bundled, "_default", tmp_path / "not-shipped")
    assert preflight([TrainEncoders(**given, held_out_fraction=0.0)]).refusals == []
    (refused,) = preflight([TrainEncoders(**given | {"views": "SEQ,DEP"})]).refusals
    assert "not-shipped: no such folder" in refused


def test_a_missing_gpu_is_told(
    findings_of: Callable[..., Findings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "num_gpus", lambda: 1)
    assert findings_of(device="cuda").refusals == []
    assert "has 1 CUDA device " in findings_of(device="cuda:1").refusals[0]
    monkeypatch.setattr(machine, "num_gpus", lambda: 0)
    assert "has no CUDA devices" in findings_of(device="cuda").refusals[0]
    monkeypatch.setattr(machine, "num_gpus", lambda: None)
    assert findings_of(device="cuda").refusals == []


def test_hidden_gpus_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert machine.num_gpus() == 0


@pytest.mark.slow
def test_a_width_that_no_memory_holds_is_refused(
    findings_of: Callable[..., Findings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "memory_bytes", lambda: (4 << 30, 1 << 30))
    assert findings_of(changes={"hidden_size": 600}).refusals == []
    (warned,) = [
        one for one in findings_of(changes={"hidden_size": 3000}).warnings if "memory" in one
    ]
    assert "1.0 GiB is free" in warned
    (refused,) = findings_of(changes={"hidden_size": 9000}).refusals
    assert "this machine has 4.0 GiB" in refused


def test_weights_are_counted_from_below() -> None:
    config = TrainingConfig(views=("SEQ", "CONST"), hidden_size=10)
    assert machine.least_weights(config, 4) == 3 * 10 * 14 + 5 * 10 * 10


def test_a_full_disk_is_told(
    findings_of: Callable[..., Findings], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Free:
        free = 10_000

    monkeypatch.setattr("shutil.disk_usage", lambda path: Free)
    found = findings_of()
    assert any("10 KB free" in sentence for sentence in found.warnings)
    Free.free = 10
    assert any("10 bytes free" in sentence for sentence in findings_of().refusals)


def test_folders_that_are_closed_are_told(
    findings_of: Callable[..., Findings], text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def may(path: Any, mode: int) -> bool:
        return mode == os.R_OK and Path(path).parent != text

    monkeypatch.setattr(os, "access", may)
    told = " ".join(findings_of().refusals)
    assert "not writable, and the work folder" in told
    assert "no file of the text may be read" in told


def test_a_file_in_the_place_of_the_work_folder_is_told(
    findings_of: Callable[..., Findings], text: Path
) -> None:
    folder = next(text.iterdir()) / "work"
    assert "a file, so no work folder" in findings_of(work_folder=folder).refusals[0]


@pytest.mark.parametrize(
    ("parameters", "library"),
    [({"engine": "ray"}, "ray"), ({"source": "hf", "paths": "", "dataset": "a/b"}, "datasets")],
)
def test_a_missing_library_is_told(
    findings_of: Callable[..., Findings],
    parameters: dict[str, Any],
    library: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = machine.find_spec
    monkeypatch.setattr(machine, "find_spec", lambda name: None if name == library else found(name))
    assert any("pip install" in sentence for sentence in findings_of(**parameters).refusals)


def test_a_check_that_fails_itself_holds_up_no_run(tmp_path: Path) -> None:
    def fail(root: Any, findings: Findings) -> None:
        raise RuntimeError("the file system does not answer")

    task = TrainEncoders(work_folder=tmp_path)
    assert found_by([fail], [task]) == Findings()


def test_what_chooses_presets_itself_is_not_taken_for_the_default_one(tmp_path: Path) -> None:
    """A change that the default preset refuses may be right for the presets of a table."""
    task = PaperTables(work_folder=tmp_path, changes={"bidirectional": True})
    assert preflight([task]).refusals == []


def test_what_is_done_needs_no_machine_and_no_place(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Grain(work_folder=tmp_path / "work")
    begun = Grain(work_folder=tmp_path / "work", kind="oats")
    assert build(done)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert preflight([done]) == Findings()
    assert "not writable" in preflight([begun]).refusals[0]
    assert "not writable" in preflight([done, begun]).refusals[0]


def test_what_cannot_be_asked_whether_it_is_done_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(task: object) -> bool:
        raise ValueError("it is damaged")

    monkeypatch.setattr(Grain, "complete", fail)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "not writable" in preflight([Grain(work_folder=tmp_path)]).refusals[0]


def test_a_gpu_is_missed_by_what_computes_on_one_here(
    tmp_path: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "num_gpus", lambda: 0)
    monkeypatch.setattr(machine, "find_spec", lambda name: object())
    given = {"source": "files", "paths": str(text), "work_folder": tmp_path, "device": "cuda"}
    on_ray = given | {"engine": "ray", "gpus_per_job": 0.25}
    assert preflight([SplitSentences(**given)]).refusals == []
    for elsewhere in (ParseDependencies(**on_ray), EmbedCorpus(**on_ray)):
        assert preflight([elsewhere]).refusals == []
    for here in (
        ParseDependencies(**given),
        EmbedCorpus(**given),
        EmbedCorpus(**on_ray, encoder="trained"),  # which is trained here, before the embedding
    ):
        assert "has no CUDA devices" in preflight([here]).refusals[0]
