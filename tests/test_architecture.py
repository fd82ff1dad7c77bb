"""Holds the drawing: floors, the order of rooms that ARCHITECTURE.md gives, homes of libraries."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.support.repository import REPOSITORY

MOST_FILES = 24
"""That a folder holds beside its `__init__`; a reader takes in no more at a glance."""
FLOORS = ("pipeline", "models", "tasks", "treeviews")

ALLOWED_BELOW = {floor: set(FLOORS[: place + 1]) for place, floor in enumerate(FLOORS)}

# A library -> the places (path prefixes) that may import it.
HOMES = {
    "luigi": ("tasks/",),
    "typer": ("treeviews/command/",),
    "rich": ("tasks/run_display.py",),
    "spacy": (
        *("pipeline/text/tokenization.py", "pipeline/parsing/", "treeviews/spacy_component.py"),
        *("pipeline/inspect/show.py", "pipeline/inspect/tree_export.py"),
    ),
    "supar": ("pipeline/parsers/",),
    "benepar": (
        "pipeline/parsers/",
        "pipeline/parser_training/",
        "pipeline/parsing/spacy_docs.py",
    ),
    "nltk": ("pipeline/",),
    "pydantic": ("pipeline/", "models/evaluation/task_result.py"),
    "requests": ("pipeline/downloads/",),
    "gensim": ("models/train_word_vectors.py",),
    "torch": (
        *("pipeline/parsers/", "pipeline/parser_training/", "models/"),
        "treeviews/__init__.py",  # for annotations alone
    ),
    "py3langid": ("pipeline/text/cleaning_steps.py",),
    "duckdb": ("pipeline/inspect/aligned_rows.py",),
    "tqdm": ("models/",),
    "triton": ("models/encoders/triton_",),
    "matplotlib": ("models/report/training_section.py",),
    "ray": ("tasks/ray_engine.py",),
    "mteb": ("models/exchange/",),
    "datasets": ("pipeline/downloads/hub_dataset.py",),
    "huggingface_hub": ("models/model/hub.py",),
    "sentence_transformers": ("models/exchange/sentence_transformers_module.py",),
}

MODELS_NEED_ONLY = {"torch", "numpy", "pyarrow", "safetensors", "models", "pipeline"}
MODELS_MAY_IMPORT_LAZILY = {"gensim", "tqdm", "mteb", "huggingface_hub", "matplotlib", "pydantic"}
MODELS_MAY_IMPORT_LAZILY |= {"jinja2", "markupsafe"}  # torch brings them
IMPORTED_IN_LAZY_FILES = {"triton", "sentence_transformers"}
"""At the top of files that are imported lazily themselves."""


def modules(floor: str) -> list[Path]:
    return sorted((REPOSITORY / floor).rglob("*.py"))


@cache
def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    """Names of the top packages, and of floors, that a file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {top_or_floor(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {top_or_floor(f"{node.module}.{alias.name}") for alias in node.names}
    return found


def top_or_floor(name: str) -> str:
    """Returns the floor that a module is of, or else its top package."""
    top, *further = name.split(".")
    return further[0] if top == "treeviews" and further and further[0] in FLOORS else top


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


def test_a_library_is_imported_only_in_its_home() -> None:
    wrong = [
        f"{place} imports {library}"
        for floor in FLOORS
        for path in modules(floor)
        for library in sorted(imports(path) & HOMES.keys())
        if not (place := str(path.relative_to(REPOSITORY))).startswith(HOMES[library])
    ]
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
    heavy = ["torch", "spacy", "supar", "benepar", "ray"]
    code = f"import tasks, sys; print([m for m in {heavy!r} if m in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert result.stdout.strip() == "[]"


def rooms(floor: str) -> list[str]:
    """Returns the rooms of a floor in the order in which ARCHITECTURE.md draws them."""
    page = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    section = page.split(f"### {floor}/", 1)[1].split("\n#", 1)[0]
    return re.findall(r"^\| `([\w/]+)/` \|", section, flags=re.MULTILINE)


def room_of(name: str, listed: list[str]) -> str:
    """Returns the room that a module (dotted, without its floor) stands in; "" at the root."""
    path = name.replace(".", "/")
    return max((room for room in listed if f"{path}/".startswith(f"{room}/")), key=len, default="")


def imported_modules(path: Path, floor: str) -> set[str]:
    """Returns what a file imports of its own floor, as dotted names without the floor."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    own = f"treeviews.{floor}."
    return {name.removeprefix(own) for name in found if name.startswith(own)}


@pytest.mark.parametrize("floor", ["pipeline", "models"])
def test_every_folder_is_a_room_of_the_drawing(floor: str) -> None:
    listed = rooms(floor)
    folders = {str(path.parent.relative_to(REPOSITORY / floor)) for path in modules(floor)} - {"."}
    parents = {room.rsplit("/", 1)[0] for room in listed if "/" in room}
    assert folders - parents == set(listed) - parents


@pytest.mark.parametrize("floor", ["pipeline", "models"])
def test_a_room_imports_only_rooms_above_it_in_the_drawing(floor: str) -> None:
    """Also within `__init__` and in functions: no circle of folders, however late it closes."""
    listed = rooms(floor)
    wrong = []
    for path in modules(floor):
        name = str(path.relative_to(REPOSITORY / floor).with_suffix("")).replace("/", ".")
        own = room_of(name, listed)
        if not own:
            continue  # the commands at the root of the floor
        for imported in sorted(imported_modules(path, floor)):
            other = room_of(imported, listed)
            if other == own or (other and listed.index(other) < listed.index(own)):
                continue
            wrong.append(f"{floor}.{name} imports {imported}")
    assert wrong == []


def test_luigi_is_used_by_its_public_names() -> None:
    wrong = [
        f"{path.relative_to(REPOSITORY)}:{node.lineno} {ast.unparse(node)}"
        for path in modules("tasks")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and re.match(r"_(?!_)", node.attr)
        and ast.unparse(node.value) not in {"self", "cls", "os"}
    ]
    assert wrong == []


def test_no_folder_is_a_crowd() -> None:
    crowds = {
        str(folder.relative_to(REPOSITORY)): len(files)
        for floor in ("pipeline", "models")
        for folder in {path.parent for path in modules(floor)}
        if len(files := [f for f in folder.glob("*.py") if f.name != "__init__.py"]) > MOST_FILES
    }
    assert crowds == {}
