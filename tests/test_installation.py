"""What an installation brings, without installing: the main job stays light, remedies work."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.repository import REPOSITORY
from treeviews.pipeline.base.bundled import how_to_install

FOR_OTHER_JOBS = {
    "triton",
    "ray",
    "moto",
    "mypy",
    "gensim",
    "scikit-learn",
    "pytest",
}
MOST_BYTES = 1_500_000_000
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def installed() -> dict[str, Distribution]:
    return {canonicalize_name(found.name): found for found in reversed([*distributions()])}


def needed(requirements: list[str]) -> set[str]:
    """Returns the names of all that requirements bring, as it is installed here."""
    here = installed()
    todo = [(Requirement(text), "") for text in requirements]
    done: set[tuple[str, str]] = set()
    while todo:
        requirement, of_extra = todo.pop()
        if requirement.marker and not requirement.marker.evaluate({"extra": of_extra}):
            continue
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in done or name not in here:
                continue
            done.add((name, extra))
            todo += [(Requirement(text), extra) for text in here[name].requires or []]
    return {name for name, _ in done}


def size_on_disk(distribution: Distribution) -> int:
    """Returns the bytes of its files, but for bytecode, which `make run` leaves to Python."""
    files = [Path(str(distribution.locate_file(file))) for file in distribution.files or []]
    return sum(
        file.stat().st_blocks * 512 for file in files if file.suffix != ".pyc" and file.is_file()
    )


def test_the_main_job_brings_nothing_that_others_need() -> None:
    assert needed(PROJECT["dependencies"]) & FOR_OTHER_JOBS == set()


def test_the_main_job_is_light() -> None:
    found = installed()
    if "+cpu" not in found["torch"].version:
        pytest.skip("PyTorch here is not the build for CPUs, which the figure holds for")
    sizes = {name: size_on_disk(found[name]) for name in needed(PROJECT["dependencies"])}

    assert sizes["torch"] > 500_000_000  # it was counted
    assert sum(sizes.values()) < MOST_BYTES, sorted(sizes.items(), key=lambda each: -each[1])[:10]


def test_tests_bring_every_extra() -> None:
    extras = PROJECT["optional-dependencies"]
    (own,) = [Requirement(text) for text in extras["dev"] if text.startswith("treeviews[")]
    assert own.extras == set(extras) - {"dev"}


def test_a_remedy_names_the_packages_of_the_extra() -> None:
    """Not a package of our name, which on the index is somebody else's."""
    assert how_to_install("mteb").startswith("pip install 'datasets<5' 'mteb<3' (")


def test_nothing_advises_to_install_us_from_the_index() -> None:
    advice = re.compile(r"pip install[^\n]{0,30}[ '\"`]treeviews\b(?!-)")
    folders = ("pipeline", "models", "tasks", "treeviews", "benchmarks")
    found = [
        f"{path.relative_to(REPOSITORY)}: {match[0]}"
        for folder in folders
        for path in (REPOSITORY / folder).rglob("*.py")
        for match in advice.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
