"""Several finished models as one folder, whose vector of a sentence is theirs side by side.

``ensemble.json`` names the members, folders of models within it, in the order of their vectors.
What a model's folder is asked for each member is asked for; no weights are shared. Loads no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from treeviews.models.model.model_description import MODEL_FILE
from treeviews.pipeline.base.digest import remembered_sha256
from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.json_files import read_json, write_sealed_json
from treeviews.pipeline.base.refusal import shortened
from treeviews.pipeline.base.settings import Settings

ENSEMBLE_FILE = "ensemble.json"
MEMBERS_FOLDER = "members"
ENSEMBLE_VERSION = 1
_REMEDY = "restore the folder as it was exported, or export it again"


class Member(Settings):
    """A model of an ensemble."""

    called: ClassVar[str] = "member field"

    folder: str
    """Within the ensemble's."""
    sha256: str
    """Of the member's ``model.json``, which seals its other files."""
    views: tuple[str, ...] = ()
    """Those that are taken, each by name or with its place; none named takes all."""


class EnsembleDescription(Settings):
    """What ``ensemble.json`` says."""

    called: ClassVar[str] = "ensemble field"

    members: tuple[Member, ...]
    made: Mapping[str, str] = {}
    """What it was put together with."""
    licence: str = ""
    """Under which it may be passed on; empty if nobody said."""

    def _check_together(self) -> None:
        if not self.members:
            raise ValueError("ensemble field members must name at least one")


def is_ensemble(folder: Path) -> bool:
    """Returns whether a folder is that of an ensemble."""
    return (folder / ENSEMBLE_FILE).is_file()


def read_ensemble(folder: Path) -> EnsembleDescription:
    """Returns ``ensemble.json``, whose members were found to be there.

    Raises:
        ValueError: it is damaged, of a version that this release does not read, or a member is
            missing, another one, no model or an ensemble itself; names the member.
    """
    path = folder / ENSEMBLE_FILE
    value = read_json(path, remedy=_REMEDY)
    version = value.get("ensemble_version") if isinstance(value, dict) else ENSEMBLE_VERSION
    if version != ENSEMBLE_VERSION:
        raise ValueError(
            f"{path}: ensemble version {shortened(version)}, this release reads "
            f"{ENSEMBLE_VERSION}; export it again or install the release that wrote it"
        )
    found = EnsembleDescription.from_json(value, path, remedy=_REMEDY)
    for member in found.members:
        _check_member(folder, member)
    return found


def _check_member(folder: Path, member: Member) -> None:
    place = inside(folder, member.folder)
    if is_ensemble(place):
        raise ValueError(
            f"{folder}: member {member.folder} is an ensemble itself; an ensemble has models for "
            "members: join those of both"
        )
    description = place / MODEL_FILE
    if not description.is_file():
        raise ValueError(f"{folder}: member {member.folder} is missing; {_REMEDY}")
    if remembered_sha256(description) != member.sha256:
        raise ValueError(
            f"{folder}: member {member.folder} is another model than {ENSEMBLE_FILE} seals; "
            f"{_REMEDY}"
        )


def member_folders(folder: Path, description: EnsembleDescription) -> list[Path]:
    """Returns the members' folders, in the order of their vectors."""
    return [inside(folder, member.folder) for member in description.members]


def write_ensemble(
    folder: Path,
    members: Sequence[tuple[Path, tuple[str, ...]]],
    *,
    made: Mapping[str, Any],
    licence: str = "",
) -> None:
    """Writes ``ensemble.json`` beside the members, which must be whole.

    Args:
        members: each one's folder, within the ensemble's, and the views that are taken.
        made: see `models.model.card.made_with`.
        licence: empty if nobody said.
    """
    description = EnsembleDescription(
        members=tuple(
            Member(
                folder=place.relative_to(folder).as_posix(),
                sha256=remembered_sha256(place / MODEL_FILE),
                views=views,
            )
            for place, views in members
        ),
        made=made,
        licence=licence,
    )
    write_sealed_json(
        folder / ENSEMBLE_FILE, {"ensemble_version": ENSEMBLE_VERSION, **description.to_dict()}
    )
