from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.config.held_out import HoldOut
from models.config.training_presets import preset
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from models.corpus.sentence_block import SentenceBlock
from models.corpus.syntactic_pairs import PairsConfig, groups_of, make_pairs
from models.training.batches import BatchesWithPairs, TrainingBatches
from models.training.job import TrainingJob
from models.training.launching import LaunchSettings
from models.training.logs import read_metrics
from models.training.train_views import train
from models.words.vector_files import load_word_vectors
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.shards.shards import read_shard
from pipeline.transformations.registry import TRANSFORMATIONS
from pipeline.transformations.sentence_tree import SentenceTree
from pipeline.trees.binarize import binarize
from pipeline.trees.parses import ConstituencyParse
from tests.support.command import subcommand
from tests.support.parsed_corpora import stories, write_corpus, write_vectors
from tests.support.repository import REPOSITORY
from tests.support.shard_files import sentence_rows, write_stage
from tests.support.training_runs import SETTINGS, assert_same_weights

inspect = subcommand("inspect")

NOUNS = ("dogs", "cats", "girls", "boys", "birds")
VERBS = ("see", "hear", "chase", "find")
ADJECTIVES = ("old", "big", "red")
HEADS, DEPRELS = [2, 0, 4, 2, 2], ["nsubj", "root", "amod", "obj", "punct"]
TAGS = ["NNS", "VBP", "JJ", "NNS", "."]
WITH_PAIRS = preset(
    "laptop",
    views=("DEP", "CONST"),
    hidden_size=4,
    epochs=2,
    batch_size=30,
    pairs_share=0.3,
    held_out_fraction=0.0,
)
NO_PAIR = {"heads": [2, 0], "deprels": ["nsubj", "root"]}


def tokens() -> Iterator[list[str]]:
    """60 sentences of which pairs can be made, and every fourth time one of which none can."""
    for number, (subject, verb) in enumerate((s, v) for s in NOUNS for v in VERBS):
        for adjective in ADJECTIVES:
            other = NOUNS[(number + 1) % len(NOUNS)]
            other = other if other != subject else NOUNS[(number + 2) % len(NOUNS)]
            yield [subject.title(), verb, adjective, other, "."]
        yield ["Time", "flies"]


def constituents(tags: list[str]) -> dict[str, Any]:
    parse = ConstituencyParse([0], [len(tags)], ["S"], tags)
    tree = binarize(parse)
    return {
        "span_starts": parse.starts,
        "span_ends": parse.ends,
        "span_labels": parse.labels,
        "tags": tags,
        "binary_left": tree.left,
        "binary_right": tree.right,
    }


@pytest.fixture
def corpus(tmp_path: Path) -> CorpusFolders:
    """Two shards of 40 sentences; a document has ten."""
    return write_parsed(tmp_path / "corpus", list(tokens()))


def write_parsed(folder: Path, rows: list[list[str]]) -> CorpusFolders:
    """Writes 80 sentences in two shards."""
    places = [(f"text-{i // 40}-{i % 40 // 10}", i % 10) for i in range(len(rows))]
    sentences = [
        {"document_id": document, "sentence_index": index, "tokens": row}
        for row, (document, index) in zip(rows, places, strict=True)
    ]
    dependencies = [
        {"heads": HEADS, "deprels": DEPRELS} if len(row) == 5 else NO_PAIR for row in rows
    ]
    trees = [constituents(TAGS if len(row) == 5 else ["NN", "VBZ"]) for row in rows]
    for stage, all_rows in (
        ("sentences", sentences),
        ("dependencies", dependencies),
        ("constituents", trees),
    ):
        write_stage(folder / stage, stage, all_rows[:40], all_rows[40:])
    return pairs_in(folder)


def pairs_in(folder: Path) -> CorpusFolders:
    return CorpusFolders(*(folder / n for n in ("sentences", "dependencies", "constituents")))


def rows_of(pairs: CorpusFolders, number: int = 0) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read_shard(pairs.sentences, "sentences", number).to_pylist()
    return rows


NOTHING_HELD_OUT = HoldOut(0.0)


def test_a_group_is_a_sentence_its_positive_and_what_is_no_neighbour(
    corpus: CorpusFolders, tmp_path: Path
) -> None:
    pairs = pairs_in(tmp_path / "pairs")
    make_pairs(corpus, pairs, PairsConfig(positives=1), NOTHING_HELD_OUT)
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of(pairs):
        groups.setdefault(row["document_id"], []).append(row)
    assert len(groups) == 30
    for name, group in groups.items():
        source, positive, negative = (row["tokens"] for row in group)
        assert name.endswith("(without_adjective)")
        assert positive == [word for word in source if word not in ADJECTIVES]
        assert negative not in (source, positive)
        assert [row["sentence_index"] for row in group][:2] == [0, 1]
        assert group[2]["sentence_index"] > 1 + 50  # no neighbour, however wide a context is
    names = list(groups)
    assert names != sorted(names, key=lambda name: (name.split("-")[2], len(name), name))


