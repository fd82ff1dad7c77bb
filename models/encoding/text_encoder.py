"""A trained or an untrained model as an encoder of raw sentences.

Legend: b sentences of a batch, H width of a view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock

import torch

from models.config.views import Pooling, needed_stages
from models.corpus.sentence_block import SentenceBlock
from models.encoding.encoder_interface import FloatArray
from models.encoding.reading_encoder import EncoderSettings, ReadingEncoder
from models.encoding.sentence_reader import Parsers, SentenceReader
from models.encoding.versions import describe_architecture, describe_encoding, weights_digest
from models.model.model_description import (
    OPTION_OF_STAGE,
    find_parser,
    read_model_description,
    recorded_parsers,
)
from models.model.model_folder import load_model
from models.model.sentence_model import SentenceModel, SentenceViews, batch_of, build_model
from models.words.word_vectors import load_word_vectors
from pipeline.base.bundled import BUNDLED_PARSERS, BUNDLED_VECTORS
from pipeline.base.digest import digest_of
from pipeline.parsers.devices import automatic_device, warn_if_emulated
from pipeline.parsers.sentence_parser import LazyParser


class TextEncoder(ReadingEncoder):
    """Tokenizes, parses and embeds raw sentences as the model's own corpus was.

    Several threads may encode at once and take turns, for buffers are reused.
    """

    def __init__(
        self,
        model: SentenceModel,
        parsers: Parsers,
        settings: EncoderSettings | None = None,
    ) -> None:
        """Takes a model over, in evaluation mode.

        Args:
            parsers: of the stages that the model's views read, and no others.

        Raises:
            ValueError: a parser is missing.
        """
        needed = needed_stages(model.encoder.views)
        if missing := [stage for stage in needed if stage not in parsers]:
            raise ValueError(f"views {model.encoder.views} need parsers of {missing}")
        parsers = {stage: parsers[stage] for stage in needed}
        super().__init__(SentenceReader(model.vectors, parsers), settings)
        self._turn = RLock()
        self.config = model.config
        self.device = torch.device(self.settings.device)
        warn_if_emulated(self.config.precision, self.device)
        self._views = SentenceViews(model).to(self.device).eval()

    @cached_property
    def digest(self) -> str:
        """Of weights, architecture, word vectors, parsers and tokenization."""
        state = self._views.state_dict()
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}
        return digest_of(
            {
                "encoding": describe_encoding(self.config.views),
                "architecture": describe_architecture(self.config),
                "weights": weights_digest(arrays),
                "read_with": self._reader.describe(),
            }
        )

    def widths(self, pooling: Sequence[Pooling] = ("last",)) -> dict[str, int]:
        """Returns the width of each array of `encode_views`, by its key and in its order."""
        return {
            f"{view}.{name}": width
            for view, width in zip(self._views.names, self._views.widths, strict=True)
            for name in pooling
        }

    @torch.no_grad()
    def _embed(self, block: SentenceBlock, pooling: Sequence[Pooling]) -> dict[str, FloatArray]:
        batch = batch_of(block, self.config, with_nodes=set(pooling) != {"last"})
        pooled = self._views.pool(batch.to(self.device), pooling)
        vectors = [view[name] for view in pooled for name in pooling]
        arrays = [vector.float().cpu().numpy() for vector in vectors]
        return dict(zip(self.widths(pooling), arrays, strict=True))


def load_text_encoder(folder: Path, settings: EncoderSettings | None = None) -> TextEncoder:
    """Returns a trained model with the parsers of its corpus; see `models.load`.

    The parsers are found and verified now, and loaded when the first sentence is parsed.

    Raises:
        FileNotFoundError: no model there.
        ValueError: word vectors, or a parser that its views need, are not found, or what is found
            is another one; or a parser is given that they do not need.
    """
    settings = _on_this_machine(settings)
    description = read_model_description(folder)
    views = description.config.views
    stages = needed_stages(views)
    for stage, option in OPTION_OF_STAGE.items():
        if stage not in stages and settings.parser(stage) is not None:
            raise ValueError(
                f"{folder}: views {', '.join(views)} read no {stage}; leave out {option}="
            )
    records = recorded_parsers(description, stages)
    paths = {stage: find_parser(stage, records[stage], settings.parser(stage)) for stage in stages}
    model = load_model(folder, vectors_path=settings.vectors)
    return TextEncoder(model, _lazy_parsers(paths, settings), settings)


def random_text_encoder(seed: int, settings: EncoderSettings | None = None) -> TextEncoder:
    """Returns the settings' architecture with untrained weights, a function of the seed.

    Raises:
        FileNotFoundError: word vectors are not there.
        ValueError: the folder of a parser lacks a file.
    """
    settings = _on_this_machine(settings)
    stages = needed_stages(settings.config.views)
    paths = {stage: settings.parser(stage) or BUNDLED_PARSERS[stage] for stage in stages}
    vectors = load_word_vectors(settings.vectors or BUNDLED_VECTORS)
    model = build_model(settings.config, vectors, seed)
    return TextEncoder(model, _lazy_parsers(paths, settings), settings)


def _on_this_machine(settings: EncoderSettings | None) -> EncoderSettings:
    settings = settings or EncoderSettings(on_refusal="error")
    return settings.changed(device=available_device(settings.device))


def _lazy_parsers(paths: Mapping[str, Path], settings: EncoderSettings) -> Parsers:
    return {stage: LazyParser(stage, path, device=settings.device) for stage, path in paths.items()}


def available_device(name: str) -> str:
    """Returns the name of a device that this machine has; of ``auto``, cuda where there is one.

    Raises:
        ValueError: no such device here.
    """
    name = automatic_device(name)
    try:
        torch.zeros(1, device=name).item()  # a device without memory, such as meta, cannot tell
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device {name!r} is not to be had here ({reason}); use cpu") from error
    return name
