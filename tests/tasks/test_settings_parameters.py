"""A setting is declared once: the stage's parameter, its help and the digest are made of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import luigi
import pytest

from treeviews.pipeline.base.settings import Option, Settings, at_least
from treeviews.tasks.artefact import Artefact
from treeviews.tasks.parameter_kinds import settings_of, takes, values_of


class ColourSettings(Settings):
    """How something is painted."""

    called: ClassVar[str] = "colour setting"

    colour: Annotated[Literal["red", "green"], Option()] = "red"
    """Which colour
    it takes."""
    coats: Annotated[int, at_least(1), Option("num_coats")] = 2
    """How often."""
    brush: Annotated[Path | None, Option(is_significant=False)] = None
    """Where it lies."""
    hidden: float = 0.5
    """Nobody asks for it by an option."""


@takes(ColourSettings)
class Paint(Artefact):
    """Paints."""

    changes = luigi.DictParameter(default={})

    def content(self) -> dict[str, Any]:
        return values_of(self, ColourSettings, significant_only=True)

    def place(self) -> Path:
        return self.work_folder / "paint"


def test_the_parameters_are_those_of_the_marked_fields() -> None:
    parameters = dict(Paint.get_params())
    asked = {"colour", "num_coats", "brush"}
    assert asked == set(parameters) - {"work_folder", "device", "changes"}
    assert parameters["colour"].description.startswith("Which colour it takes.")
    assert parameters["num_coats"].parse("3") == 3
    assert settings_of(Paint(), ColourSettings) == ColourSettings()
    painted = Paint(colour="green", num_coats=3, brush=Path("b"), changes={"hidden": 1.0})
    assert settings_of(painted, ColourSettings, painted.changes).to_dict() == {
        "colour": "green",
        "coats": 3,
        "brush": "b",
        "hidden": 1.0,
    }


def test_significant_ones_alone_are_in_the_digest() -> None:
    assert Paint(brush=Path("b")).folder == Paint().folder
    assert Paint(num_coats=3).folder != Paint().folder


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"num_coats": 0}, "colour setting coats must be at least 1, got 0"),
        ({"changes": {"coats": 3}}, "colour setting coats: give it by --"),
        ({"changes": {"hiden": 3}}, "did you mean hidden"),
    ],
)
def test_a_mistake_names_the_setting(given: dict[str, Any], said: str) -> None:
    task = Paint(**given)
    with pytest.raises(ValueError, match=said):
        settings_of(task, ColourSettings, task.changes)
