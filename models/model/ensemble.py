"""Several finished models as one folder, whose vector of a sentence is theirs side by side.

``ensemble.json`` names the members, folders of models within it, in the order of their vectors.
What a model's folder is asked for each member is asked for; no weights are shared. Loads no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal

from treeviews.models.model.model_description import MODEL_FILE
from treeviews.pipeline.base.digest import remembered_sha256
from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.json_files import write_sealed_json
from treeviews.pipeline.base.settings import Settings

ENSEMBLE_FILE = "ensemble.json"
MEMBERS_FOLDER = "members"
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

    ensemble_version: Literal[1] = 1
    members: tuple[Member, ...]
    made: Mapping[str, str] = {}
    """What it was put together with."""
    licence: str = ""
    """Under which it may be passed on; empty if nobody said."""


def is_ensemble(folder: Path) -> bool:
    """Returns whether a folder is that of an ensemble."""
    return (folder / ENSEMBLE_FILE).is_file()


def read_ensemble(folder: Path) -> tuple[EnsembleDescription, list[Path]]:
    """Returns ``ensemble.json`` and the members' folders, in the order of their vectors.

    Raises:
        ValueError: it is damaged, of another version, or a member is not the model that was sealed;
            names the member.
    """
    description = EnsembleDescription.read(folder / ENSEMBLE_FILE, remedy=_REMEDY)
    places = [inside(folder, member.folder) for member in description.members]
    for member, place in zip(description.members, places, strict=True):
        sealed = place / MODEL_FILE
        if not sealed.is_file() or remembered_sha256(sealed) != member.sha256:
            raise ValueError(
                f"{folder}: member {member.folder} is missing, or another model than "
                f"{ENSEMBLE_FILE} seals; {_REMEDY}"
            )
    return description, places


def write_ensemble(
    folder: Path,
    members: Sequence[tuple[Path, tuple[str, ...]]],
    *,
    made: Mapping[str, str],
    licence: str = "",
) -> None:
    """Writes ``ensemble.json`` beside the members, which must be whole.

    Args:
        members: each one's folder, within the ensemble's, and the views that are taken.
        made: see `models.model.card.made_with`.
        licence: empty if nobody said.
    """
    described = tuple(
        Member(
            folder=place.relative_to(folder).as_posix(),
            sha256=remembered_sha256(place / MODEL_FILE),
            views=views,
        )
        for place, views in members
    )
    description = EnsembleDescription(members=described, made=made, licence=licence)
    write_sealed_json(folder / ENSEMBLE_FILE, description.to_dict())
