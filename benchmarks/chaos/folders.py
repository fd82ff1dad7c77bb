"""Small good folders of every kind, of which hostile ones are made, and what must not change."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import save_file

from models.config.training_presets import preset
from models.model.model_folder import save_model
from models.model.sentence_model import build_model
from models.training.checkpoints import Checkpoint, write_checkpoint
from models.training.folder import CHECKPOINTS_FOLDER
from models.words.vector_files import load_word_vectors
from pipeline.base.atomic_files import write_json_atomically
from pipeline.base.digest import sha256_of_file
from pipeline.base.json_files import FILES, SEAL
from pipeline.parsers.adapters.folder_files import (
    CHECKSUMS_NAME,
    DESCRIPTION_NAME,
    TRANSFORMER_CONSTITUENCY,
    TRANSFORMER_FOLDER,
    WEIGHTS_NAME,
)
from pipeline.parsers.adapters.parser_folder import write_parser_folder
from pipeline.parsers.constituency.model import (
    RESERVED_CHARACTERS,
    ChartModelConfig,
    ChartVocabularies,
    new_constituency_model,
    save_constituency_model,
)
from pipeline.parsers.dependency.model import (
    DependencyModel,
    NetworkSizes,
    build_network,
    save_dependency_model,
)
from pipeline.parsers.dependency.vocabulary import SPECIALS, DependencyVocabulary
from pipeline.shards.manifests import MANIFEST_NAME, sum_up

SECRET = "do-not-tell"
"""What the victim holds."""


class Good:
    """Good folders, each made once, and a victim beside them.

    None tells by a sha256 that somebody changed it: who makes a hostile folder leaves that out.
    """

    def __init__(self, root: Path) -> None:
        """Makes the victim; its mode and time are those of a private file.

        Args:
            root: not there yet; hostile folders stand beside it.
        """
        self._root = root
        self.victim = root.parent / "victims" / "victim"
        self.victim.parent.mkdir(parents=True)
        self.victim.write_text(f"{SECRET}\n")
        self.victim.chmod(0o600)
        self._makers = {
            "dependency": _dependency,
            "constituency": _constituency,
            "vectors": _vectors,
            "model": self._model,
            "training": _training,
            "corpus": _corpus,
        }

    def copy(self, kind: str, path: Path) -> None:
        """Writes a good folder."""
        shutil.copytree(self.folder(kind), path)

    def folder(self, kind: str) -> Path:
        """Returns the good folder of a kind."""
        folder = self._root / kind
        if not folder.exists():
            folder.mkdir(parents=True)
            self._makers[kind](folder)
            _remove_seals(folder)
        return folder

    def transformer(self, path: Path, files: Mapping[str, Any]) -> None:
        """Writes a parser with these JSON files as its transformer, each with its right sha256."""
        (path / TRANSFORMER_FOLDER).mkdir(parents=True)
        for name, content in files.items():
            (path / TRANSFORMER_FOLDER / name).write_text(json.dumps(content))
        write_parser_folder(
            path,
            TRANSFORMER_CONSTITUENCY,
            {"hparams": {}, "labels": [""], "tags": [], "language": ""},
            {"weight": torch.zeros(2)},
            subfolder=TRANSFORMER_FOLDER,
        )

    def sign(self, path: Path) -> None:
        """Gives a parser's description the sha256 of the weights as they are now."""
        file = path / DESCRIPTION_NAME
        if file.exists():
            description = json.loads(file.read_text())
            description["weights_sha256"] = sha256_of_file(path / WEIGHTS_NAME)
            file.write_text(json.dumps(description))

    def beside(self, path: Path) -> dict[str, tuple[int, int, int]]:
        """Returns mode, bytes and time of each file but those of a folder, by its path."""
        root = self._root.parent
        files = [file for file in root.rglob("*") if file.is_file() and path not in file.parents]
        stats = {str(file.relative_to(root)): file.stat() for file in files}
        return {name: (s.st_mode, s.st_size, s.st_mtime_ns) for name, s in stats.items()}

    def _model(self, folder: Path) -> None:
        path = self.folder("vectors")
        vectors = load_word_vectors(path)
        model = build_model(
            preset("laptop", views=("SEQ",), objective="generative", hidden_size=6), vectors, 0
        )
        save_model(folder, model, {"vectors": {"path": str(path), "checksum": vectors.checksum}})


def _remove_seals(folder: Path) -> None:
    for file in folder.rglob("*.json"):
        value = json.loads(file.read_text())
        if file.name == CHECKSUMS_NAME:
            file.unlink()
        elif isinstance(value, dict):
            unsealed = {name: part for name, part in value.items() if name not in (SEAL, FILES)}
            file.write_text(json.dumps(unsealed))


def _dependency(folder: Path) -> None:
    sizes = NetworkSizes(
        word_embedding=4, character_embedding=3, character_hidden=4, character_features=4,
        lstm_hidden=5, lstm_layers=2, arc_mlp=6, relation_mlp=4,
    )  # fmt: skip
    vocabulary = DependencyVocabulary([*SPECIALS, "a", "b"], [*SPECIALS, "a"], ["root", "dep"])
    network = build_network(sizes, vocabulary)
    save_dependency_model(DependencyModel(network, sizes, vocabulary), folder)


def _constituency(folder: Path) -> None:
    sizes = ChartModelConfig(
        d_model=32, num_layers=1, num_heads=2, d_kv=16, d_ff=32, d_char=16, d_label_hidden=32,
        d_tag_hidden=16,
    )  # fmt: skip
    entries = ChartVocabularies([*RESERVED_CHARACTERS, "a"], ["", "S"], ["NN"])
    save_constituency_model(folder, new_constituency_model(sizes, entries))


def _vectors(folder: Path) -> None:
    rows = np.arange(12, dtype=np.float16).reshape(3, 4)
    save_file({"vectors": rows}, folder / "vectors.safetensors")
    (folder / "words.json").write_text('["a", "b", "c"]')


def _training(folder: Path) -> None:
    checkpoint = Checkpoint(1, {"model.weight": torch.zeros(2)}, {"identity": "identity"})
    write_checkpoint(folder / CHECKPOINTS_FOLDER, checkpoint)


def _corpus(folder: Path) -> None:
    write_json_atomically(folder / MANIFEST_NAME, sum_up("sentences", [], config={}).to_dict())
