"""Comparing frameworks as a user does it: from the command line, in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY
from tests.support.stories import write_stories
from tests.support.tiny_senteval import write_tiny_senteval

LUIGI = Path(sys.executable).with_name("luigi")
SMALL = {"epochs": 1, "batch_size": 32, "shared_negatives": 16}
VECTORS = {"size": 6, "epochs": 1, "min_count": 1}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def compare(folder: Path) -> subprocess.CompletedProcess[str]:
    """Compares B-G with its baselines on two tasks, on as many workers as by default."""
    options = {
        "work-folder": folder / "work",
        "source": "files",
        "paths": folder / "stories",
        "senteval-data": folder / "data",
        "frameworks": "B-G",
        "tasks": "STS13,TREC",
        "vectors": "corpus",
        "vector-changes": json.dumps(VECTORS),
        "changes": json.dumps(SMALL | {"held_out_batches": 2}),
        "width": "8",
        "held-out-fraction": "0.25",
        "component-kept": "none",
        "folds": "2",
    }
    return subprocess.run(
        [str(LUIGI), "--module", "tasks", "CompareFrameworks", "--local-scheduler"]
        + [part for name, value in options.items() for part in (f"--{name}", str(value))],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_framework_with_a_decoder_is_trained_scored_and_tabled(tmp_path: Path) -> None:
    pytest.importorskip("gensim")
    write_stories(tmp_path / "stories", num_documents=12, num_sentences=20)
    write_tiny_senteval(tmp_path / "data")

    result = compare(tmp_path)

    assert result.returncode == 0, result.stderr[-5000:]
    table = Path(result.stdout.splitlines()[-1])
    assert table.name == "table.html"
    text = table.with_suffix(".md").read_text(encoding="utf-8")
    for row in (
        "B-G, z_en (0-SEQ)",
        "B-G, z_de (1-INV)",
        "B-G, ensemble",
        "B-G, random weights, ensemble",
        "word vectors, pooled as g",
    ):
        assert f"| {row} | here |" in text
    assert "|  | B, table 3, G1; " in text
    (summary,) = (tmp_path / "work" / "models").glob("SEQ-generative-*/summary.json")
    num_parameters = json.loads(summary.read_text(encoding="utf-8"))["num_parameters"]
    assert f" {num_parameters:,} |" in text

    before = table.stat().st_mtime_ns
    assert compare(tmp_path).stdout.splitlines()[-1] == str(table)
    assert table.stat().st_mtime_ns == before
