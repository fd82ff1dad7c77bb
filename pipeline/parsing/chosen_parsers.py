"""Which parsers, and which device, are asked for."""

from __future__ import annotations

from pathlib import Path

from pipeline.base.bundled import BUNDLED_PARSERS, parser_folder, shipped_parsers
from pipeline.base.mistakes import did_you_mean
from pipeline.base.refusal import shortened


def folders_of(
    dependencies: bool,
    constituents: bool,
    dependency_parser: str | Path | None,
    constituency_parser: str | Path | None,
) -> dict[str, Path]:
    """Returns stage -> folder of the parser, for what is wanted.

    Args:
        dependencies: see `pipeline.parsing.parse_text.Parser`, as for what follows.

    Raises:
        FileNotFoundError: no such parser; names those that ship.
        ValueError: nothing is wanted, or a parser is given for what is not.
    """
    if not (dependencies or constituents):
        raise ValueError("nothing to parse: ask for dependencies, for constituents or for both")
    asked = {
        "dependencies": (dependencies, dependency_parser, "dependency_parser"),
        "constituents": (constituents, constituency_parser, "constituency_parser"),
    }
    folders: dict[str, Path] = {}
    for stage, (is_wanted, given, option) in asked.items():
        if is_wanted:
            folders[stage] = _folder_of(stage, given)
        elif given is not None:
            raise ValueError(
                f"{option} is given, but no {stage} are asked for; leave it out or ask for them"
            )
    return folders


def device_called(name: str) -> str:
    """Returns torch's name of a device, which is not asked of torch where it is the CPU.

    Raises:
        ValueError: this machine has no such device.
    """
    if name == "cpu":
        return name
    from pipeline.parsers.devices import resolve_device

    return resolve_device(name)


def _folder_of(stage: str, given: str | Path | None) -> Path:
    """Returns the folder of a parser that is given by name or folder."""
    if given is None:
        return BUNDLED_PARSERS[stage]
    path = parser_folder(given)
    if not path.is_dir():
        names = shipped_parsers(stage)
        raise FileNotFoundError(
            f"{shortened(str(given))}: no parser folder and no parser that ships "
            f"({', '.join(names)}){did_you_mean(str(given), known=names)}"
        )
    return path
