from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from pipeline.base import json_files
from pipeline.cleaning import find_duplicates as finding
from pipeline.cleaning import near
from pipeline.cleaning.config import CleaningConfig
from pipeline.cleaning.decisions import MANIFEST_NAME, Duplicates, drops_path
from pipeline.cleaning.find_duplicates import DuplicatesJob, find_duplicates
from pipeline.cleaning.minhash import BANDS, HASHES, band_keys, min_hashes, shingles, similarities
from pipeline.cleaning.near import joined
from pipeline.cleaning.sign_parts import SignJob, sign_parts
from pipeline.cleaning.signatures import bare_words, signature_path
from pipeline.sources import plan as planning
from pipeline.sources.files import FilesConfig, TextFiles
from pipeline.sources.paragraphs import Paragraph
from pipeline.sources.plan import plan_of
from pipeline.text.split_corpus import DUPLICATES_FOLDER, CorpusSplit
from pipeline.text.tokenization import SentenceConfig

NEAR = CleaningConfig(duplicates="near", repeated_in=3)
WORDS = (
    *("ferry", "bay", "village", "harbour", "rope", "sail", "wind"),
    *("tide", "night", "gull", "lamp", "stone", "sand", "north"),
)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(planning, "rows_in_shard", lambda number: 8)


def corpus(folder: Path, seed: int = 0, num_documents: int = 25) -> list[list[str]]:
    """Writes documents of paragraphs that are new, copied, or copied with a word or two changed."""
    rng = random.Random(seed)
    seen: list[str] = []
    documents = []
    for _ in range(num_documents):
        paragraphs = []
        for _ in range(rng.randint(1, 6)):
            kind = rng.random() if seen else 0
            words = rng.choices(WORDS, k=rng.choice([8, 20, 60]))
            if kind > 0.5:
                words = rng.choice(seen).rstrip(".").split()
            if kind > 0.7:
                for _ in range(rng.choice([1, 1, 2])):
                    words[rng.randrange(len(words))] = rng.choice(["mast", "keel"])
            paragraphs.append(" ".join(words) + ".")
            seen.append(paragraphs[-1])
        if rng.random() < 0.3:
            paragraphs.append(rng.choice(["Opening hours", "Ask at the desk for further help"]))
        documents.append(paragraphs)
    folder.mkdir()
    for number, paragraphs in enumerate(documents):
        (folder / f"{number:03d}.txt").write_text("\n\n".join(paragraphs))
    return documents


def planned(folder: Path, text: Path) -> Path:
    """Writes the plan of a text; returns its path."""
    path = folder / "plan.json"
    path.write_text(json.dumps(plan_of(TextFiles([text], FilesConfig())).to_dict()))
    return path


def num_parts(plan: Path) -> int:
    values = json.loads(plan.read_text())
    return len(values.get("plan", values)["parts"])


def decided(plan: Path, output: Path, config=NEAR, order=None) -> list[dict[int, str]]:
    """Signs the parts, each by a job of its own, and decides; returns reasons by number, a part."""
    for number in order or range(num_parts(plan)):
        sign_parts(SignJob(plan, output, config, number))
    find_duplicates(DuplicatesJob(plan, output, config))
    return reasons(output, num_parts(plan))


def reasons(output: Path, count: int) -> list[dict[int, str]]:
    duplicates = Duplicates(output)
    return [
        {item: refusal.reason for item, refusal in duplicates.of(number).items()}
        for number in range(count)
    ]


def files(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in output.iterdir() if path.is_file()}


def oracle(plan: Path, config: CleaningConfig) -> list[dict[int, str]]:
    """What is to go, by comparing every paragraph with every other."""
    read = planning.Plan.from_dict(json.loads(plan.read_text()))
    where, texts, documents = [], [], []
    for part in range(len(read.parts)):
        found = [
            (document.document_id, content)
            for document in read.documents(part)
            for content in document.paragraphs
        ]
        for item, (document, content) in enumerate(found):
            assert isinstance(content, Paragraph)
            where.append((part, item))
            texts.append(content.text)
            documents.append(document)
    words = [" ".join(bare_words(text)) for text in texts]
    goes: dict[int, str] = {}
    for i, text in enumerate(texts):
        same = {
            documents[j] for j in range(len(texts))
            if words[j] == words[i] and not texts[j].endswith(".")
        }  # fmt: skip
        if config.repeated_in and not text.endswith(".") and len(same) >= config.repeated_in:
            goes[i] = "repeated_line"
    long = [
        i for i in range(len(texts))
        if len(words[i].split()) >= config.min_duplicate_words and i not in goes
    ]  # fmt: skip
    for i in long:
        if any(words[j] == words[i] for j in long if j < i):
            goes[i] = "exact_duplicate"
    left = [i for i in long if i not in goes]
    if config.duplicates == "near":
        hashes = min_hashes([words[i].split() for i in left])
        keys, low = band_keys(hashes), hashes.astype(np.uint16)
        cluster = {i: i for i in left}
        for a, b in combinations(range(len(left)), 2):
            alike = similarities(low[a : a + 1], low[b : b + 1])[0] >= config.near_threshold
            if alike and (keys[:, a] == keys[:, b]).any():
                one, other = sorted((cluster[left[a]], cluster[left[b]]))
                cluster = {i: one if first == other else first for i, first in cluster.items()}
        goes |= {i: "near_duplicate" for i, first in cluster.items() if first != i}
    found_parts: list[dict[int, str]] = [{} for _ in read.parts]
    for i, reason in goes.items():
        found_parts[where[i][0]][where[i][1]] = reason
    return found_parts


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("at_once", "joined_at_once"), [(7, 0), (1_000_000, 10_000)])
def test_what_goes_is_what_comparing_all_finds(
    tmp_path, monkeypatch, seed, at_once, joined_at_once
):
    monkeypatch.setattr(finding, "AT_ONCE", at_once)
    monkeypatch.setattr(near, "_JOINED_AT_ONCE", joined_at_once)
    corpus(tmp_path / "text", seed)
    plan = planned(tmp_path, tmp_path / "text")
    found = decided(plan, tmp_path / "out")
    assert found == oracle(plan, NEAR)
    assert len(found) > 5
    assert {reason for part in found for reason in part.values()} >= {
        "exact_duplicate",
        "near_duplicate",
    }


