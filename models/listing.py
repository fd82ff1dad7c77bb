"""What is known of a model's folder without loading it: what ``treeviews models show`` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.config.views import needed_stages
from models.model.card import CARD_FILE, licence_of
from models.model.ensemble import is_ensemble, member_folders, read_ensemble
from models.model.hub import folder_called
from models.model.model_description import (
    MODEL_FILE,
    read_model_description,
)
from models.work_folder import bytes_below
from pipeline.base.bundled import BUNDLED_MODELS
from pipeline.base.mistakes import did_you_mean


def model_folder(called: str) -> Path:
    """Returns the folder of a model that ships, by its name, or of another, by its path.

    Raises:
        FileNotFoundError: there is none.
    """
    folder = folder_called(called)
    if not is_ensemble(folder) and not (folder / MODEL_FILE).is_file():
        raise FileNotFoundError(
            f"{called}: no model; give its folder, which holds {MODEL_FILE}, or one that ships: "
            f"{', '.join(BUNDLED_MODELS)}{did_you_mean(called, known=BUNDLED_MODELS)}"
        )
    return folder


def model_facts(folder: Path) -> dict[str, Any]:
    """Returns what a model is, as JSON has it; of an ensemble what its members are, too.

    Raises:
        FileNotFoundError: no model there.
        ValueError: it is damaged.
    """
    if is_ensemble(folder):
        return _ensemble_facts(folder)
    description = read_model_description(folder)
    config = description.config
    return {
        "path": str(folder),
        "views": list(config.views),
        "objective": config.objective,
        "needs": needed_stages(config.views),
        "bytes": bytes_below(folder),
        "seed": config.seed,
        "made": dict(description.made),
        "licence": description.licence or licence_of(folder),
        "config": config.to_dict(),
    }


def _ensemble_facts(folder: Path) -> dict[str, Any]:
    description = read_ensemble(folder)
    members = [model_facts(place) for place in member_folders(folder, description)]
    pairs = list(zip(description.members, members, strict=True))
    views = [view for one, facts in pairs for view in one.views or facts["views"]]
    return {
        "path": str(folder),
        "views": views,
        "objective": ", ".join(dict.fromkeys(facts["objective"] for facts in members)),
        "needs": list(dict.fromkeys(stage for facts in members for stage in facts["needs"])),
        "bytes": bytes_below(folder),
        "seed": ", ".join(str(facts["seed"]) for facts in members),
        "made": dict(description.made),
        "licence": description.licence or licence_of(folder),
        "members": members,
    }


def model_card(folder: Path) -> str | None:
    """Returns a model's card, if it has one."""
    card = folder / CARD_FILE
    return card.read_text(encoding="utf-8") if card.is_file() else None
