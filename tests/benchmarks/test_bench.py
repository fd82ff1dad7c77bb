"""The page of all quick benchmarks: who is on it, and what it says of those that failed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks import bench
from tests.support.repository import REPOSITORY

FAKES = {
    "measures": """import sys
assert sys.argv[1:2] == ["--quick"]
print("working", file=sys.stderr)
print("## A table\\n\\n- a note\\n")
print('{"rate": 3.5}')
""",
    "lacks": "import sys\nprint('no text here; run it first', file=sys.stderr)\nsys.exit(3)",
}


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three benchmarks in the place of the real ones."""
    (tmp_path / "benchmarks").mkdir()
    for name, code in {"__init__": "", **FAKES}.items():
        (tmp_path / "benchmarks" / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(bench, "BENCHMARKS", tuple(FAKES))


@pytest.mark.usefixtures("fakes")
def test_what_one_lacks_is_told_and_stops_no_other(capfd: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--only", "lacks", "measures"]) == 0
    page, progress = capfd.readouterr()
    assert "- lacks: lacks something: no text here; run it first" in page
    assert re.search(r"\| measures +\| measured +\|", page)
    assert "# measures\n\n## A table\n\n- a note\n" in page
    assert json.loads(page.splitlines()[-1]) == {"measures": {"rate": 3.5}}
    assert "benchmark 2 of 2: measures\nworking\n" in progress


def test_every_benchmark_with_a_quick_mode_is_on_the_page() -> None:
    have = {
        path.stem
        for path in (REPOSITORY / "benchmarks").glob("*.py")
        if "parse_arguments(" in path.read_text(encoding="utf-8") and path.stem != "quick"
    }
    assert have == set(bench.BENCHMARKS)