def test_exact_duplicates_alone(tmp_path):
    config = CleaningConfig(duplicates="exact", min_duplicate_words=12)
    corpus(tmp_path / "text")
    plan = planned(tmp_path, tmp_path / "text")
    found = decided(plan, tmp_path / "out", config)
    assert found == oracle(plan, config)
    assert {reason for part in found for reason in part.values()} == {"exact_duplicate"}


def test_the_order_and_number_of_jobs_change_no_byte(tmp_path):
    corpus(tmp_path / "text")
    plan = planned(tmp_path, tmp_path / "text")
    count = num_parts(plan)
    sign_parts(SignJob(plan, tmp_path / "one", NEAR, 0, count))
    find_duplicates(DuplicatesJob(plan, tmp_path / "one", NEAR))
    decided(plan, tmp_path / "many", order=[*reversed(range(count))])
    assert files(tmp_path / "one") == files(tmp_path / "many")


def test_a_part_s_size_changes_nothing_of_what_goes(tmp_path, monkeypatch):
    corpus(tmp_path / "text")
    small = planned(tmp_path, tmp_path / "text")
    several = decided(small, tmp_path / "several")
    monkeypatch.setattr(planning, "rows_in_shard", lambda number: 1_000_000)
    one = decided(planned(tmp_path, tmp_path / "text"), tmp_path / "one")
    assert len(one) == 1 < len(several)
    assert [*one[0].values()] == [reason for part in several for reason in part.values()]


def test_a_killed_run_goes_on_and_has_the_same_bytes(tmp_path, monkeypatch):
    corpus(tmp_path / "text")
    plan = planned(tmp_path, tmp_path / "text")
    count = num_parts(plan)
    decided(plan, tmp_path / "whole")
    killed = tmp_path / "killed"
    sign_parts(SignJob(plan, killed, NEAR, 0, 3))
    before = signature_path(killed, 0).stat().st_mtime_ns
    sign_parts(SignJob(plan, killed, NEAR, 0, count))
    assert signature_path(killed, 0).stat().st_mtime_ns == before
    write, left = finding.write_drops, [2]

    def until_killed(*arguments):
        if not left[0]:
            raise KeyboardInterrupt
        left[0] -= 1
        return write(*arguments)

    monkeypatch.setattr(finding, "write_drops", until_killed)
    with pytest.raises(KeyboardInterrupt):
        find_duplicates(DuplicatesJob(plan, killed, NEAR))
    assert not (killed / MANIFEST_NAME).exists()
    monkeypatch.setattr(finding, "write_drops", write)
    find_duplicates(DuplicatesJob(plan, killed, NEAR))
    assert files(killed) == files(tmp_path / "whole")
    assert not (killed / "scratch").exists()


def test_what_was_kept_has_no_duplicates(tmp_path):
    documents = corpus(tmp_path / "text", seed=3)
    plan = planned(tmp_path, tmp_path / "text")
    texts = [text for paragraphs in documents for text in paragraphs]
    gone, begun = set(), 0
    read = planning.Plan.from_dict(json.loads(plan.read_text()))
    for part, found in enumerate(decided(plan, tmp_path / "out")):
        gone |= {begun + item for item in found}
        begun += sum(len(list(document.paragraphs)) for document in read.documents(part))
    (tmp_path / "kept").mkdir()
    kept = [text for number, text in enumerate(texts) if number not in gone]
    (tmp_path / "kept" / "a.txt").write_text("\n\n".join(kept))
    again = decided(planned(tmp_path, tmp_path / "kept"), tmp_path / "again")
    assert gone
    assert not any(again)


