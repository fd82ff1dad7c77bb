"""The wheel outside the repository: run, encode, evaluate and inspect, on ten documents."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.support.installed_wheel import Installation, install_wheel
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


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("text")
    return write_stories(folder, num_documents=NUM_DOCUMENTS, num_sentences=NUM_SENTENCES)


def crowded(folder: Path) -> Path:
    """Makes a folder that has packages and data of its own under the names of ours."""
    for name in ("models", "pipeline", "tasks", "data", "treeviews"):
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise RuntimeError('theirs')\n")
    (folder / "data" / "parsers").mkdir()
    return folder


@pytest.fixture(params=["an empty folder", "a folder with packages of our names"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """The folder in which everything is started."""
    folder = tmp_path / "project"
    if request.param == "an empty folder":
        folder.mkdir()
        yield folder
        return
    before = sorted(crowded(folder).rglob("*"))
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


@pytest.mark.parametrize(
    "order", ["import models, tasks, treeviews", "import treeviews, tasks, models"]
)
def test_a_program_may_have_modules_of_our_folders_names(
    installation: Installation, tmp_path: Path, order: str
) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "__init__.py").write_text("mine = 2\n")
    (tmp_path / "models.py").write_text("mine = 1\ndef encode(s): return [[1.0] for _ in s]\n")
    (tmp_path / "program.py").write_text(
        f"{order}\n"
        "shape = treeviews.encode(['It rains.'], 'english-trees').shape\n"
        "print(models.mine, tasks.mine, *shape, *treeviews.encode('It', 'models:encode'))"
    )

    said = installation.run(tmp_path, "python", "program.py").stdout
    luigi = ("python", "-m", "luigi", "--module", "treeviews.tasks", "--local-scheduler")
    installation.run(tmp_path, *luigi, "SplitSentences", "--work-folder", "work")

    assert said == "1 2 1 900 1.0\n"
    assert len([*(tmp_path / "work" / "corpora").iterdir()]) == 1


def test_the_whole_pipeline_runs(installation: Installation, text: Path, tmp_path: Path) -> None:
    """Raw text to the report, and not a line of what was imported comes from elsewhere."""
    done = installation.run(
        tmp_path,
        *("treeviews", "run", "RunAll", "--source", "files", "--paths", str(text)),
        *("--work-folder", "work", "--changes", json.dumps(SMALL)),
        *("--held-out-fraction", "0.5", "--further-seeds", "[]"),
    )

    report = tmp_path / done.stdout.splitlines()[-1]
    assert report.name == "report.html"
    assert json.loads(report.with_suffix(".json").read_text(encoding="utf-8"))["rows"]


def test_run_encode_evaluate_and_inspect(
    installation: Installation, text: Path, where: Path
) -> None:
    run = ("treeviews", "run", "TrainEncoders", "--source", "files", "--paths", str(text))
    installation.run(where, *run, "--work-folder", "work", "--changes", json.dumps(SMALL))

    (corpus,) = (where / "work" / "corpora").iterdir()
    for stage in corpus.iterdir():
        assert read_dataset_manifest(stage).rows == NUM_DOCUMENTS * NUM_SENTENCES
    installation.run(where, "treeviews", "inspect", "check", str(corpus))

    (model,) = (where / "work" / "models").iterdir()
    (where / "sentences.txt").write_text("The cat sat.\nIt slept.\n", encoding="utf-8")
    for encoder in ("english", "english-trees", str(model)):
        given = ("--input", "sentences.txt", "--out", "vectors.npy")
        installation.run(where, "treeviews", "encode", encoder, *given)
        assert np.load(where / "vectors.npy").shape[0] == 2

    data = write_tiny_senteval(where / "senteval")
    asked = ("--encoder", "english-trees", "--data", str(data), "--tasks", "MR,STS13")
    installation.run(
        where,
        "treeviews",
        "evaluate",
        *asked,
        "--folds",
        "3",
        "--out",
        "scores",
    )
    results = read_results(where / "scores")
    assert set(results) == {"MR", "STS13"}
    assert all(isinstance(result, TaskResult) for result in results.values())


def test_a_function_of_the_users_own_is_scored(installation: Installation, where: Path) -> None:
    (where / "mine.py").write_text(
        "def encode(sentences):\n"
        "    return [[float(len(s)), float(ord(s[0]))] for s in sentences]\n"
    )
    data = write_tiny_senteval(where / "senteval")

    asked = ("--encoder", "mine:encode", "--data", str(data), "--tasks", "STS13")
    installation.run(where, "treeviews", "evaluate", *asked, "--out", "scores")

    assert set(read_results(where / "scores")) == {"STS13"}
