from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.memory_source import Memory
from tests.support.splitting import split_sentences
from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.text import documents, plan, split_corpus, split_parts
from treeviews.pipeline.text.cleaning_steps import CleaningConfig
from treeviews.pipeline.text.documents import ChangedTextError
from treeviews.pipeline.text.split_corpus import CorpusSplit
from treeviews.pipeline.text.text_files import FilesConfig
from treeviews.pipeline.text.text_sources import TextFiles
from treeviews.pipeline.text.tokenization import SentenceConfig

ANIMALS = ("cat", "dog", "owl", "fox", "hen")


@pytest.fixture
def small_shards(monkeypatch):
    """Shards of two of the documents in memory, or some hundreds of bytes of a file."""
    monkeypatch.setattr(plan, "_target", lambda number: 8)
    monkeypatch.setattr(documents, "STEP_BYTES", 500)


def rows(folder: Path) -> list[tuple[str, int, str]]:
    found = []
    for shard in read_dataset_manifest(folder, "sentences").shards:
        for row in read_shard(folder, "sentences", shard.number).to_pylist():
            found.append((row["document_id"], row["sentence_index"], " ".join(row["tokens"])))
    return found


def quarantine(folder: Path) -> list[dict[str, object]]:
    paths = sorted(folder.glob("*.quarantine.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def many_documents() -> Memory:
    """12 documents of 4 paragraphs of 1 to 3 sentences; some are quarantined."""
    documents: dict[str, list[str | Refusal]] = {}
    for number in range(12):
        paragraphs: list[str | Refusal] = []
        for position in range(4):
            animal = ANIMALS[(number + position) % 5]
            text = f"The {animal} number {number} sleeps. 1 2 3! It dreams of place {position}."
            paragraphs.append(text if (number + position) % 3 else f"One {animal} wakes.")
        if number % 4 == 0:
            paragraphs.insert(2, Refusal("undecodable", "odd bytes", f"{number}:2"))
        documents[f"document {number}"] = paragraphs
    return Memory(documents)


def test_a_refused_sentence_leaves_a_gap_in_the_index(tmp_path):
    source = Memory({"a": ["It rained. 1 2 3. We left.", "Later it stopped."], "b": ["So it was."]})
    manifest = split_sentences(source, SentenceConfig(), tmp_path)
    assert rows(tmp_path) == [
        ("a", 0, "It rained ."),
        ("a", 2, "We left ."),
        ("a", 3, "Later it stopped ."),
        ("b", 0, "So it was ."),
    ]
    assert (manifest.rows, manifest.drops) == (4, {"no_letters": 1})
    assert quarantine(tmp_path) == [
        {
            "document_id": "a",
            "sentence_index": 1,
            "position": "a:1",
            "reason": "no_letters",
            "detail": "no letter in any token",
            "excerpt": "1 2 3 .",
        }
    ]
    with pytest.raises(ValueError, match="another text or with other settings; delete"):
        split_sentences(source, SentenceConfig(max_tokens=9), tmp_path)


@pytest.mark.parametrize(
    ("text", "config", "reason"),
    [
        ("word " * 5000, {}, "too_long"),
        ("Short one.", {"min_tokens": 5}, "too_short"),
        ("A" * 201 + " is long.", {}, "long_token"),
        ("👍 🙂", {}, "no_letters"),
        (" \x00 \x07 ", {}, "empty"),
    ],
)
def test_reasons(tmp_path, text, config, reason):
    source = Memory({"a": [text, "These five words are fine."]})
    manifest = split_sentences(source, SentenceConfig(**config), tmp_path)
    assert manifest.drops == {reason: 1}
    assert manifest.rows == 1
    assert len(quarantine(tmp_path)[0]["excerpt"]) <= 200


def long_text(folder: Path) -> Path:
    """A file of 400 paragraphs of one to three sentences, of which some are refused."""
    path = folder / "long.txt"
    paragraphs = [
        f"The {ANIMALS[n % 5]} number {n} sleeps.{' 1 2 3!' * (n % 3)} It dreams of place {n}.\n\n"
        for n in range(400)
    ]
    path.write_text("".join(paragraphs))
    return path


def test_a_long_document_is_cut_between_paragraphs_and_keeps_its_order(tmp_path, small_shards):
    source = TextFiles([long_text(tmp_path)])
    manifest = split_sentences(source, SentenceConfig(), tmp_path / "cut")
    assert len(manifest.shards) > 20
    found = rows(tmp_path / "cut")
    assert {name for name, *_ in found} == {"long.txt"}
    indices = [index for _, index, _ in found]
    assert indices == sorted(set(indices))
    texts = [text for *_, text in found]
    assert texts[::2] == [f"The {ANIMALS[n % 5]} number {n} sleeps ." for n in range(400)]
    records = quarantine(tmp_path / "cut")
    assert [record["position"] for record in records[:2]] == ["long.txt:3", "long.txt:5"]
    assert records[-1]["position"] == "long.txt:797"  # lines are counted through


@pytest.fixture
def short_plans(small_shards, monkeypatch):
    """Plans that begin with a few parts and go further in small steps; returns them."""
    monkeypatch.setattr(split_corpus, "BYTES_PER_ROW", 1)
    made = []

    def noting(source, num_bytes):
        made.append(plan.plan_of(source, num_bytes))
        return made[-1]

    monkeypatch.setattr(split_corpus, "plan_of", noting)
    return made


def content(folder: Path) -> dict[str, object]:
    """All that is made of a corpus but the plan and the times that shards took."""
    manifest = read_dataset_manifest(folder, "sentences").to_dict()
    shards = [{**shard, "seconds": 0.0} for shard in manifest["shards"]]
    files = {path.name: path.read_bytes() for path in folder.glob("*.parquet")}
    return {**manifest, "shards": shards, "seconds": 0.0} | files | {"refused": quarantine(folder)}


@pytest.mark.parametrize("limit", [1, 333, 2_000])
def test_a_plan_that_goes_further_gives_the_sentences_of_a_whole_one(
    tmp_path, short_plans, monkeypatch, limit
):
    config, source = SentenceConfig(limit=limit), TextFiles([long_text(tmp_path)])
    with monkeypatch.context() as patch:
        patch.setattr(split_corpus, "plan_of", lambda source, _: plan.plan_of(source))
        whole = split_sentences(source, config, tmp_path / "whole")
    split_sentences(source, config, tmp_path / "further")
    assert content(tmp_path / "further") == content(tmp_path / "whole")
    assert whole.rows == min(limit, 800)
    assert len(short_plans) > 2 or limit < 100
    assert not any(made.is_whole for made in short_plans[:-1])
    assert short_plans[-1].is_whole or limit <= 800
    for one, further in pairwise(short_plans):
        assert further.parts[: len(one.parts)] == one.parts
        assert further.is_whole or further.num_bytes > one.num_bytes


def test_many_parts_make_few_jobs(tmp_path, small_shards, monkeypatch):
    monkeypatch.setattr(split_corpus, "JOB_BYTES", 1)
    monkeypatch.setattr(split_corpus, "MOST_RANGES", 7)
    corpus = CorpusSplit(TextFiles([long_text(tmp_path)]), SentenceConfig(), tmp_path / "out")
    corpus.begin()
    runs = corpus.runs()
    assert len(runs) <= 8
    numbers = [number for first, count in runs for number in range(first, first + count)]
    assert numbers == list(range(len(corpus.plan.parts)))


@pytest.mark.parametrize("num_written", [0, 3])
@pytest.mark.parametrize("limit", [0, 35])
def test_a_killed_run_goes_on_byte_identically(
    tmp_path, small_shards, monkeypatch, num_written, limit
):
    config = SentenceConfig(limit=limit)
    whole = split_sentences(many_documents(), config, tmp_path / "whole")
    writer = split_parts.ShardWriter

    def killed(folder, stage, number):
        if number == num_written:
            (folder / "00009.parquet.77.unfinished").write_bytes(b"PAR1")
            raise KeyboardInterrupt
        return writer(folder, stage, number)

    monkeypatch.setattr(split_parts, "ShardWriter", killed)
    if num_written < len(whole.shards):
        with pytest.raises(KeyboardInterrupt):
            split_sentences(many_documents(), config, tmp_path / "killed")
    monkeypatch.setattr(split_parts, "ShardWriter", writer)
    resumed = split_sentences(many_documents(), config, tmp_path / "killed")
    assert [shard.sha256 for shard in resumed.shards] == [shard.sha256 for shard in whole.shards]
    assert [shard.extra for shard in resumed.shards] == [shard.extra for shard in whole.shards]
    assert quarantine(tmp_path / "killed") == quarantine(tmp_path / "whole")
    assert not list((tmp_path / "killed").glob("*.unfinished"))


@pytest.mark.parametrize(("limit", "expected"), [(0, 24), (8, 2), (10, 3)])
def test_changed_paragraphs_are_counted_up_to_the_limit(tmp_path, small_shards, limit, expected):
    documents = {
        f"document {number}": ["Itâ€™s the first. So it is.", "Nothing is odd. So it is."] * 2
        for number in range(12)
    }
    config, cleaning = SentenceConfig(limit=limit), CleaningConfig(mojibake=True)
    manifest = split_sentences(Memory(documents), config, tmp_path, cleaning)
    found = [shard.extra.get("cleaned", {}) for shard in manifest.shards]
    assert sum(shard.get("mojibake", 0) for shard in found) == expected
    assert manifest.config["cleaned"] == {"mojibake": expected}


def test_a_source_without_sentences_is_an_error_that_says_why(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\0\1\2")
    source = TextFiles([tmp_path / "a.txt"], FilesConfig())
    with pytest.raises(
        ValueError, match=r"binary_file 1; first, at a\.txt: binary_file \(holds zero"
    ):
        split_sentences(source, SentenceConfig(), tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()


LINES = "".join(f"This is line {number} of the text.\n\n" for number in range(5_000))


@pytest.mark.parametrize("limit", [0, 45])
def test_of_a_text_that_changes_while_it_is_split_nothing_is_made(tmp_path, monkeypatch, limit):
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_text(LINES)
    calls = []

    def change(text: str) -> tuple[str, int]:
        calls.append(text)
        if len(calls) == 40:
            path.write_text(LINES.replace("4999", "5000"))
        return text, 0

    monkeypatch.setattr("treeviews.pipeline.text.split_parts.clean_text", change)
    with pytest.raises(ChangedTextError, match=r"a\.txt: gone, or changed since"):
        split_sentences(TextFiles([path]), SentenceConfig(limit=limit), out)
    assert not list(out.glob("*.parquet"))


@pytest.mark.parametrize(
    ("config", "fields", "message"),
    [
        (SentenceConfig, {"limit": -1}, "must be 0 for all sentences, or a number of them, got -1"),
        (SentenceConfig, {"min_tokens": 9, "max_tokens": 8}, "needs 1 <= min_tokens"),
        (SentenceConfig, {"max_tokens": 40_000}, "at most 32000, as heads are 16 bit, got 40000"),
        (FilesConfig, {"paragraphs": "page"}, "page"),
        (FilesConfig, {"encoding": "utf-9"}, "is no text encoding; try utf-8"),
    ],
)
def test_settings_that_make_no_sense_are_errors(config, fields, message):
    with pytest.raises(ValueError, match=message):
        config(**fields)