def test_pairs_can_be_inspected_and_are_whole(
    corpus: CorpusFolders, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make_pairs(corpus, pairs_in(tmp_path / "pairs"), PairsConfig(), NOTHING_HELD_OUT)
    assert inspect(["check", str(tmp_path / "pairs")]) == 0
    assert inspect(["stats", str(tmp_path / "pairs")]) == 0
    (made,) = (line for line in capsys.readouterr().out.splitlines() if "made by" in line)
    assert "without_adjective 60 (50.0%)" in made


def test_what_was_made_and_what_gave_nothing_is_counted(
    corpus: CorpusFolders, tmp_path: Path
) -> None:
    pairs = pairs_in(tmp_path / "pairs")
    make_pairs(corpus, pairs, PairsConfig(positives=1), NOTHING_HELD_OUT)
    manifest = read_dataset_manifest(pairs.sentences, "sentences")
    assert manifest.drops == {"no_positive": 20}
    made: dict[str, int] = {}
    for shard in manifest.shards:
        for name, count in shard.extra["made"].items():
            made[name] = made.get(name, 0) + count
    assert made.pop("without_adjective") == 60
    assert sum(made.values()) == 60
    assert all(TRANSFORMATIONS[name].kind == "negative" for name in made)


def test_no_pair_is_made_of_a_sentence_that_is_held_out(
    corpus: CorpusFolders, tmp_path: Path
) -> None:
    hold_out = HoldOut(0.5)
    pairs = pairs_in(tmp_path / "pairs")
    make_pairs(corpus, pairs, PairsConfig(), hold_out)
    names = {row["document_id"].split(":")[0] for n in (0, 1) for row in rows_of(pairs, n)}
    documents = {f"text-{shard}-{place}" for shard in (0, 1) for place in range(4)}
    assert names == {name for name in documents if not hold_out.takes(name)}
    assert names < documents


def test_two_makings_and_one_that_was_killed_have_the_same_bytes(
    corpus: CorpusFolders, tmp_path: Path
) -> None:
    def stop(share: float, status: str) -> None:
        raise KeyboardInterrupt

    whole, killed = pairs_in(tmp_path / "whole"), pairs_in(tmp_path / "killed")
    make_pairs(corpus, whole, PairsConfig(), NOTHING_HELD_OUT)
    with pytest.raises(KeyboardInterrupt):
        make_pairs(corpus, killed, PairsConfig(), NOTHING_HELD_OUT, on_progress=stop)
    first = (killed.sentences / "00000.parquet").stat().st_mtime_ns
    make_pairs(corpus, killed, PairsConfig(), NOTHING_HELD_OUT)
    assert (killed.sentences / "00000.parquet").stat().st_mtime_ns == first
    for path in (tmp_path / "whole").glob("*/*.parquet"):
        assert (
            tmp_path / "killed" / path.parent.name / path.name
        ).read_bytes() == path.read_bytes()


def test_pairs_that_were_made_otherwise_are_not_taken_for_these(
    corpus: CorpusFolders, tmp_path: Path
) -> None:
    pairs = pairs_in(tmp_path / "pairs")
    make_pairs(corpus, pairs, PairsConfig(), NOTHING_HELD_OUT)
    with pytest.raises(ValueError, match=r"00000\.parquet: pairs of other sentences, or made"):
        make_pairs(corpus, pairs, PairsConfig(), HoldOut(0.5))


def test_a_kill_within_a_shard_costs_that_shard_alone(
    corpus: CorpusFolders, tmp_path: Path
) -> None:
    whole, killed = pairs_in(tmp_path / "whole"), pairs_in(tmp_path / "killed")
    for folders in (whole, killed):
        make_pairs(corpus, folders, PairsConfig(), NOTHING_HELD_OUT)
    assert killed.constituents is not None
    for path in [*killed.constituents.glob("0000[01].*"), killed.constituents / "manifest.json"]:
        path.unlink()
    make_pairs(corpus, killed, PairsConfig(), NOTHING_HELD_OUT)
    for path in (tmp_path / "whole").glob("*/*.parquet"):
        assert (
            tmp_path / "killed" / path.parent.name / path.name
        ).read_bytes() == path.read_bytes()


def test_no_block_that_is_held_out_is_read(corpus: CorpusFolders, tmp_path: Path) -> None:
    hold_out = HoldOut(0.5, unit="block", block_sentences=5)
    pairs = pairs_in(tmp_path / "pairs")
    make_pairs(corpus, pairs, PairsConfig(), hold_out)
    sources = [row["document_id"].split(" ")[0] for n in (0, 1) for row in rows_of(pairs, n)]
    units = {hold_out.unit_of(*_place(name)) for name in sources}
    assert units and not any(hold_out.takes(unit) for unit in units)
    assert {unit.split("\t")[1] for unit in units} == {"0", "1"}


def _place(name: str) -> tuple[str, int]:
    document, _, index = name.rpartition(":")
    return document, int(index)


def test_a_corpus_without_pairs_is_refused_with_a_remedy(tmp_path: Path) -> None:
    write_stage(tmp_path / "sentences", "sentences", sentence_rows([["Time", "flies"]]))
    write_stage(tmp_path / "dependencies", "dependencies", [NO_PAIR])
    write_stage(tmp_path / "constituents", "constituents", [constituents(["NN", "VBZ"])])
    with pytest.raises(ValueError, match=r"no sentence for training gives a pair; give more text"):
        make_pairs(pairs_in(tmp_path), pairs_in(tmp_path / "x"), PairsConfig(), NOTHING_HELD_OUT)


def test_a_shard_of_which_no_pair_is_made_is_empty_and_trained_beside(tmp_path: Path) -> None:
    first_shard = list(tokens())[:40]
    corpus = write_parsed(tmp_path / "corpus", first_shard + [["Time", "flies"]] * 40)
    pairs = pairs_in(tmp_path / "pairs")
    make_pairs(corpus, pairs, PairsConfig(), NOTHING_HELD_OUT)

    shards = read_dataset_manifest(pairs.sentences, "sentences").shards
    assert [shard.rows > 0 for shard in shards] == [True, False]
    assert shards[1].drops == {"no_positive": 40}
    assert inspect(["check", str(tmp_path / "pairs")]) == 0
    config = replace(WITH_PAIRS, epochs=1)
    vectors = write_vectors(tmp_path / "vectors")
    job = TrainingJob(config, corpus, vectors, tmp_path / "out", settings=SETTINGS, pairs=pairs)
    assert train(job)["pairs"]["sentences"] == shards[0].rows


@pytest.mark.slow
def test_two_processes_learn_with_pairs_what_one_learns(
    corpus: CorpusFolders, tmp_path: Path
) -> None:
    config = replace(WITH_PAIRS, held_out_fraction=0.3)
    pairs, vectors = pairs_in(tmp_path / "pairs"), write_vectors(tmp_path / "vectors")
    make_pairs(corpus, pairs, PairsConfig(), config.hold_out)
    one, two = (
        TrainingJob(
            config,
            corpus,
            vectors,
            tmp_path / str(processes),
            settings=SETTINGS,
            launch=LaunchSettings(threads=2, processes=processes),
            pairs=pairs,
        )
        for processes in (1, 2)
    )
    train(one)
    path = tmp_path / "job.json"
    path.write_text(json.dumps(two.to_dict()), encoding="utf-8")
    command = [sys.executable, "-m", "models.train", str(path)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, timeout=500)

    losses, expected = (
        [record["loss"] for record in read_metrics(job.out / "metrics.jsonl")] for job in (two, one)
    )
    assert len(expected) > 6
    assert losses == pytest.approx(expected, rel=1e-4)
    assert json.loads((two.out / "summary.json").read_text())["ranks"] == 2


def test_negatives_of_a_sentence_take_turns() -> None:
    tree = SentenceTree(
        ("Dogs", "see", "old", "cats", "and", "big", "birds", "."),
        ("NNS", "VBP", "JJ", "NNS", "CC", "JJ", "NNS", "."),
        (2, 0, 4, 2, 7, 7, 4, 2),
        ("nsubj", "root", "amod", "obj", "cc", "amod", "conj", "punct"),
        *((0,), (8,), ("S",)),
    )
    groups = list(groups_of(tree, "a:0", PairsConfig(positives=2, negatives=1)))
    assert len(groups) == 2
    assert groups[0].made_by[0] != groups[1].made_by[0]
    assert groups[0].made_by[1] != groups[1].made_by[1]
    assert list(groups_of(tree, "a:0", PairsConfig(positives=2, negatives=1))) == groups
    bare = list(groups_of(tree, "a:0", PairsConfig(negatives=0)))
    assert all(len(group.trees) == 2 for group in bare)


def test_a_share_of_each_batch_is_pairs_and_any_step_can_be_reached(
    corpus: CorpusFolders, tmp_path: Path
) -> None:
    folders = pairs_in(tmp_path / "pairs")
    make_pairs(corpus, folders, PairsConfig(positives=1), NOTHING_HELD_OUT)
    vectors = load_word_vectors(write_vectors(tmp_path / "vectors"))
    readers = [ParsedCorpus(f, vectors, views=("DEPSUM", "CONST")) for f in (corpus, folders)]
    text, pairs = (
        TrainingBatches(reader, reader.survey().rows, batch_size=size, seed=0)
        for reader, size in zip(readers, (20, 9), strict=True)
    )
    mixed = BatchesWithPairs(text, pairs)
    batches = list(mixed.from_step(0, epochs=6))  # 24 of text; a pass over the pairs has 20
    assert len(batches) == 24
    assert all(len(batch) == 29 for batch in batches)
    for batch in batches:
        assert not set(batch.documents[:20]) & set(batch.documents[20:])
        assert len(batch.token_ids) == batch.offsets[-1]
    again = list(mixed.from_step(21, epochs=6))
    assert [b.rows.tolist() for b in again] == [b.rows.tolist() for b in batches[21:]]
    parts = zip(batches, text.from_step(0, epochs=6), strict=True)
    for batch, part in parts:
        assert batch.slice(0, 20).heads.tolist() == part.heads.tolist()  # type: ignore[union-attr]


@pytest.mark.slow
def test_text_and_pairs_are_read_in_different_orders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a batch has sentences twice, as text and as sources of pairs: negatives of their own."""
    text, paired = (
        write_corpus(tmp_path / name, stories(16), rows_per_shard=4) for name in ("text", "pairs")
    )
    config = preset(
        "laptop",
        hidden_size=4,
        epochs=1,
        batch_size=8,
        pairs_share=0.5,
        held_out_fraction=0.0,
        held_out_batches=0,
    )
    vectors, settings = write_vectors(tmp_path / "vectors"), replace(SETTINGS, prefetch=0)
    read: dict[str, list[int]] = {"train": [], "all": []}
    original = ParsedCorpus.read

    def recorded(corpus: ParsedCorpus, number: int) -> SentenceBlock:
        read[corpus.selection.part].append(number)
        return original(corpus, number)

    monkeypatch.setattr(ParsedCorpus, "read", recorded)
    train(TrainingJob(config, text, vectors, tmp_path / "out", settings=settings, pairs=paired))

    of_text, of_pairs = read["train"], read["all"]
    assert sorted(of_text) == sorted(of_pairs) == list(range(32))
    assert sum(a == b for a, b in zip(of_text, of_pairs, strict=True)) < 5


def test_a_training_with_pairs_ends_with_the_same_weights_when_killed(
    corpus: CorpusFolders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = pairs_in(tmp_path / "pairs")
    make_pairs(corpus, folders, PairsConfig(positives=1), NOTHING_HELD_OUT)
    vectors = write_vectors(tmp_path / "vectors")

    def job(name: str) -> TrainingJob:
        return TrainingJob(
            WITH_PAIRS, corpus, vectors, tmp_path / name, settings=SETTINGS, pairs=folders
        )

    steps = 0

    def kill(share: float, status: str) -> None:
        nonlocal steps
        steps += share > 0
        if steps == 3:
            raise KeyboardInterrupt

    summary = train(job("whole"))
    assert summary["pairs"] == {"sentences": 180, "skipped": {}, "passes": 0.4}
    with pytest.raises(KeyboardInterrupt):
        train(job("killed"), on_progress=kill)
    monkeypatch.setattr(ParsedCorpus, "survey", None)  # neither text nor pairs are counted again
    assert train(job("killed"))["pairs"] == summary["pairs"]
    assert_same_weights(tmp_path / "whole", tmp_path / "killed")


def test_a_share_of_pairs_without_pairs_is_refused(corpus: CorpusFolders, tmp_path: Path) -> None:
    config = preset("laptop", hidden_size=4, pairs_share=0.3, held_out_fraction=0.0)
    vectors = write_vectors(tmp_path / "vectors")
    with pytest.raises(ValueError, match="names no pairs"):
        train(TrainingJob(config, corpus, vectors, tmp_path / "x", settings=SETTINGS))
    with pytest.raises(ValueError, match="pairs_share must be 0 with parts 2"):
        preset("laptop", pairs_share=0.5, parts=2, gather_negatives=False)
    with pytest.raises(ValueError, match="context_size must be below 500 with pairs"):
        preset("laptop", pairs_share=0.5, context_size=999)
    config = preset("laptop", batch_size=4, pairs_share=0.9)
    with pytest.raises(ValueError, match=r"pairs_share 0\.9 of batch_size 4 leaves 4 .* and 0"):
        config.check_trainable()
