"""Probing embeddings made by hand, the rows' declarations, and the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.evaluate_probing import execute, load_joined
from models.evaluation.probe import probe, probe_majority
from models.evaluation.probe_config import ProbeConfig
from models.evaluation.probing.build import FORMAT_VERSION
from models.evaluation.probing.data import ProbingData, SplitItems
from models.evaluation.representations.projection import random_projection
from models.evaluation.result_files import read_row
from models.evaluation.rows import (
    MAJORITY_ROW,
    PAIR_ROW,
    declare_rows,
    is_random_row,
    is_trained_row,
    row_job,
)

pytestmark = pytest.mark.usefixtures("one_thread")

NUM_ROWS = 900
NUM_CLASSES = 3


def probing_data(labels: np.ndarray[Any, np.dtype[np.int64]]) -> ProbingData:
    rows = np.arange(NUM_ROWS)
    bounds = {"train": (0, 500), "dev": (500, 600), "test": (600, 900)}
    splits = {s: SplitItems(rows[a:b], labels[a:b]) for s, (a, b) in bounds.items()}
    tasks = {"made": {"classes": ["a", "b", "c"]}}
    summary = {"tasks": tasks, "absent": {}, "format_version": FORMAT_VERSION}
    parts = {"corpus": rows, "altered": rows[:0]}
    return ProbingData(summary, {"made": splits}, parts, units=rows // 5)


def made_labels(seed: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.random.default_rng(seed).integers(0, NUM_CLASSES, NUM_ROWS)


def separable(labels: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, Any]:
    noise = np.random.default_rng(1).normal(size=(NUM_ROWS, 20))
    noise[:, :NUM_CLASSES] += 8 * np.eye(NUM_CLASSES)[labels]
    return noise.astype(np.float32)


def test_separable_embeddings_reach_a_hundred() -> None:
    labels = made_labels()
    result = probe(separable(labels), probing_data(labels))
    assert result.tasks["made"].accuracy.value == pytest.approx(100.0, abs=0.5)
    assert result.average == result.tasks["made"].accuracy
    assert result.width == 20


def test_shuffled_labels_stay_at_chance() -> None:
    result = probe(separable(made_labels()), probing_data(made_labels(seed=9)))
    assert result.tasks["made"].accuracy.value == pytest.approx(100 / NUM_CLASSES, abs=8)
    assert result.tasks["made"].accuracy.low < 100 / NUM_CLASSES < 41


def test_scale_and_shift_of_the_embeddings_do_not_matter() -> None:
    labels = made_labels()
    embeddings = separable(labels) + np.random.default_rng(2).normal(size=(NUM_ROWS, 20)) * 4
    data = probing_data(labels)
    plain = probe(embeddings.astype(np.float32), data)
    moved = probe((embeddings * 1e-3 + 5).astype(np.float32), data)
    assert moved.tasks["made"].correct == plain.tasks["made"].correct


def test_probing_twice_gives_the_same_result_but_for_seconds() -> None:
    labels = made_labels()
    first, second = (probe(separable(labels), probing_data(labels)) for _ in range(2))
    assert first.tasks["made"].correct == second.tasks["made"].correct
    assert first.average == second.average


def test_majority_answers_the_commonest_training_class() -> None:
    labels = np.array([0] * 400 + [1] * 200 + [1] * 210 + [0] * 90)
    result = probe_majority(probing_data(labels))
    assert result.tasks["made"].accuracy.value == pytest.approx(30.0)
    assert result.tasks["made"].regulariser is None


def test_intervals_draw_whole_documents() -> None:
    """Five sentences a document, answered alike, are worth one: the interval is √5 as wide."""
    labels = np.repeat(np.random.default_rng(0).integers(0, 2, NUM_ROWS // 5), 5)
    by_document = probe_majority(probing_data(labels)).tasks["made"]
    alone = replace(probing_data(labels), units=np.arange(NUM_ROWS))
    by_sentence = probe_majority(alone).tasks["made"]
    assert len(set(by_document.clusters)) == 60
    widths = [t.accuracy.high - t.accuracy.low for t in (by_document, by_sentence)]
    assert widths[0] / widths[1] == pytest.approx(5**0.5, rel=0.1)


def test_with_few_documents_sentences_are_drawn() -> None:
    data = replace(probing_data(made_labels()), units=np.arange(NUM_ROWS) // 100)
    assert len(set(probe_majority(data).tasks["made"].clusters)) == 300


def test_a_fit_cut_short_is_recorded_as_not_converged() -> None:
    labels = made_labels()
    full, short = (
        probe(separable(labels), probing_data(labels), ProbeConfig(max_steps=n)).tasks["made"]
        for n in (500, 2)
    )
    assert full.converged and full.gap is not None
    assert not short.converged and short.gap is not None
    assert short.gap > full.gap


def test_a_class_missing_in_train_is_no_error() -> None:
    labels = made_labels()
    labels[:500] = labels[:500] % 2
    result = probe(separable(labels), probing_data(labels))
    assert result.tasks["made"].accuracy.value > 50


def test_embeddings_of_other_sentences_are_refused() -> None:
    labels = made_labels()
    with pytest.raises(ValueError, match=r"must be \[900, d\].*got \[899, 20\]; embed these"):
        probe(separable(labels)[1:], probing_data(labels))


def test_an_embedding_that_is_not_finite_is_refused_with_its_row() -> None:
    embeddings = separable(made_labels())
    embeddings[7] = np.nan
    with pytest.raises(ValueError, match="1 embeddings in use are not finite, the first in row 7"):
        probe(embeddings, probing_data(made_labels()))


def test_unknown_probe_settings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown probe settings \['regulariser'\]"):
        ProbeConfig.from_dict({"regulariser": 1.0})
    with pytest.raises(ValueError, match="regularisers must be positive"):
        ProbeConfig.from_dict({"regularisers": []})
    with pytest.raises(ValueError, match="tolerance must be a finite number, got 'small'"):
        ProbeConfig.from_dict({"tolerance": "small"})
    with pytest.raises(ValueError, match="max_steps must be at least 1, got 0"):
        ProbeConfig.from_dict({"max_steps": 0})


def test_protocol_is_pinned() -> None:
    config = ProbeConfig()
    assert config.regularisers == (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    assert (config.tolerance, config.num_resamples, config.bootstrap_seed) == (1e-6, 2000, 0)
    assert ProbeConfig.from_dict(config.to_dict()) == config


def test_rows_are_those_that_must_stand_beside_a_trained_pair() -> None:
    rows = {row.name: row for row in declare_rows(("DEP", "CONST"), embedding_width=40)}
    assert list(rows) == [
        "pair", "view_0-DEP", "view_1-CONST", "random_weights_0", "random_weights_1",
        "random_weights_2", "bag_of_words", "bag_of_words_projected", "pair_and_bag_of_words",
        "random_and_bag_of_words", "majority_class",
    ]  # fmt: skip
    assert len(rows["pair_and_bag_of_words"].embeddings) == 3
    assert rows["bag_of_words_projected"].project_to_width == 40
    assert rows[MAJORITY_ROW].embeddings == ()


def test_equal_views_are_told_apart_by_their_place() -> None:
    rows = {row.name: row for row in declare_rows(("CONST", "CONST"), embedding_width=40)}
    assert rows["view_0-CONST"].description == "first view (CONST) alone, trained"
    assert rows["view_1-CONST"].description == "second view (CONST) alone, trained"


def test_several_seeds_of_training_are_rows_of_their_own() -> None:
    rows = {
        row.name: row for row in declare_rows(("DEP", "CONST"), (4,), (7, 8, 9), embedding_width=40)
    }
    assert list(rows)[:3] == ["pair", "pair_seed_8", "pair_seed_9"]
    sets = [rows[name].embeddings[0].embedding_set for name in list(rows)[:3]]
    assert sets == ["trained", "trained-8", "trained-9"]
    joined = [f.embedding_set for f in rows["random_and_bag_of_words"].embeddings]
    assert joined == ["random-4", "random-4", "bag_of_words"]
    assert [name for name in rows if is_trained_row(name)] == list(rows)[:3]
    assert [name for name in rows if is_random_row(name)] == ["random_weights_4"]


def test_no_baseline_needs_the_training() -> None:
    rows = declare_rows(("DEP", "CONST"), embedding_width=40)
    for row in rows:
        if row.name.startswith(("random", "bag_of_words")):
            assert "trained" not in {file.embedding_set for file in row.embeddings}, row.name
    projected = next(row for row in rows if row.name == "bag_of_words_projected")
    assert row_job(projected, {"bag_of_words": Path("b")}, Path("o"))["project_to_width"] == 40


@pytest.mark.parametrize("seeds", [((0,), ()), ((0, 0), (1,)), ((0,), (1, 1))])
def test_seeds_that_repeat_or_are_missing_are_refused(
    seeds: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    with pytest.raises(ValueError, match="seeds must differ and one of training be given"):
        declare_rows(("DEP", "CONST"), *seeds, embedding_width=40)


def test_a_pair_of_one_view_twice_has_two_files() -> None:
    pair = declare_rows(("SEQ", "SEQ"), embedding_width=40)[0]
    assert [file.name for file in pair.embeddings] == ["0-SEQ", "1-SEQ"]


def test_a_row_job_names_the_files_and_what_is_missing(tmp_path: Path) -> None:
    row = next(
        r
        for r in declare_rows(("DEP", "CONST"), embedding_width=40)
        if r.name == "pair_and_bag_of_words"
    )
    folders = {"trained": tmp_path / "t", "bag_of_words": tmp_path / "b"}
    job = row_job(row, folders, tmp_path / "row.json")
    assert job["embeddings"] == [
        str(tmp_path / "t" / "0-DEP.npy"),
        str(tmp_path / "t" / "1-CONST.npy"),
        str(tmp_path / "b" / "0-BOW.npy"),
    ]
    with pytest.raises(ValueError, match=r"needs the embedding sets \['trained'\]"):
        row_job(row, {"bag_of_words": tmp_path}, tmp_path / "row.json")


def test_random_projection_is_seeded_and_keeps_to_the_glorot_bound() -> None:
    projected = random_projection(np.eye(6, dtype=np.float32), 10, seed=3)
    assert projected.shape == (6, 10)
    assert np.abs(projected).max() <= (6 / 16) ** 0.5
    assert (projected == random_projection(np.eye(6, dtype=np.float32), 10, seed=3)).all()
    assert (projected != random_projection(np.eye(6, dtype=np.float32), 10, seed=4)).any()


def test_files_of_different_lengths_cannot_be_joined(tmp_path: Path) -> None:
    for name, length in (("a", 3), ("b", 4)):
        np.save(tmp_path / f"{name}.npy", np.zeros((length, 2), dtype=np.float32))
    with pytest.raises(ValueError, match=r"b\.npy: embeddings of shape \[4, 2\] cannot be joined"):
        load_joined([str(tmp_path / "a.npy"), str(tmp_path / "b.npy")])


def test_a_job_writes_one_result_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labels = made_labels()
    monkeypatch.setattr("models.evaluate_probing.read_probing", lambda _: probing_data(labels))
    np.save(tmp_path / "0-A.npy", separable(labels))
    files = [str(tmp_path / "0-A.npy")]
    rows = [
        {"name": PAIR_ROW, "embeddings": files, "out": str(tmp_path / "pair.json")},
        {
            "name": "projected",
            "embeddings": files,
            "project_to_width": 40,
            "out": str(tmp_path / "projected.json"),
        },
        {"name": MAJORITY_ROW, "embeddings": [], "out": str(tmp_path / "majority.json")},
    ]
    told: list[float] = []
    job = {"probing": str(tmp_path), "rows": rows, "config": {"num_resamples": 100}}
    execute(job, lambda fraction, _: told.append(fraction))
    pair = read_row(tmp_path / "pair.json")
    assert pair.result.tasks["made"].accuracy.value > 99
    assert len(pair.result.tasks["made"].correct) == 300
    assert pair.config["embeddings"] == ["0-A.npy"]
    assert read_row(tmp_path / "projected.json").result.width == 40
    assert read_row(tmp_path / "majority.json").result.width == 0
    assert told == sorted(told) and told[-1] == 1.0


def test_a_job_that_lacks_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the job lacks \['rows'\]"):
        execute({"probing": str(tmp_path)}, lambda *_: None)
    with pytest.raises(ValueError, match=r"row 'x' of the job lacks \['embeddings', 'out'\]"):
        execute({"probing": str(tmp_path), "rows": [{"name": "x"}]}, lambda *_: None)


def test_a_missing_or_foreign_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such result"):
        read_row(tmp_path / "none.json")
    (tmp_path / "other.json").write_text(json.dumps({"format_version": 99}))
    with pytest.raises(ValueError, match="not a probing result of version 3"):
        read_row(tmp_path / "other.json")
