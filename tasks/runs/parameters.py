"""What a task was asked for with: the parameters that differ from their defaults."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import luigi

from pipeline.base.foreign_text import values_without_secrets


def changed_parameters(task: luigi.Task) -> dict[str, Any]:
    """Returns the parameters that are not at their defaults, as JSON has them; without secrets.

    Those that change no result, such as the number of threads, are left out.
    """
    changed: dict[str, Any] = {}
    for name, parameter in task.get_params():
        default, value = parameter._default, getattr(task, name)
        is_needed = default is luigi.parameter._no_value
        if not parameter.significant:
            continue
        if is_needed or value != parameter.normalize(default):
            changed[name] = values_without_secrets(_plain(value))
    return changed


def option_of(parameter: str) -> str:
    """Returns a parameter as it is typed: ``--max-tokens``."""
    return f"--{parameter.replace('_', '-')}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value
