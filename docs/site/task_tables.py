"""Every stage that `treeviews run` knows with its parameters, from the tasks' own descriptions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

import luigi

from treeviews import tasks


def tables() -> str:
    """Returns a section a task, and the table of all parameters."""
    stages = {name: dict(getattr(tasks, name).get_params()) for name in sorted(tasks.__all__)}
    known = {name: value for stage in stages.values() for name, value in stage.items()}
    sections = []
    for name in stages:
        about = inspect.cleandoc(getattr(tasks, name).__doc__ or "").replace("``", "`")
        own = f"Parameters: {_parameters(name, stages)}."
        sections.append(f"### {name}\n\n{about}\n\n{own}\n")
    header = "## Parameters\n\n| parameter | | default |\n|---|---|---|\n"
    rows = [f"| `{_option(name)}` | {_about(known[name])} |" for name in sorted(known)]
    return "## Tasks\n\n" + "\n".join(sections) + "\n" + header + "\n".join(rows) + "\n"


def _parameters(name: str, stages: Mapping[str, Mapping[str, luigi.Parameter]]) -> str:
    """Returns a stage's parameters, as those beside the most that another stage has of them."""
    parameters = set(stages[name])
    within = [other for other in stages if set(stages[other]) < parameters]
    nearest = max(within, key=lambda other: len(stages[other]), default=None)
    rest = parameters - set(stages[nearest] if nearest else ())
    shown = [f"those of [{nearest}](#{nearest.lower()})"] if nearest else []
    return ", ".join(shown + [f"`{_option(one)}`" for one in sorted(rest)])


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _about(parameter: luigi.Parameter) -> str:
    text = " ".join((parameter.description or "").split()).replace("|", r"\|").replace("<", "&lt;")
    value = parameter._default  # luigi has no other way to tell "none" from None
    is_said = value not in (None, "", ()) and type(value) is not object
    return f"{text} | `{value}`" if is_said else f"{text} | "
