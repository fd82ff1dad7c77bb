"""The wheel outside the repository: run, encode, evaluate and inspect, on ten documents."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tests.support.repository import REPOSITORY
from tests.support.stories import write_stories
from tests.support.tiny_senteval import write_tiny_senteval
from treeviews.models.evaluation.task_result import TaskResult, read_results
from treeviews.pipeline.shards.manifests import read_dataset_manifest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

NUM_DOCUMENTS, NUM_SENTENCES = 10, 60
SMALL = {"hidden_size": 8, "epochs": 1, "batch_size": 20, "held_out_batches": 1}
FLOORS = ("pipeline", "models", "tasks", "treeviews")
MOST_BYTES = 100_000_000
"""The most that a package index takes by default."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment with the wheel, and the libraries of the one that runs the tests."""

    folder: Path
    wheel: Path

    def run(self, where: Path, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Runs a command of the environment in a folder, as somebody who knows no repository.

        Args:
            code: the exit code that it must have.
        """
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        program, *arguments = command
        done = subprocess.run(
            [str(self.folder / "bin" / program), *arguments],
            cwd=where,
            env=environment | {"OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        return done


def install_wheel(folder: Path) -> Installation:
    """Builds the wheel and installs it into a new environment below a folder, without an index."""
    pytest.importorskip("hatchling", reason="builds the wheel: pip install hatchling")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    how = ("--quiet", "--no-deps", "--no-index")
    subprocess.run(
        [*pip, "wheel", *how, "--no-build-isolation", "--wheel-dir", str(folder), str(REPOSITORY)],
        check=True,
    )
    (wheel,) = folder.glob("treeviews-*.whl")
    new = folder / "environment"
    venv.create(new)
    (libraries,) = new.glob("lib/python*/site-packages")
    # Their own .pth files are not read there, so an editable installation does not come along.
    theirs = [place for place in sys.path if Path(place).name == "site-packages"]
    (libraries / "libraries.pth").write_text("\n".join(theirs) + "\n", encoding="utf-8")
    python = ("--python", str(new / "bin" / "python"))
    subprocess.run([*pip, *python, "install", *how, str(wheel)], check=True)
    return Installation(new, wheel)


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def where(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where everything is started: with packages and data of its own under the names of ours."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("models", "pipeline", "tasks", "data", "treeviews"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise RuntimeError('theirs')\n")
    (folder / "data" / "parsers").mkdir()
    before = sorted(folder.rglob("*"))
    yield folder
    assert set(before) <= set(folder.rglob("*"))
    assert not any((folder / "data" / "parsers").iterdir())


def test_the_wheel_holds_what_the_floors_read_and_no_more(installation: Installation) -> None:
    names = set(zipfile.ZipFile(installation.wheel).namelist())

    code = {
        str(path.relative_to(REPOSITORY / ("treeviews" if floor == "treeviews" else "")))
        for floor in FLOORS
        for path in (REPOSITORY / floor).rglob("*.py")
    }
    code = {f"treeviews/{name}" for name in code}
    ships = {
        f"treeviews/{path.relative_to(REPOSITORY)}"
        for kind in ("models", "parsers", "published", "text", "tokens", "vectors")
        for path in (REPOSITORY / "data" / kind).rglob("*")
        if path.is_file()
    }
    templates = ("page.html", "page.css", "section.md", "table.tex")
    others = {"py.typed", *(f"models/report/{template}" for template in templates)}
    others.add("models/evaluation/evaluation_sets.toml")
    others |= {f"pipeline/downloads/{t}.tsv" for t in ("published_vectors", "senteval_files")}
    others = {f"treeviews/{name}" for name in others}
    described = {name for name in names if ".dist-info/" in name}
    assert names - described == code | ships | others
    assert installation.wheel.stat().st_size < MOST_BYTES


def test_nothing_is_taken_from_the_repository(installation: Installation, where: Path) -> None:
    code = (
        "import treeviews\n"
        "from treeviews import models, pipeline, tasks\n"
        "from treeviews.pipeline.base import bundled\n"
        "places = [m.__file__ for m in (treeviews, models, pipeline, tasks)]\n"
        "shipped = [*bundled.BUNDLED_MODELS.values(), *bundled.BUNDLED_PARSERS.values()]\n"
        "assert all(folder.is_dir() for folder in shipped), shipped\n"
        "print(*places, bundled.DATA, bundled.shown(shipped[-1]))"
    )
    *places, shown = installation.run(where, "python", "-P", "-c", code).stdout.split()

    assert len(places) == 5
    assert all(Path(place).is_relative_to(installation.folder) for place in places)
    assert shown == "data/parsers/constituency"


def test_a_program_may_have_modules_of_our_folders_names(
    installation: Installation, tmp_path: Path
) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "__init__.py").write_text("mine = 2\n")
    (tmp_path / "models.py").write_text("mine = 1\ndef encode(s): return [[1.0] for _ in s]\n")
    for order in ("import models, tasks, treeviews", "import treeviews, tasks, models"):
        (tmp_path / "program.py").write_text(
            f"{order}\n"
            "shape = treeviews.encode(['It rains.'], 'english-trees').shape\n"
            "print(models.mine, tasks.mine, *shape, *treeviews.encode('It', 'models:encode'))"
        )
        assert installation.run(tmp_path, "python", "program.py").stdout == "1 2 1 900 1.0\n"

    luigi = ("python", "-m", "luigi", "--module", "treeviews.tasks", "--local-scheduler")
    installation.run(tmp_path, *luigi, "SplitSentences", "--work-folder", "work")

    assert len([*(tmp_path / "work" / "corpora").iterdir()]) == 1


def test_run_inspect_encode_and_evaluate(
    installation: Installation, where: Path, tmp_path: Path
) -> None:
    """Raw text to the report, and what is done with what a run leaves."""
    text = write_stories(tmp_path, num_documents=NUM_DOCUMENTS, num_sentences=NUM_SENTENCES)
    run = ("treeviews", "run", "RunAll", "--source", "files", "--paths", str(text))
    small = ("--changes", json.dumps(SMALL), "--further-seeds", "[]", "--held-out-fraction", "0.5")
    done = installation.run(where, *run, *small, "--work-folder", "work")

    report = where / done.stdout.splitlines()[-1]
    assert report.name == "report.html"
    assert json.loads(report.with_suffix(".json").read_text(encoding="utf-8"))["rows"]
    (corpus,) = (where / "work" / "corpora").iterdir()
    for stage in corpus.iterdir():
        assert read_dataset_manifest(stage).rows == NUM_DOCUMENTS * NUM_SENTENCES
    installation.run(where, "treeviews", "inspect", "check", str(corpus))

    (model,) = (where / "work" / "models").iterdir()
    (where / "sentences.txt").write_text("The cat sat.\nIt slept.\n", encoding="utf-8")
    given = ("--input", "sentences.txt", "--out", "vectors.npy")
    installation.run(where, "treeviews", "encode", str(model), *given)
    assert np.load(where / "vectors.npy").shape[0] == 2

    (where / "mine.py").write_text(
        "def encode(sentences):\n"
        "    return [[float(len(s)), float(ord(s[0]))] for s in sentences]\n"
    )
    data = write_tiny_senteval(where / "senteval")
    asked = ("--encoder", "mine:encode", "--data", str(data), "--tasks", "MR,STS13")
    installation.run(where, "treeviews", "evaluate", *asked, "--folds", "3", "--out", "scores")
    results = read_results(where / "scores")
    assert {name: type(result) for name, result in results.items()} == {
        "MR": TaskResult,
        "STS13": TaskResult,
    }
