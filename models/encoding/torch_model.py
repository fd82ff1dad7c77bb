"""A trained or an untrained model that torch computes: views of words, their order and their trees.

Legend: b sentences of a batch, H width of a view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

import torch

from treeviews.models.config.views import Pooling, needed_stages
from treeviews.models.corpus.sentence_block import SentenceBlock
from treeviews.models.encoding.encoder_names import placed
from treeviews.models.encoding.search import FloatArray
from treeviews.models.encoding.sentence_reader import Parsers, SentenceReader
from treeviews.models.encoding.view_models import ViewModel, model_digest
from treeviews.models.model.model_description import (
    OPTION_OF_STAGE,
    find_parser,
    read_model_description,
)
from treeviews.models.model.model_folder import load_model
from treeviews.models.model.sentence_model import (
    SentenceModel,
    SentenceViews,
    batch_of,
    build_model,
)
from treeviews.models.words.word_vectors import load_word_vectors
from treeviews.pipeline.base.bundled import BUNDLED_PARSERS, BUNDLED_VECTORS
from treeviews.pipeline.parsers.devices import resolve_device, warn_if_emulated
from treeviews.pipeline.parsers.sentence_parser import LazyParser

if TYPE_CHECKING:
    from treeviews.models.encoding.encoder import EncoderSettings


class TorchModel(ViewModel):
    """Embeds sentences, with the parses that its views read, as the model's corpus was.

    Several threads may encode at once and take turns, for buffers are reused.
    """

    most_at_once = 256, 16_384
    """Bounds the memory of the states."""

    def __init__(self, model: SentenceModel, parsers: Parsers, device: str = "cpu") -> None:
        """Takes a model over, in evaluation mode.

        Args:
            parsers: of the stages that the model's views read, among others.
            device: torch's name; of one that is there.
        """
        views = SentenceViews(model).to(device).eval()
        stages = needed_stages(model.encoder.views)
        reader = SentenceReader(model.vectors, {stage: parsers[stage] for stage in stages})
        super().__init__(reader, dict(zip(placed(views.views), views.widths, strict=True)))
        self.turn = RLock()
        self.device = device
        self._config, self._module = model.config, views
        warn_if_emulated(self._config.precision, torch.device(device))

    @cached_property
    def digest(self) -> str:
        """Of weights, architecture, word vectors, parsers and tokenization."""
        state = self._module.state_dict()
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in state.items()}
        return model_digest(self._config, arrays, self.reader)

    @torch.no_grad()
    def embed(self, block: SentenceBlock, pooling: Sequence[Pooling]) -> dict[str, FloatArray]:
        """Returns the vectors of one batch."""
        pooled = self._module.pool(batch_of(block, self._config).to(self.device), pooling)
        arrays = [view[name].float().cpu().numpy() for view in pooled for name in pooling]
        return dict(zip(self.widths(pooling), arrays, strict=True))


def load_torch_model(folder: Path, settings: EncoderSettings) -> TorchModel:
    """Returns a trained model with the parsers of its corpus; see `models.load`.

    The parsers are found and verified now, and loaded when the first sentence is parsed.

    Raises:
        FileNotFoundError: no model there.
        ValueError: word vectors, or a parser that its views need, are not found, or what is found
            is another one; or a parser is given that they do not need.
    """
    device = resolve_device(settings.device)
    description = read_model_description(folder)
    views = description.config.views
    stages = needed_stages(views)
    for stage, option in OPTION_OF_STAGE.items():
        if stage not in stages and settings.parser(stage) is not None:
            raise ValueError(
                f"{folder}: views {', '.join(views)} read no {stage}; leave out {option}="
            )
    paths = {
        stage: find_parser(stage, description.parser(stage), settings.parser(stage))
        for stage in stages
    }
    model = load_model(folder, vectors_path=settings.vectors)
    return TorchModel(model, _lazy_parsers(paths, device), device)


def random_torch_model(seed: int, settings: EncoderSettings) -> TorchModel:
    """Returns the settings' architecture with untrained weights, a function of the seed.

    Raises:
        FileNotFoundError: word vectors are not there.
        ValueError: the folder of a parser lacks a file.
    """
    device = resolve_device(settings.device)
    stages = needed_stages(settings.config.views)
    paths = {stage: settings.parser(stage) or BUNDLED_PARSERS[stage] for stage in stages}
    vectors = load_word_vectors(settings.vectors or BUNDLED_VECTORS)
    model = build_model(settings.config, vectors, seed)
    return TorchModel(model, _lazy_parsers(paths, device), device)


def _lazy_parsers(paths: Mapping[str, Path], device: str) -> Parsers:
    return {stage: LazyParser(stage, path, device=device) for stage, path in paths.items()}