def test_a_line_of_many_documents_goes_everywhere(tmp_path):
    texts = {
        "a.txt": "Ask at the desk\n\nThe lamp was lost.\n\n“No.”\n\nSee the map",
        "b.txt": "See the map\n\nSee the map\n\nAsk at the DESK\n\n“No.”",
        "c.txt": "Ask at the desk.\n\n“No.”\n\nAsk, at the desk\n\nAsk at the desk",
    }
    (tmp_path / "text").mkdir()
    for name, text in texts.items():
        (tmp_path / "text" / name).write_text(text)
    plan = planned(tmp_path, tmp_path / "text")
    (found,) = decided(plan, tmp_path / "out", CleaningConfig(repeated_in=3))
    assert found == dict.fromkeys([0, 6, 10, 11], "repeated_line")


def test_signatures_of_something_else_are_refused(tmp_path):
    corpus(tmp_path / "text")
    plan = planned(tmp_path, tmp_path / "text")
    sign_parts(SignJob(plan, tmp_path / "out", NEAR, 0))
    with pytest.raises(ValueError, match="signatures of another text or of other cleaning; delete"):
        sign_parts(SignJob(plan, tmp_path / "out", CleaningConfig(duplicates="exact"), 1))


def test_a_part_that_is_not_signed_is_named(tmp_path):
    corpus(tmp_path / "text")
    plan = planned(tmp_path, tmp_path / "text")
    sign_parts(SignJob(plan, tmp_path / "out", NEAR, 0))
    with pytest.raises(FileNotFoundError, match=r"00001\.signatures: not signed yet"):
        find_duplicates(DuplicatesJob(plan, tmp_path / "out", NEAR))


@pytest.mark.parametrize("damaged", ["signatures", "decisions"])
def test_a_damaged_file_is_named(tmp_path, damaged):
    corpus(tmp_path / "text")
    plan = planned(tmp_path, tmp_path / "text")
    decided(plan, tmp_path / "out")
    if damaged == "decisions":
        drops_path(tmp_path / "out", 1).write_bytes(b"nothing")
        with pytest.raises(ValueError, match=r"00001\.duplicates\.npy: damaged"):
            Duplicates(tmp_path / "out").of(1)
        return
    (tmp_path / "out" / MANIFEST_NAME).unlink()
    signature_path(tmp_path / "out", 1).write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"00001\.signatures: damaged"):
        find_duplicates(DuplicatesJob(plan, tmp_path / "out", NEAR))


@pytest.mark.parametrize("shared", [0.5, 0.8, 0.95])
def test_minhash_estimates_jaccard_s_similarity(shared):
    rng = random.Random(1)
    errors = []
    for _ in range(60):
        words = [f"{rng.random()}" for _ in range(100)]
        cut = round(100 * shared)
        other = words[:cut] + [f"{rng.random()}" for _ in range(100 - cut)]
        one, two = set(shingles(words)), set(shingles(other))
        hashes = min_hashes([words, other]).astype(np.uint16)
        truth = len(one & two) / len(one | two)
        errors.append(similarities(hashes[:1], hashes[1:])[0] - truth)
    assert abs(np.mean(errors)) < 0.02  # its deviation: sqrt(0.25 / 112 / 60) < 0.007
    assert np.std(errors) < 0.06


def test_keys_of_bands_are_alike_where_their_values_are():
    hashes = np.random.default_rng(0).integers(0, 1 << 32, (2, HASHES), dtype=np.uint32)
    hashes[1, :8] = hashes[0, :8]
    alike = band_keys(hashes)[:, 0] == band_keys(hashes)[:, 1]
    assert alike.tolist() == [True] + [False] * (BANDS - 1)


def test_a_chain_of_pairs_is_joined_to_its_first():
    chain = np.array([[n, n + 1] for n in range(50)] + [[90, 91], [80, 91]], np.uint64)
    rng = np.random.default_rng(0)
    goes, stays = joined(rng.permutation(chain))
    assert goes.tolist() == [*range(1, 51), 90, 91]
    assert stays.tolist() == [0] * 50 + [80, 80]


def test_splitting_reads_the_manifest_of_all_parts_once(tmp_path, monkeypatch):
    corpus(tmp_path / "text")
    source, exact = (
        TextFiles([tmp_path / "text"], FilesConfig()),
        CleaningConfig(duplicates="exact"),
    )
    split = CorpusSplit(source, SentenceConfig(), tmp_path / "out", exact)
    split.begin()
    decided(split.plan_path, tmp_path / "out" / DUPLICATES_FOLDER, exact)
    read, paths = json_files.read_json, []

    def noted(path, **keywords):
        paths.append(path.name)
        return read(path, **keywords)

    monkeypatch.setattr(json_files, "read_json", noted)
    manifest = split.split_all()
    assert manifest.drops["exact_duplicate"] > 0
    assert len(manifest.shards) > 3
    assert paths.count(MANIFEST_NAME) == 1
