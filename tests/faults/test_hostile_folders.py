"""Folders that are malformed or traps are refused in one line that names the file."""

# ruff: noqa: E501 (a line an item)

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.support.random_dependency_parsers import random_model
from tests.support.shard_files import sentence_rows, write_stage
from treeviews.models.model.ranks import ALONE
from treeviews.models.training.checkpoints import (
    CHECKPOINTS_FOLDER,
    Checkpoint,
    open_checkpoint,
    write_checkpoint,
)
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.json_files import FILES, SEAL
from treeviews.pipeline.parsers.parser_files import CHECKSUMS_NAME
from treeviews.pipeline.parsers.parser_folder import save_model
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.vectors.vector_folder import write_vectors

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]

SECRET = "do-not-tell"
DEEP = "[" * 100_000
DOORS: dict[str, Callable[[Path], Any]] = {
    "parser": lambda path: load_parser(path, "dependencies"),
    "vectors": load_word_vectors,
    "training": lambda path: open_checkpoint(path, "identity", ALONE),
    "sentences": lambda path: read_dataset_manifest(path, "sentences"),
}
"""What a user opens a folder by."""


def make(door: str, folder: Path) -> None:
    """Writes a good folder that no sha256 protects: who makes a hostile one leaves these out."""
    if door == "parser":
        save_model(random_model(0), folder)
        (folder / CHECKSUMS_NAME).unlink()
    if door == "vectors":
        write_vectors(folder, ["a", "b"], torch.ones(2, 4).numpy(), {"words": 2})
    if door == "training":
        checkpoint = Checkpoint(1, {"weight": torch.zeros(2)}, {"identity": "identity"})
        write_checkpoint(folder / CHECKPOINTS_FOLDER, checkpoint)
    if door == "sentences":
        write_stage(folder, "sentences", sentence_rows([["Rain", "fell"]]))
    for path in folder.rglob("*.json"):
        value = json.loads(path.read_text())
        if isinstance(value, dict):
            path.write_text(json.dumps({k: v for k, v in value.items() if k not in (SEAL, FILES)}))


# fmt: off
TABLE: tuple[tuple[str, str, Any], ...] = (  # a door, a file, and other bytes or the entry of its JSON (a/b: b of a) with its value
    ("parser", "parser.json", b"{"),
    ("parser", "parser.json", DEEP.encode()),
    ("parser", "parser.json", ("format_version", ["\x1b[2J" * 500])),
    ("parser", "parser.json", ("kind", "x" * 100_000)),
    ("parser", "parser.json", ("config/sizes/lstm_layers", 10**9)),
    ("parser", "parser.json", ("config/vocabulary/words", [1, 2])),
    ("parser", "parser.json", ("files", {"../victim": "{victim}"})),
    ("parser", "weights.safetensors", b"x" * 99),
    ("parser", "checksums.json", b'{"file_sha256": {"parser.json": 5}}'),
    ("vectors", "words.parquet", b"PAR1" * 9),
    ("vectors", "training.json", b"[]"),
    ("training", "checkpoints/step-0000000001/state.json", ("step", "x")),
    ("sentences", "manifest.json", DEEP.encode()),
)
# fmt: on


def spoil(path: Path, change: Any, victim: Path) -> None:
    """Makes a file a hostile one."""
    if isinstance(change, bytes):
        path.write_bytes(change)
        return
    content = inner = json.loads(path.read_text())
    *parents, name = change[0].split("/")
    for parent in parents:
        inner = inner[parent]
    inner[name] = change[1]
    path.write_text(json.dumps(content).replace("{victim}", sha256_of_file(victim)))


@pytest.mark.parametrize(
    ("door", "file", "change"), TABLE, ids=[f"{n}-{row[1]}" for n, row in enumerate(TABLE)]
)
def test_hostile_folders_are_refused_in_one_line(
    door: str, file: str, change: Any, tmp_path: Path
) -> None:
    folder, victim = tmp_path / "folder", tmp_path / "victim"
    victim.write_text(SECRET)
    folder.mkdir()
    make(door, folder)
    if not file.endswith("checksums.json"):
        DOORS[door](folder)  # it is good
    spoil(folder / file, change, victim)
    with pytest.raises((ValueError, OSError)) as refusal:
        DOORS[door](folder)
    said = str(refusal.value)
    assert str(folder) in said
    assert len(said) <= 1_200 and said.isprintable()
    assert SECRET not in said
