"""An encoder as one of MTEB's models.

    import mteb
    from models.mteb.mteb_model import mteb_model

    mteb.evaluate(mteb_model("english"), mteb.get_tasks(tasks=["STSBenchmark"]))

Legend: n texts, d width.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models.config.views import needed_stages
from models.corpus.sentence_block import MAX_TOKENS
from models.encoding.encoder_interface import (
    Encoder,
    FloatArray,
    MeasuredEncoder,
    RefusingEncoder,
    ViewEncoder,
)
from models.encoding.encoder_names import parse_encoder_name
from models.encoding.named_encoder import resolve_encoder
from models.encoding.reading_encoder import EncoderSettings, WordsEncoder
from models.mteb.library import import_mteb
from pipeline.base.bundled import BUNDLED_MODELS
from pipeline.base.refusal import RefusedSentence
from pipeline.parsers.adapters.base import MAX_TOKENS as MAX_PARSED_TOKENS

if TYPE_CHECKING:
    import torch

ORGANISATION = "treeviews"
CODE = "https://github.com/treeviews/treeviews"
BYTES_OF_FLOAT = 4
_LICENCE_OF_SHIPPED = "cc-by-sa-4.0"


class MTEBModel:
    """Answers MTEB's calls by an encoder of sentences; no text has a prompt."""

    def __init__(
        self, encoder: Encoder, name: str, *, meta: Mapping[str, Any] | None = None
    ) -> None:
        """Takes an encoder.

        Args:
            encoder: also one of a user's own; its vectors are compared by their cosine.
            name: what MTEB calls the model, after ``treeviews/`` unless it names another
                organisation.
            meta: fields of MTEB's ``ModelMeta`` that are given here instead of found out, such as
                ``license`` and ``training_datasets``.

        Raises:
            ValueError: mteb is not installed, or a field is not one of its.
        """
        self._mteb = import_mteb()
        self.encoder = encoder
        self.mteb_model_meta = _model_meta(encoder, name, meta or {})
        """What MTEB's result files say of the model."""
        self.width: int | None = None
        """Of the vectors, once there were some."""
        self.seconds = 0.0
        """That the encoder has taken so far."""
        self.refused: dict[str, RefusedSentence] = {}
        """Texts that became zeros, each once."""
        self._seen: set[int] = set()

    @property
    def num_texts(self) -> int:
        """Distinct texts that were encoded so far."""
        return len(self._seen)

    def encode(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any = None,
        hf_split: str = "",
        hf_subset: str = "",
        prompt_type: Any = None,
        **kwargs: Any,
    ) -> FloatArray:
        """Returns the vectors, float32 [n, d], in the order of the texts.

        Args:
            inputs: batches, each with its texts under ``text``.
            task_metadata: what is evaluated, and so the next three; they change nothing.
            hf_split: of the task's data.
            hf_subset: of the task's data.
            prompt_type: query or document, which are encoded alike.
            kwargs: MTEB's further settings, such as a batch size, which the encoder has of its own.

        Raises:
            ValueError: texts that the encoder refuses, if it is not to give zeros for them.
        """
        texts = [text for batch in inputs for text in batch["text"]]
        if not texts:
            return np.zeros((0, self.width or 0), dtype=np.float32)
        started = time.perf_counter()
        vectors = self.encoder.encode(texts)
        self.seconds += time.perf_counter() - started
        self.width = vectors.shape[1]
        self._seen.update(map(hash, texts))
        if isinstance(self.encoder, RefusingEncoder):
            self.refused.update({texts[one.index]: one for one in self.encoder.refused})
        return vectors

    def similarity(self, embeddings1: Any, embeddings2: Any) -> torch.Tensor:
        """Returns the cosine of each of [n, d] with each of [m, d], [n, m]."""
        found: torch.Tensor = self._functions.cos_sim(embeddings1, embeddings2)
        return found

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> torch.Tensor:
        """Returns the cosine of each row of [n, d] with the same row of [n, d], [n]."""
        found: torch.Tensor = self._functions.pairwise_cos_sim(embeddings1, embeddings2)
        return found

    @property
    def _functions(self) -> Any:
        return self._mteb.similarity_functions


