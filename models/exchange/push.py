"""Puts a model on a hub, whole: whoever loads it there needs nothing of its maker's machine."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

from models.exchange.cards import write_readme
from models.exchange.export import export_model
from models.exchange.export_options import ExportOptions
from models.model.hub import upload_folder
from models.model.model_description import MODEL_FILE


def push_model(
    model: str | Path,
    repo: str,
    options: ExportOptions | None = None,
    *,
    private: bool = False,
    endpoint: str | None = None,
) -> str:
    """Exports a model, self-contained, and puts it on a hub; returns the commit.

    Args:
        model: as `export_model` takes it, or a folder that was exported for another library.
        repo: ``user/name``, made if it is not there.
        options: how it is exported.
        private: whether a new one is for its owner alone.
        endpoint: the hub's address; by default that of the environment (``HF_ENDPOINT``).

    Raises:
        FileNotFoundError, ValueError: see `export_model` and `upload_folder`.
    """
    folder = Path(model)
    if (folder / "modules.json").is_file() and not (folder / MODEL_FILE).is_file():
        return upload_folder(folder, repo, private=private, endpoint=endpoint)
    options = replace(options or ExportOptions(), self_contained=True)
    with tempfile.TemporaryDirectory(prefix="treeviews-push-") as temporary:
        out = Path(temporary) / "model"
        export_model(model, out, options)
        write_readme(out, options)
        return upload_folder(out, repo, private=private, endpoint=endpoint)
