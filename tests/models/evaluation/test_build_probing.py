"""Derived tasks of a corpus made by a grammar: built, read back, scored, never passed off."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.command import subcommand
from tests.support.probing_examples import (
    CONFIG,
    Built,
    built,
    corpus_rows,
    read_built,
    sentence,
    write_rows,
)
from tests.support.senteval_files import load
from treeviews.models.config.held_out import HoldOut
from treeviews.models.evaluation.build_probing import (
    PROTOCOL,
    SENTEVAL_FOLDER,
    build_probing,
    write_senteval_files,
)
from treeviews.models.evaluation.evaluation_settings import ProtocolConfig
from treeviews.models.evaluation.probing_sentences import SCARCE_SHARES, SPLITS
from treeviews.models.evaluation.probing_tasks import TASKS, Candidate
from treeviews.models.evaluation.resampling import Resampling
from treeviews.models.evaluation.task_data import NOTE_NAME, AbsentDataError
from treeviews.models.evaluation.task_registry import DERIVED
from treeviews.models.evaluation.task_result import TaskResult, read_results

main = subcommand("evaluate")

CALLED = {task.name: task.evaluation_task for task in TASKS}
PASSAGES = "discourse_coherence"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("probing")
    built(path)
    return path / "probing"


@pytest.fixture(scope="module")
def data(folder: Path) -> Built:
    return read_built(folder)


def test_all_tasks_are_built_of_held_out_sentences_in_dataset_order(data: Built) -> None:
    assert data.summary["absent"] == {}
    assert list(data.summary["tasks"]) == list(data.rows) == [task.name for task in TASKS]
    documents = [row["document_id"] for row in corpus_rows()]
    used = list(data.units)
    assert used == sorted(used)
    assert all(HoldOut(fraction=0.5).takes(documents[row]) for row in used)
    assert all(data.units[row] == documents[row] for row in used)


def test_sentences_documents_and_target_words_do_not_cross_splits(data: Built) -> None:
    sentences = corpus_rows()
    for name in data.rows:
        train, dev, test = data.units_of(name)
        if name == PASSAGES or data.summary["tasks"][name]["split_by"] == "document":
            assert train and not train & dev and not train & test and not dev & test
        if name != PASSAGES:
            used = np.concatenate([rows[:, 0] for rows in data.rows[name].values()])
            assert len(used) == len(set(used))
    for name, relation in (("subject_number", "nsubj"), ("object_number", "obj")):
        words = []
        for split in SPLITS:
            chosen = [sentences[row] for row in data.rows[name][split][:, 0]]
            words.append({s["tokens"][s["deprels"].index(relation)] for s in chosen})
        assert words[0] and not words[0] & words[1]
        assert not words[0] & words[2] and not words[1] & words[2]


def test_classes_are_balanced_and_chance_is_that_of_the_commonest_training_class(
    data: Built,
) -> None:
    for name, described in data.summary["tasks"].items():
        commonest = np.bincount(data.labels[name]["train"]).argmax()
        labels = data.labels[name]["test"]
        assert described["chance"] == pytest.approx(100 * (labels == commonest).mean())
        if described["balance"] == "equal":
            an_item = 100 / len(labels)  # where classes do not divide them evenly
            fair = pytest.approx(100 / len(described["classes"]), abs=max(1, an_item))
            assert described["chance"] == fair
    sizes = data.summary["tasks"]["tense"]["sizes"]
    assert sum(sizes.values()) < sum(CONFIG.sizes.values()), "scarce"
    for split in SPLITS:
        share = sizes[split] / sum(sizes.values())
        assert share == pytest.approx(SCARCE_SHARES[split], abs=0.05)


def test_building_twice_gives_the_same_bytes_and_another_seed_gives_others(
    folder: Path, tmp_path: Path
) -> None:
    corpus = write_rows(tmp_path / "corpus", corpus_rows())
    for name, config in (("same", CONFIG), ("other", CONFIG.changed(seed=1))):
        build_probing(corpus, tmp_path / name, config)
    first, same, other = (
        {path.name: path.read_bytes() for path in sorted((place / "senteval/probing").iterdir())}
        for place in (folder, tmp_path / "same", tmp_path / "other")
    )
    assert same == first and len(same) == len(TASKS) + 2
    assert other["past_present.txt"] != same["past_present.txt"]


def test_what_is_left_out_is_counted_and_what_is_too_little_has_a_reason(tmp_path: Path) -> None:
    made = corpus_rows()
    held_out = [i for i, row in enumerate(made) if HoldOut(fraction=0.5).takes(row["document_id"])]
    copies = held_out[len(held_out) // 2 :]
    for row in made:
        row["tags"] = ["VBP" if tag == "VBD" else tag for tag in row["tags"]]
    for i in copies:
        place = {name: made[i][name] for name in ("document_id", "sentence_index")}
        made[i].update(made[held_out[0]], **place)
    missing = held_out[5:25]
    corpus = write_rows(tmp_path / "corpus", made, without_parse=missing)
    summary = build_probing(corpus, tmp_path / "probing", CONFIG)
    read = read_built(tmp_path / "probing")
    assert summary["excluded"]["no_parse"] == 20
    assert not set(read.units) & set(missing)
    assert summary["excluded"]["duplicate_text"] >= len(copies) - 1
    assert "tense" not in read.rows
    reason = r"fewer than two classes have 4 training items .*found: [0-9]+ present\)"
    assert re.fullmatch(reason, summary["absent"]["tense"])


def test_too_little_text_for_any_task_is_refused_with_remedies(tmp_path: Path) -> None:
    corpus = write_rows(tmp_path / "corpus", corpus_rows(8))
    with pytest.raises(ValueError, match="too few for any of the 8 probing tasks"):
        build_probing(corpus, tmp_path / "probing", CONFIG.changed(min_train=1000))


def test_few_documents_are_split_and_resampled_by_sentence_or_block(tmp_path: Path) -> None:
    for unit, num_documents, changes in (
        ("sentence", 1, {"held_out_fraction": 1.0}),
        ("block", 2, {"held_out_unit": "block", "held_out_block_sentences": 10}),
    ):
        corpus = write_rows(tmp_path / "corpus" / unit, corpus_rows(num_documents, sentences=800))
        summary = build_probing(corpus, tmp_path / unit, CONFIG.changed(**changes))
        tense, units = summary["tasks"]["tense"], read_built(tmp_path / unit).units_of("tense")
        assert tense["split_by"] == tense["resampled_by"] == unit
        of_test = len(units[2]) if unit == "block" else tense["sizes"]["test"]
        assert tense["num_resampled"] == of_test
    assert not units[0] & units[1] and not units[0] & units[2] and not units[1] & units[2]


# As SentEval's files.


def exported(folder: Path, *, absent: dict[str, str] | None = None) -> Path:
    """Writes tense alone, four items a split, and returns the data folder."""
    tree = ([2, 0, 2], "nsubj root obj", "PRP VBZ CD", [(0, 3, "S")])
    items = [
        Candidate(sentence(f"it {verb} {number}", *tree), label)
        for number in ("one", "two")
        for verb, label in (("was", "past"), ("is", "present"))
    ]
    chosen = {"tense": dict.fromkeys(SPLITS, items)}
    write_senteval_files(folder, chosen, absent or {}, corpus="tales-0a1b", parsers={})
    return folder


def test_what_is_derived_and_how_it_is_scored_is_pinned(folder: Path) -> None:
    """Whoever changes it changes the digest of the probing data, and every figure on them."""
    assert set(CALLED.values()) == {task.name for task in DERIVED}
    asked = {"standardise": True, "penalties": [1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0]}
    assert load("Tense", folder / SENTEVAL_FOLDER).protocol == PROTOCOL == asked
    config, resampling = ProtocolConfig().on_data(asked), Resampling()
    assert (config.tolerance, config.max_steps) == (1e-6, 500)
    assert (resampling.num_resamples, resampling.seed, resampling.confidence) == (2000, 0, 0.95)


def lengths(sentences: list[str]) -> npt.NDArray[np.float64]:
    """An encoder that knows nothing but the number of tokens."""
    return np.eye(40)[[len(text.split()) for text in sentences]]


def test_a_function_of_ones_own_is_scored_on_all_derived_tasks(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, out = str(folder / SENTEVAL_FOLDER), str(tmp_path / "out")
    encoder = ["--encoder", f"{__name__}:lengths", "--data", place, "--threads", "1"]
    assert main([*encoder, "--out", out]) == 0
    printed = capsys.readouterr().out
    found = read_results(tmp_path / "out")
    scored = {name: one for name, one in found.items() if isinstance(one, TaskResult)}
    assert set(scored) == {task.name for task in DERIVED}
    assert not found.keys() & {"BShift", "SOMO", "CoordInv"}
    tense = scored["Tense"].scores["accuracy"]
    assert scored["SentLen"].scores["accuracy"].value > 95
    assert tense.low < 50 < tense.high
    assert scored["DC"].outcome.width == 2 * 40
    assert scored["DC"].outcome.predictions.clusters is not None
    assert "| SentLen (derived) | accuracy |" in printed and "| SentLen |" not in printed
    assert "derived from corpus, other sentences" in printed
    assert "| average of the derived tasks | accuracy |" in printed


def test_a_task_that_the_corpus_was_too_small_for_is_absent_for_that_reason(tmp_path: Path) -> None:
    exported(tmp_path, absent={"tree_depth": "7 train sentences, 80 needed"})
    said = "TreeDepth: not derived from tales-0a1b: 7 train sentences, 80 needed"
    with pytest.raises(AbsentDataError, match=said):
        load("TreeDepth", tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("past_present.txt", "tr\tpast\tit was\n", "past_present.txt: not as derived.json .*build"),
        ("subj_number.txt", "tr\tpast\tit was\n", "subj_number.txt: not as derived.json beside it"),
        (NOTE_NAME, "{", "derived.json: .*; build the probing data again"),
    ],
)
def test_a_changed_folder_is_refused(tmp_path: Path, file: str, content: str, said: str) -> None:
    (exported(tmp_path) / "probing" / file).write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=said):
        load("SubjNum" if file == "subj_number.txt" else "Tense", tmp_path)
