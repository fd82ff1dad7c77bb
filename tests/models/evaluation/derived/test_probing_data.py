"""Probing data built from a corpus made by a grammar: labels, splits, balance, absence."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from models.config.held_out import HoldOut
from models.evaluation.build_probing import build_probing, read_summary
from models.evaluation.probing_labels import pearson, quantile_bins
from models.evaluation.probing_sentences import SCARCE_SHARES, SPLITS, ProbingConfig
from models.evaluation.probing_splits import assign_units, class_quotas, split_shares
from models.evaluation.probing_tasks import TASKS
from tests.support.probing_examples import (
    CONFIG,
    Built,
    built,
    corpus_rows,
    read_built,
    write_rows,
)

PASSAGES = {task.name for task in TASKS if task.any_length}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("probing")
    built(path)
    return path


@pytest.fixture(scope="module")
def data(folder: Path) -> Built:
    return read_built(folder / "probing")


def test_all_tasks_are_there_in_declared_order(data: Built) -> None:
    assert data.summary["absent"] == {}
    assert list(data.tasks) == [task.name for task in TASKS]
    assert list(data.summary["tasks"]) == list(data.tasks)


def test_sentences_are_held_out_ones_in_dataset_order(data: Built) -> None:
    documents = [row["document_id"] for row in corpus_rows()]
    rows = data.used_rows()
    assert rows == sorted(rows)
    assert all(HoldOut(0.5).takes(documents[row]) for row in rows)
    parts = [part for items in data.tasks.values() for part in items.values()]
    assert set[int]().union(*(part.all_rows for part in parts)) == set(rows)
    assert all(data.units[row] == documents[row] for row in rows)


def test_labels_are_those_of_the_sentences(data: Built) -> None:
    sentences = corpus_rows()
    tags = {"past": "VBD", "present": "VBP"}
    classes = data.summary["tasks"]["tense"]["classes"]
    for items in data.tasks["tense"].values():
        for row, label in zip(items.rows, items.labels, strict=True):
            assert tags[classes[label]] in sentences[row]["tags"]  # type: ignore[operator]


def test_length_bins_hold_the_lengths_they_name(data: Built) -> None:
    sentences = corpus_rows()
    classes = data.summary["tasks"]["sentence_length"]["classes"]
    for items in data.tasks["sentence_length"].values():
        for row, label in zip(items.rows, items.labels, strict=True):
            low, high = map(int, classes[label].split("-"))
            assert low <= len(sentences[row]["tokens"]) <= high  # type: ignore[arg-type]


def test_word_content_sentences_hold_exactly_one_of_the_words(data: Built) -> None:
    sentences = corpus_rows()
    classes = data.summary["tasks"]["word_content"]["classes"]
    assert 4 <= len(classes) <= CONFIG.num_words
    for items in data.tasks["word_content"].values():
        for row, label in zip(items.rows, items.labels, strict=True):
            assert set(sentences[row]["tokens"]) & set(classes) == {  # type: ignore[call-overload]
                classes[label]
            }


def test_no_sentence_is_in_two_splits_and_none_twice(data: Built) -> None:
    for name in data.tasks.keys() - PASSAGES:
        rows = [row for split in SPLITS for row in data.tasks[name][split].rows]
        assert len(rows) == len(set(rows))


def test_documents_do_not_cross_splits_in_tasks_split_by_document(data: Built) -> None:
    for name in data.tasks:
        if data.summary["tasks"][name]["split_by"] == "document":
            train, dev, test = data.units_of(name)
            assert train and not train & dev and not train & test and not dev & test


def test_target_nouns_do_not_cross_splits_in_the_number_tasks(data: Built) -> None:
    sentences = corpus_rows()
    for name, relation in (("subject_number", "nsubj"), ("object_number", "obj")):
        words = []
        for split in SPLITS:
            chosen = [sentences[row] for row in data.tasks[name][split].rows]
            words.append({s["tokens"][s["deprels"].index(relation)] for s in chosen})  # type: ignore[attr-defined,index]
        assert words[0] and not words[0] & words[1]
        assert not words[0] & words[2] and not words[1] & words[2]


def test_two_way_tasks_are_balanced_and_chance_is_that_of_the_commonest_training_class(
    data: Built,
) -> None:
    for name, task in data.summary["tasks"].items():
        commonest = np.bincount(data.tasks[name]["train"].labels).argmax()
        labels = data.tasks[name]["test"].labels
        share = (labels == commonest).mean()
        assert task["chance"] == pytest.approx(100 * share)
        if task["balance"] == "equal":
            an_item = 100 / len(labels)  # where classes do not divide them evenly
            assert task["chance"] == pytest.approx(100 / len(task["classes"]), abs=max(1, an_item))


def test_building_twice_gives_the_same_bytes_and_another_seed_gives_others(
    folder: Path, tmp_path: Path
) -> None:
    rows = corpus_rows()
    corpus = write_rows(tmp_path / "corpus", rows)
    for name, config in (("same", CONFIG), ("other", replace(CONFIG, seed=1))):
        build_probing(corpus, tmp_path / name, config)
    built_first, same, other = (
        {path.name: path.read_bytes() for path in sorted((place / "senteval/probing").iterdir())}
        for place in (folder / "probing", tmp_path / "same", tmp_path / "other")
    )
    assert same == built_first and len(same) == len(TASKS) + 2
    assert other["past_present.txt"] != same["past_present.txt"]


def test_sentences_without_parse_are_used_by_no_task_and_counted(tmp_path: Path) -> None:
    rows = corpus_rows()
    numbers = [i for i, r in enumerate(rows) if HoldOut(0.5).takes(r["document_id"])]
    missing = numbers[5:25]
    corpus = write_rows(tmp_path / "corpus", rows, without_parse=missing)
    summary = build_probing(corpus, tmp_path / "probing", CONFIG)
    data = read_built(tmp_path / "probing")
    assert summary["excluded"]["no_parse"] == 20
    assert not set(data.used_rows()) & set(missing)


def test_duplicate_texts_are_counted_and_used_once(tmp_path: Path) -> None:
    rows = corpus_rows()
    for row in rows[len(rows) // 2 :]:
        row.update(rows[0], document_id=row["document_id"], sentence_index=row["sentence_index"])
    corpus = write_rows(tmp_path / "corpus", rows)
    summary = build_probing(corpus, tmp_path / "probing", CONFIG)
    held_out_copies = sum(HoldOut(0.5).takes(row["document_id"]) for row in rows[len(rows) // 2 :])
    assert summary["excluded"]["duplicate_text"] >= held_out_copies - 1


def test_a_task_with_too_little_data_is_absent_with_a_reason(tmp_path: Path) -> None:
    rows = corpus_rows()
    for row in rows:
        row["tags"] = ["VBP" if tag == "VBD" else tag for tag in row["tags"]]
    corpus = write_rows(tmp_path / "corpus", rows)
    summary = build_probing(corpus, tmp_path / "probing", CONFIG)
    assert "tense" not in summary["tasks"]
    assert summary["absent"]["tense"].startswith("fewer than two classes have 4 training items")
    assert " past" not in summary["absent"]["tense"]
    assert re.search(r"\(training items found: [0-9]+ present\)$", summary["absent"]["tense"])
    assert "tense" not in read_built(tmp_path / "probing").tasks


def test_too_little_text_for_any_task_is_refused_with_remedies(tmp_path: Path) -> None:
    rows = corpus_rows(12)
    corpus = write_rows(tmp_path / "corpus", rows)
    config = replace(CONFIG, min_train=1000)
    with pytest.raises(ValueError, match="too few for any of the 8 probing tasks") as raised:
        build_probing(corpus, tmp_path / "probing", config)
    message = str(raised.value)
    for part in (
        "usable held-out sentences",
        "--held-out-fraction",
        "--held-out-unit block",
        "--probing-changes",
    ):
        assert part in message
    assert not (tmp_path / "probing" / "probing.json").exists()


def test_a_single_document_is_split_by_sentence(tmp_path: Path) -> None:
    config = replace(CONFIG, held_out_fraction=1.0)
    rows = corpus_rows(1, sentences=800)
    corpus = write_rows(tmp_path / "corpus", rows)
    summary = build_probing(corpus, tmp_path / "probing", config)
    for task in summary["tasks"].values():
        assert task["split_by"] in {"sentence", "target_word"}
        assert task["resampled_by"] == "sentence"
        assert task["num_resampled"] == task["sizes"]["test"]


def test_held_out_blocks_are_split_and_resampled_whole(tmp_path: Path) -> None:
    config = replace(CONFIG, held_out_unit="block", held_out_block_sentences=10)
    rows = corpus_rows(2, sentences=900)
    corpus = write_rows(tmp_path / "corpus", rows)
    summary = build_probing(corpus, tmp_path / "probing", config)
    data = read_built(tmp_path / "probing")
    assert summary["tasks"]["tense"]["split_by"] == "block"
    assert summary["tasks"]["tense"]["resampled_by"] == "block"
    units = data.units_of("tense")
    assert not units[0] & units[1] and not units[0] & units[2] and not units[1] & units[2]
    assert summary["tasks"]["tense"]["num_resampled"] == len(units[2])


def test_a_scarce_task_gives_a_third_to_test_and_a_sixth_to_dev(data: Built) -> None:
    sizes = data.summary["tasks"]["tense"]["sizes"]
    total = sum(sizes.values())
    assert total < sum(CONFIG.sizes.values())
    for split in SPLITS:
        assert sizes[split] / total == pytest.approx(SCARCE_SHARES[split], abs=0.05)


def test_shares_follow_the_sizes_where_data_are_plenty() -> None:
    config = ProbingConfig(train_size=6, dev_size=1, test_size=3)
    assert split_shares(10, config) == {"train": 0.6, "dev": 0.1, "test": 0.3}
    assert split_shares(9, config) == dict(SCARCE_SHARES)


def test_stages_of_different_lengths_are_refused(tmp_path: Path) -> None:
    rows = corpus_rows(8)
    corpus = write_rows(tmp_path / "corpus", rows)
    shorter = write_rows(tmp_path / "shorter", rows[:-1])
    mixed = replace(corpus, dependencies=shorter.dependencies)
    with pytest.raises(ValueError, match=r"shard 0 has 319 rows but .* has 320; parse this"):
        build_probing(mixed, tmp_path / "probing", CONFIG)


def test_a_folder_without_summary_is_not_complete(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no probing\.json"):
        read_summary(tmp_path)


def test_quotas_cut_the_commonest_classes_alone() -> None:
    assert class_quotas({"a": 100, "b": 60}, 1000, max_share=0.5) == {"a": 60, "b": 60}
    assert class_quotas({"a": 100, "b": 60}, 80, max_share=0.5) == {"a": 40, "b": 40}
    assert class_quotas({"a": 90, "b": 5, "c": 5}, 1000, max_share=2 / 3) == {
        "a": 20, "b": 5, "c": 5,
    }  # fmt: skip


def test_units_come_close_to_their_due_shares() -> None:
    units = {f"document {i}": 10.0 + i % 7 for i in range(60)}
    assigned = assign_units(units, {"train": 0.6, "dev": 0.1, "test": 0.3}, seed=0)
    total = sum(units.values())
    for split, share in (("train", 0.6), ("dev", 0.1), ("test", 0.3)):
        size = sum(n for unit, n in units.items() if assigned[unit] == split)
        assert abs(size / total - share) < 0.02


def test_quantile_bins_survive_ties() -> None:
    assert quantile_bins([1, 2, 3, 4, 5, 6], 3) == [3, 5]
    assert quantile_bins([5, 5, 5, 5, 5, 9], 3) == []
    assert quantile_bins([], 3) == []


def test_pearson_of_a_line_is_one_and_of_a_constant_zero() -> None:
    assert pearson([1, 2, 3], [2, 4, 6]) == pytest.approx(1.0)
    assert pearson([1, 2, 3], [4, 4, 4]) == 0.0


def test_published_facts_are_pinned() -> None:
    config = ProbingConfig()
    assert (config.min_tokens, config.max_tokens) == (5, 28)
    assert (config.num_length_bins, config.num_top_constituents) == (6, 20)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"min_tokens": 9, "max_tokens": 8}, "min_tokens 9 and max_tokens 8"),
        ({"held_out_fraction": 0.0}, "held_out_fraction must lie in"),
        ({"test_size": 0}, "must be at least 1"),
        ({"sizes": 3}, r"unknown probing settings \['sizes'\]"),
        ({"test_size": "9"}, "probing setting test_size must be a whole number, got '9'"),
        ({"held_out_unit": "page"}, "held_out_unit must be one of document, block"),
    ],
)
def test_settings_that_cannot_work_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ProbingConfig.from_dict(values)
