"""From parsed shards to sentence encoders and their scores; runs on torch, numpy and pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from treeviews.models.encoding.encoder import Encoder, OnRefusal

__all__ = ["load"]


def load(
    path: str | Path,
    *,
    device: str | torch.device = "cpu",
    on_refusal: OnRefusal = "error",
    dependency_parser: str | Path | None = None,
    constituency_parser: str | Path | None = None,
    vectors: str | Path | None = None,
) -> Encoder:
    """Returns an encoder of raw sentences, by its name or its folder::

        embeddings = models.load("english").encode(["It rains."])
        embeddings = models.load("data/work/models/DEP-CONST-…").encode(["It rains."])

    It has ``encode``, ``dimension`` and ``similarity``; see `models.encoding.encoder.Encoder`. Of
    all but a function of your own, ``encode_views`` gives each view by itself, by place, name and
    pooling: of a model of preset B-G ``encode_views(sentences, ("mean",))["1-INV.mean"]`` is the
    inverse of the decoder.

    Parsers (only those the model's views read) and word vectors are those of the model's corpus,
    verified by checksum; the paths say where they lie now, if neither where they lay in training
    nor among what ships.

    Args:
        path: ``english``, ``english-trees``, ``bag_of_words``, ``sif``, a model's folder, one of a
            hub (``hf://user/name``, with ``@revision`` or without), views of several
            (``MODEL@VIEW+MODEL@VIEW``) or ``package.module:function`` of your own; see
            `models.encoding.encoder_names`.
        device: torch's device, or its name, of where to parse and embed.
        on_refusal: ``error`` for a sentence that cannot be taken (empty, longer than the parsers'
            510 tokens, rejected by one), or ``zero`` for a vector of zeros, listed in ``refused``.
        dependency_parser: folder of the parser of the view DEP.
        constituency_parser: folder of the parser of the view CONST.
        vectors: the word vectors; a model that has its own within its folder, as ``english`` has,
            takes none.

    Raises:
        FileNotFoundError: no model there.
        ValueError: no such name; parsers or vectors are not found, or are others than the model's;
            or vectors are given to a model that has its own, or a parser to one that needs none.
    """
    # torch is not loaded by importing the package: whoever defines tasks forks processes.
    from treeviews.models.encoding.encoder import EncoderSettings
    from treeviews.models.encoding.load_encoder import load_encoder

    settings = EncoderSettings.from_dict(
        {
            "device": str(device),
            "on_refusal": on_refusal,
            "vectors": vectors,
            "dependency_parser": dependency_parser,
            "constituency_parser": constituency_parser,
        }
    )
    return load_encoder(str(path), settings)
