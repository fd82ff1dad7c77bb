"""An encoder that reads trees or order as a module of sentence-transformers.

A folder that `export_model` writes names this class in ``modules.json``; sentence-transformers
imports it from the installed Treeviews where its user says ``trust_remote_code=True``.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Self

import torch
from sentence_transformers.sentence_transformer.modules import InputModule
from torch import Tensor

from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.load_encoder import load_encoder


class ParsedSentences(InputModule):  # type: ignore[misc]
    """Tokenizes, parses and encodes sentences as `models.load` does.

    A sentence that cannot be taken (empty, longer than the parsers' 510 tokens) is a vector of
    zeros, since sentence-transformers has no word for it.
    """

    save_in_root = True

    def __init__(self, folder: Path, encoder: Encoder) -> None:
        """Takes an encoder over.

        Args:
            folder: where its model lies, to be copied by `save`.
        """
        super().__init__()
        self._folder = folder
        self._encoder = encoder
        # sentence-transformers asks for the device of whatever a module registers.
        self.register_buffer("_where", torch.zeros(0), persistent=False)

    def preprocess(
        self, inputs: list[str], prompt: str | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Returns the sentences as they are, a prompt before each if there is one."""
        del kwargs
        return {"sentences": [f"{prompt}{text}" if prompt else text for text in inputs]}

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Returns the features with ``sentence_embedding`` [n, d], float32."""
        del kwargs
        vectors = torch.from_numpy(self._encoder.encode(features["sentences"]))
        where: Tensor = self._where
        return {**features, "sentence_embedding": vectors.to(where.device)}

    def get_embedding_dimension(self) -> int:
        """Returns d, the width of all views together."""
        return self._encoder.dimension

    def get_sentence_embedding_dimension(self) -> int:
        """Returns the same; what releases before 5.4 ask for."""
        return self.get_embedding_dimension()

    @property
    def max_seq_length(self) -> None:
        """None: sentences are not cut."""
        return None

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Copies the model's folder."""
        del args, kwargs
        shutil.copytree(self._folder, output_path, dirs_exist_ok=True)

    @classmethod
    def load(
        cls,
        model_name_or_path: str,
        subfolder: str = "",
        token: bool | str | None = None,
        cache_folder: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
        **kwargs: Any,
    ) -> Self:
        """Returns the module of a folder, or of a model on the hub; see sentence-transformers.

        Raises:
            FileNotFoundError: no model there.
            ValueError: a file is damaged, or word vectors or parsers are not found.
        """
        del kwargs
        folder = Path(
            cls.load_dir_path(
                model_name_or_path,
                subfolder=subfolder,
                token=token,
                cache_folder=cache_folder,
                revision=revision,
                local_files_only=local_files_only,
            )
        )
        return cls(folder, load_encoder(str(folder), EncoderSettings(on_refusal="zero")))
