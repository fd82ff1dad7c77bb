"""Holds the layers: tasks -> models -> pipeline, and where heavy libraries may be imported."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY

FLOORS = ("pipeline", "models", "tasks")

ALLOWED_BELOW = {"pipeline": {"pipeline"}, "models": {"models", "pipeline"}, "tasks": set(FLOORS)}

# A library -> the places (path prefixes) that may import it.
HOMES = {
    "luigi": ("tasks/",),
    "spacy": ("pipeline/text/sentences/tokenization.py",),
    "supar": ("pipeline/parsers/",),
    "benepar": ("pipeline/parsers/", "pipeline/parser_training/"),
    "nltk": ("pipeline/",),
    "gensim": ("pipeline/vectors/",),
    "torch": ("pipeline/parsers/", "pipeline/parser_training/", "models/"),
    "zstandard": ("pipeline/text/corpora/",),
    "matplotlib": ("models/report/",),
    "tqdm": ("models/",),
    "triton": ("models/encoders/kernels/fused",),
    "ray": ("tasks/ray_engine.py",),
}

ABOVE_TRAINING = ("models/training/", "models/train.py", "models/report/")

MODELS_NEED_ONLY = {"torch", "numpy", "pyarrow", "safetensors", "models", "pipeline"}
MODELS_MAY_IMPORT_LAZILY = {"matplotlib", "tqdm"}
IMPORTED_IN_LAZY_FILES = {"triton"}  # at the top of files that are imported lazily themselves


def modules(floor: str) -> list[Path]:
    return sorted((REPOSITORY / floor).rglob("*.py"))


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    """Names of the top packages that a file imports; relative imports count as its own floor."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("floor", FLOORS)
def test_no_floor_imports_one_above_it(floor: str) -> None:
    assert modules(floor), f"{floor}/ holds no module"
    wrong = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in modules(floor)
        for name in sorted(imports(path) & (set(FLOORS) | {"tests", "benchmarks"}))
        if name not in ALLOWED_BELOW[floor]
    ]
    assert wrong == []


@pytest.mark.parametrize("library", sorted(HOMES))
def test_library_is_imported_only_in_its_home(library: str) -> None:
    wrong = [
        str(path.relative_to(REPOSITORY))
        for floor in FLOORS
        for path in modules(floor)
        if library in imports(path)
        and not str(path.relative_to(REPOSITORY)).startswith(HOMES[library])
    ]
    assert wrong == []


def test_parsers_do_not_import_their_training() -> None:
    wrong = [
        str(path)
        for path in (REPOSITORY / "pipeline/parsers").rglob("*.py")
        if "parser_training" in path.read_text(encoding="utf-8")
    ]
    assert wrong == []


def test_what_training_builds_on_does_not_import_it() -> None:
    wrong = [
        name
        for path in modules("models")
        if "models.training." in path.read_text(encoding="utf-8")
        and not (name := str(path.relative_to(REPOSITORY))).startswith(ABOVE_TRAINING)
    ]
    assert wrong == []


def test_the_way_from_text_to_vectors_does_not_import_what_evaluates_them() -> None:
    ways = [
        *(REPOSITORY / "models" / "text").glob("*.py"),
        REPOSITORY / "models/encoding/text_encoder.py",
    ]
    assert len(ways) > 2
    wrong = [path.name for path in ways if "models.evaluation" in path.read_text(encoding="utf-8")]
    assert wrong == []


def test_models_import_nothing_but_what_a_bare_gpu_machine_has() -> None:
    standard = set(sys.stdlib_module_names)
    wrong = []
    for path in modules("models"):
        lazy = imports(path) - imports(path, top_level_only=True)
        extra = imports(path) - standard - MODELS_NEED_ONLY - (lazy & MODELS_MAY_IMPORT_LAZILY)
        extra -= IMPORTED_IN_LAZY_FILES
        wrong += [f"{path.relative_to(REPOSITORY)} imports {name}" for name in sorted(extra)]
    assert wrong == []


def test_defining_the_tasks_loads_no_heavy_library() -> None:
    """Luigi forks its workers, which is safe only while the parent has not started torch."""
    heavy = ["torch", "spacy", "supar", "benepar", "matplotlib", "ray"]
    code = f"import tasks, sys; print([m for m in {heavy!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("wing", ["pipeline.downloads.evaluation_data"])
def test_a_wing_is_entered_by_its_door_alone(wing: str) -> None:
    wrong = [
        str(path.relative_to(REPOSITORY))
        for floor in FLOORS
        for path in modules(floor)
        if f"from {wing}." in path.read_text(encoding="utf-8")
        and not path.is_relative_to(REPOSITORY / wing.replace(".", "/"))
    ]
    assert wrong == []
