from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from treeviews.pipeline.text import find_duplicates as finding
from treeviews.pipeline.text import plan as planning
from treeviews.pipeline.text.cleaning_steps import CleaningConfig
from treeviews.pipeline.text.documents import Paragraph
from treeviews.pipeline.text.find_duplicates import (
    MANIFEST_NAME,
    DuplicatesJob,
    bare_words,
    drops_path,
    duplicates_of,
    execute,
    signature_path,
)
from treeviews.pipeline.text.plan import plan_of
from treeviews.pipeline.text.text_sources import FilesConfig, TextFiles

EXACT = CleaningConfig(duplicates="exact", repeated_in=3)
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
    path.write_text(json.dumps({"plan": plan_of(TextFiles([text], FilesConfig())).to_dict()}))
    return path


def run(plan: Path, output: Path, config: CleaningConfig = EXACT, **parts: int) -> None:
    """Signs some parts, or decides."""
    execute(DuplicatesJob(plan=plan, output=output, config=config, **parts), lambda *_: None)


def num_parts(plan: Path) -> int:
    return len(json.loads(plan.read_text())["plan"]["ends"])


def decided(plan: Path, output: Path, config=EXACT, order=None) -> list[dict[int, str]]:
    """Signs the parts, each by a job of its own, and decides; returns reasons by number, a part."""
    for number in order or range(num_parts(plan)):
        run(plan, output, config, number=number)
    run(plan, output, config)
    return reasons(output, num_parts(plan))


def reasons(output: Path, count: int) -> list[dict[int, str]]:
    return [
        {item: refusal.reason for item, refusal in duplicates_of(output, number).items()}
        for number in range(count)
    ]


def files(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in output.iterdir() if path.is_file()}


def oracle(plan: Path, config: CleaningConfig) -> list[dict[int, str]]:
    """What is to go, by comparing every paragraph with every other."""
    read = planning.Plan.from_dict(json.loads(plan.read_text())["plan"])
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
    found_parts: list[dict[int, str]] = [{} for _ in read.parts]
    for i, reason in goes.items():
        found_parts[where[i][0]][where[i][1]] = reason
    return found_parts


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("at_once", [7, 1_000_000])
def test_what_goes_is_what_comparing_all_finds(tmp_path, monkeypatch, seed, at_once):
    monkeypatch.setattr(finding, "AT_ONCE", at_once)
    corpus(tmp_path / "text", seed)
    plan = planned(tmp_path, tmp_path / "text")
    found = decided(plan, tmp_path / "out")
    assert found == oracle(plan, EXACT)
    assert "exact_duplicate" in {reason for part in found for reason in part.values()}


def test_a_killed_run_of_other_jobs_goes_on_and_has_the_same_bytes(tmp_path, monkeypatch):
    corpus(tmp_path / "text")
    plan = planned(tmp_path, tmp_path / "text")
    count = num_parts(plan)
    decided(plan, tmp_path / "whole", order=[*reversed(range(count))])
    killed = tmp_path / "killed"
    run(plan, killed, number=0, count=3)
    before = signature_path(killed, 0).stat().st_mtime_ns
    run(plan, killed, number=0, count=count)
    assert signature_path(killed, 0).stat().st_mtime_ns == before
    with monkeypatch.context() as patch:
        patch.setattr(finding, "write_sealed_json", None)
        with pytest.raises(TypeError):
            run(plan, killed)
    assert not (killed / MANIFEST_NAME).exists()
    run(plan, killed)
    assert files(killed) == files(tmp_path / "whole")


@pytest.mark.parametrize("damaged", ["signatures", "decisions"])
def test_a_damaged_file_is_named(tmp_path, damaged):
    corpus(tmp_path / "text")
    plan = planned(tmp_path, tmp_path / "text")
    decided(plan, tmp_path / "out")
    if damaged == "decisions":
        drops_path(tmp_path / "out", 1).write_bytes(b"nothing")
        with pytest.raises(ValueError, match=r"00001\.duplicates\.npy: damaged"):
            duplicates_of(tmp_path / "out", 1)
        return
    (tmp_path / "out" / MANIFEST_NAME).unlink()
    signature_path(tmp_path / "out", 1).write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"00001\.signatures: damaged"):
        run(plan, tmp_path / "out")
