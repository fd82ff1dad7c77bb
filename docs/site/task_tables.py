"""Every stage that `treeviews run` knows with its parameters, from the tasks' own descriptions."""

from __future__ import annotations

import inspect

import luigi

import tasks


def tables() -> str:
    """Returns a section a task, and the table of all parameters."""
    known: dict[str, luigi.Parameter] = {}
    sections = []
    for name in sorted(tasks.__all__):
        task: type[luigi.Task] = getattr(tasks, name)
        parameters = dict(task.get_params())
        known = parameters | known
        about = inspect.cleandoc(task.__doc__ or "").replace("``", "`")
        names = ", ".join(f"`{_option(parameter)}`" for parameter in sorted(parameters))
        sections.append(f"### {name}\n\n{about}\n\nParameters: {names}.\n")
    header = "## Parameters\n\n| parameter | | default |\n|---|---|---|\n"
    rows = [f"| `{_option(name)}` | {_about(known[name])} |" for name in sorted(known)]
    return "## Tasks\n\n" + "\n".join(sections) + "\n" + header + "\n".join(rows) + "\n"


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _about(parameter: luigi.Parameter) -> str:
    text = " ".join((parameter.description or "").split()).replace("|", r"\|").replace("<", "&lt;")
    value = parameter._default  # luigi has no other way to tell "none" from None
    is_said = value not in (None, "", ()) and type(value) is not object
    return f"{text} | `{value}`" if is_said else f"{text} | "
