"""An encoder as one of MTEB's models.

    import mteb
    from treeviews.models.exchange.mteb_model import mteb_model

    mteb.evaluate(mteb_model("english"), mteb.get_tasks(tasks=["STSBenchmark"]))

Legend: n texts, d width.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from treeviews.models.encoding.encoder import Encoder, EncoderSettings
from treeviews.models.encoding.encoder_names import parse_encoder_name
from treeviews.models.encoding.load_encoder import encoder_of, load_encoder
from treeviews.models.encoding.search import FloatArray
from treeviews.pipeline.base.bundled import BUNDLED_MODELS, how_to_install

ORGANISATION = "treeviews"
CODE = "https://github.com/treeviews/treeviews"
_LICENCE_OF_SHIPPED = "cc-by-sa-4.0"


class MTEBModel:
    """Answers MTEB's calls by an encoder of sentences; no text has a prompt."""

    def __init__(self, encoder: Encoder, name: str, **meta: Any) -> None:
        """Takes an encoder.

        Args:
            encoder: its vectors are compared by their cosine.
            name: what MTEB calls the model, after ``treeviews/`` unless it names another
                organisation.
            meta: fields of MTEB's ``ModelMeta`` that are given here instead of found out, such as
                ``license`` and ``training_datasets``.

        Raises:
            ValueError: mteb is not installed, or a field is not one of its.
        """
        try:
            import mteb
        except ImportError as error:
            raise ValueError(
                f"MTEB's models need mteb, which cannot be loaded ({error}); "
                f"{how_to_install('mteb')}"
            ) from error
        self.encoder = encoder
        self.similarity = mteb.similarity_functions.cos_sim
        """Returns the cosine of each of [n, d] with each of [m, d], [n, m]."""
        self.similarity_pairwise = mteb.similarity_functions.pairwise_cos_sim
        """Returns the cosine of each row of [n, d] with the same row of [n, d], [n]."""
        self.mteb_model_meta = _model_meta(encoder, name, meta)
        """What MTEB's result files say of the model."""

    def encode(self, inputs: Iterable[Mapping[str, Any]], **_: Any) -> FloatArray:
        """Returns the vectors, float32 [n, d], in the order of the texts.

        Args:
            inputs: batches, each with its texts under ``text``.

        Raises:
            ValueError: texts that the encoder refuses, if it is not to give zeros for them.
        """
        texts = [text for batch in inputs for text in batch["text"]]
        if not texts:
            return np.zeros((0, self.mteb_model_meta.embed_dim or 0), dtype=np.float32)
        return self.encoder.encode(texts)


def mteb_model(
    encoder: object,
    *,
    name: str | None = None,
    settings: EncoderSettings | None = None,
    **meta: Any,
) -> MTEBModel:
    """Returns an encoder as one of MTEB's models.

    Args:
        encoder: its name, as ``models.encoding.encoder_names`` has it, an encoder, or a function
            from a list of strings to a matrix, or an object with such a method ``encode``.
        name: what MTEB calls it; by default its own name, or its class.
        settings: of an encoder that is given by name.
        meta: fields of MTEB's ``ModelMeta``.

    Raises:
        FileNotFoundError: word vectors or a model are not there.
        ValueError: mteb is not installed, the name stands for nothing, or a field is unknown.
    """
    if not isinstance(encoder, str):
        return MTEBModel(encoder_of(encoder), name or type(encoder).__name__, **meta)
    shown = Path(encoder).name if Path(encoder).is_dir() else parse_encoder_name(encoder).shown
    if encoder in BUNDLED_MODELS:
        meta = {"license": _LICENCE_OF_SHIPPED, "training_datasets": set(), **meta}
    return MTEBModel(load_encoder(encoder, settings), name or shown, **meta)


def _model_meta(encoder: Encoder, name: str, given: Mapping[str, Any]) -> Any:
    """Returns MTEB's ``ModelMeta``.

    Raises:
        ValueError: a field is not one of its, or of the wrong kind.
    """
    from mteb.models import ModelMeta

    if unknown := sorted(set(given) - set(ModelMeta.model_fields)):
        raise ValueError(f"MTEB's ModelMeta has no {', '.join(unknown)}; look up its fields")
    parts = [re.sub(r"[^\w.+-]+", "-", part).strip("-") for part in name.split("/")]
    owner = parts[0] if len(parts) == 2 else ORGANISATION
    fields: dict[str, Any] = {
        **dict.fromkeys(("loader", "release_date", "license", "training_datasets")),
        **dict.fromkeys(("n_parameters", "n_embedding_parameters", "memory_usage_mb")),
        **dict.fromkeys(("max_tokens", "public_training_data")),
        "name": f"{owner}/{parts[-1]}",
        "revision": encoder.digest or "unknown",
        "languages": ["eng-Latn"],
        "embed_dim": encoder.dimension if encoder.has_views else None,
        "open_weights": True,
        "public_training_code": CODE,
        "framework": ["PyTorch", "NumPy"],
        "reference": CODE,
        "similarity_fn_name": "cosine",
        "use_instructions": False,
    }
    return ModelMeta(**{**fields, **given})