def mteb_model(
    encoder: str | Encoder,
    *,
    name: str | None = None,
    settings: EncoderSettings | None = None,
    meta: Mapping[str, Any] | None = None,
) -> MTEBModel:
    """Returns an encoder as one of MTEB's models.

    Args:
        encoder: its name, as ``models.encoding.encoder_names`` has it, or the encoder itself.
        name: what MTEB calls it; by default its own name, or its class.
        settings: of an encoder that is given by name.
        meta: fields of MTEB's ``ModelMeta``.

    Raises:
        FileNotFoundError: word vectors or a model are not there.
        ValueError: mteb is not installed, the name stands for nothing, or a field is unknown.
    """
    if not isinstance(encoder, str):
        return MTEBModel(encoder, name or type(encoder).__name__, meta=meta)
    found = resolve_encoder(encoder, settings)
    shown = Path(encoder).name if Path(encoder).is_dir() else parse_encoder_name(encoder).shown
    known: dict[str, Any] = dict(meta or {})
    if encoder in BUNDLED_MODELS:
        known.setdefault("license", _LICENCE_OF_SHIPPED)
        known.setdefault("training_datasets", set())
    return MTEBModel(found, name or shown, meta=known)


def register(encoder: str) -> str:
    """Lets ``mteb.get_model`` find an encoder by name in this process; returns that name.

    Raises:
        FileNotFoundError: word vectors or a model are not there.
        ValueError: mteb is not installed, or the name stands for nothing.
    """
    import_mteb()
    from mteb.models.model_implementations import MODEL_REGISTRY

    model = mteb_model(encoder)

    def load(name: str, revision: str | None = None, **_: Any) -> MTEBModel:
        return mteb_model(encoder, name=name)

    meta = model.mteb_model_meta.model_copy(update={"loader": load})
    MODEL_REGISTRY[meta.name] = meta
    return str(meta.name)


def _model_meta(encoder: Encoder, name: str, given: Mapping[str, Any]) -> Any:
    """Returns MTEB's ``ModelMeta``.

    Raises:
        ValueError: a field is not one of its, or of the wrong kind.
    """
    from mteb.models import ModelMeta

    parts = name.split("/")
    called = "/".join(re.sub(r"[^\w.+-]+", "-", part).strip("-") for part in parts[-2:])
    sizes = _sizes(encoder)
    total = None if sizes is None else sizes.words + sizes.weights
    fields: dict[str, Any] = {
        "name": called if len(parts) == 2 else f"{ORGANISATION}/{called.rpartition('/')[2]}",
        "revision": encoder.digest if isinstance(encoder, ViewEncoder) else "unknown",
        "loader": None,
        "release_date": None,
        "languages": ["eng-Latn"],
        "n_parameters": total,
        "n_embedding_parameters": None if sizes is None else sizes.words,
        "memory_usage_mb": None if total is None else BYTES_OF_FLOAT * total / 2**20,
        "max_tokens": None if sizes is None else sizes.max_tokens,
        "embed_dim": _width(encoder),
        "license": None,
        "open_weights": True,
        "public_training_code": CODE,
        "public_training_data": None,
        "framework": ["PyTorch", "NumPy"],
        "reference": CODE,
        "similarity_fn_name": "cosine",
        "use_instructions": False,
        "training_datasets": None,
    }
    if unknown := sorted(set(given) - set(ModelMeta.model_fields)):
        raise ValueError(f"MTEB's ModelMeta has no {', '.join(unknown)}; look up its fields")
    return ModelMeta(**{**fields, **given})


def _width(encoder: Encoder) -> int | None:
    return sum(encoder.widths().values()) if isinstance(encoder, MeasuredEncoder) else None


@dataclass(frozen=True, slots=True)
class _Sizes:
    words: int
    """Numbers of the word vectors."""
    weights: int
    """Numbers that were trained beside them; those of parsers are not counted."""
    max_tokens: int
    """Of a text; longer ones are refused."""


def _sizes(encoder: Encoder) -> _Sizes | None:
    """Returns the sizes of an encoder of ours; None of a user's own or of joined ones."""
    from models.encoding.static_encoder import StaticEncoder
    from models.encoding.text_encoder import TextEncoder

    if not isinstance(encoder, TextEncoder | StaticEncoder | WordsEncoder):
        return None
    words, weights, longest = int(encoder.vectors.matrix.size), 0, MAX_TOKENS
    if isinstance(encoder, TextEncoder):
        weights = encoder.num_weights
        longest = MAX_PARSED_TOKENS if needed_stages(encoder.config.views) else MAX_TOKENS
    return _Sizes(words, weights, longest)
