"""Trains supar's biaffine dependency model over a transformer, from CoNLL-U treebanks.

The transformer goes on learning from where its folder's weights end (Devlin et al. 2019, "BERT",
section 3.2); the scorers above it are new and learn faster. Such a parser is large and slow beside
one over words and characters, and better: a teacher for one (`teacher_trees`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from torch import Tensor

from treeviews.pipeline.base.settings import Count, Positive, Settings, ShareBelow1
from treeviews.pipeline.parser_training.dependency_training import TreebankTraining
from treeviews.pipeline.parser_training.train_parser import (
    ParserTrainingConfig,
    check_known,
    check_sizes_given,
)
from treeviews.pipeline.parser_training.training_state import OptimizerConfig, ParameterGroup
from treeviews.pipeline.parsers.dependency_model import DependencyVocabulary, Network
from treeviews.pipeline.parsers.parser_files import TRANSFORMER_FOLDER
from treeviews.pipeline.parsers.transformer_dependency import (
    TRANSFORMER_ENCODER,
    SubwordReader,
    TransformerDependencyModel,
    TransformerDependencyParser,
    load_transformer_dependency_model,
    new_transformer_dependency_model,
    save_transformer_dependency_model,
    transformer_inside,
    with_dropouts,
)
from treeviews.pipeline.trees.treebanks import TreebankSentence


class ScorerSizes(Settings):
    """Widths of what stands above the transformer."""

    called: ClassVar[str] = "scorer size"

    arc_mlp: Count = 256
    relation_mlp: Count = 96
    mixed_layers: Count = 4
    """Of the transformer, the last ones, whose weighted mean is read."""


class ScorerDropouts(Settings):
    """Probabilities with which parts above the transformer are switched off in training."""

    called: ClassVar[str] = "dropout"

    encoder: ShareBelow1 = 0.1
    mlp: ShareBelow1 = 0.33


class TransformerTrainingConfig(ParserTrainingConfig):
    """What determines a trained dependency parser with a transformer; the best epoch has the best
    LAS. ``batch_tokens`` counts subwords, those of altered sentences roughly."""

    transformer: Path | None = None
    """Folder of the transformer, as transformers' ``save_pretrained`` writes it; none where an
    initial parser has one."""
    sizes: ScorerSizes = ScorerSizes()
    dropouts: ScorerDropouts = ScorerDropouts()
    optimizer: OptimizerConfig = OptimizerConfig(
        num_epochs=5, learning_rate=1e-4, warmup_epochs=0.3, adam_betas=(0.9, 0.98)
    )
    scorer_rate: Positive = 10.0
    """How many times the transformer's learning rate the scorers' is."""

    def _check_together(self) -> None:
        super()._check_together()
        if self.transformer is None and self.initial_parser is None:
            raise ValueError("give --transformer FOLDER, or --initial PARSER that has one")
        if self.transformer is not None and self.initial_parser is not None:
            raise ValueError(
                "--transformer and --initial are both given, and a parser has a transformer of its "
                "own; leave one out"
            )

    @property
    def further_files(self) -> tuple[Path, ...]:
        """Returns those of the transformer."""
        if self.transformer is None:
            return ()
        return tuple(sorted(path for path in self.transformer.iterdir() if path.is_file()))

    @classmethod
    def sizes_of(cls, parser: Path) -> ScorerSizes:
        """Returns the parser's."""
        return _sizes_of(load_transformer_dependency_model(parser)[0])

    def training(self) -> TransformerTraining:
        """Returns the training of these settings before its first step."""
        return TransformerTraining(self)


class TransformerTraining(TreebankTraining[TransformerTrainingConfig]):
    """A biaffine dependency model over a transformer in training."""

    def _start(self, sentences: list[TreebankSentence]) -> Network:
        self._model = _first_model(self.config, sentences)
        description = self._model.description
        self._reader = SubwordReader(self._model.tokenizer, description.subwords)
        sizes = [self._reader.num_subwords(s.tokens) for s in sentences]
        self._take(sentences, sizes, description.relations)
        return self._model.network

    def _groups(self, network: Network) -> list[ParameterGroup]:
        inside = list(transformer_inside(network).parameters())
        known = set(map(id, inside))
        above = [weight for weight in network.parameters() if id(weight) not in known]
        return [
            {"params": inside},
            {"params": above, "share_of_rate": self.config.scorer_rate},
        ]

    def _inputs(self, sentences: Sequence[Sequence[str]], random: np.random.Generator) -> Tensor:
        return self._reader.batch(sentences)

    def _states(self, inputs: Tensor) -> Tensor:
        network: Network = self.state.network
        states: Tensor = network.encode(inputs)
        return states

    def _averaged_model(self) -> TransformerDependencyModel:
        return replace(self._model, network=self.state.averaged)

    def _averaged_parser(self) -> TransformerDependencyParser:
        return TransformerDependencyParser(self._averaged_model(), name="dev")

    def save(self, folder: Path) -> str:
        """Writes the averaged weights as a parser folder and returns its checksum."""
        return save_transformer_dependency_model(self._averaged_model(), folder)


def _first_model(
    config: TransformerTrainingConfig, sentences: list[TreebankSentence]
) -> TransformerDependencyModel:
    """Returns the model before the first step."""
    relations = DependencyVocabulary.build(sentences, min_word_frequency=1).relations
    dropouts = {"encoder_dropout": config.dropouts.encoder, "mlp_dropout": config.dropouts.mlp}
    if config.initial_parser is not None:
        return _go_on_from(config.initial_parser, config.sizes, relations, dropouts)
    assert config.transformer is not None
    if not config.transformer.is_dir():
        raise ValueError(f"{config.transformer}: no such folder; give that of a transformer")
    return new_transformer_dependency_model(
        config.transformer,
        relations,
        n_arc_mlp=config.sizes.arc_mlp,
        n_rel_mlp=config.sizes.relation_mlp,
        n_bert_layers=config.sizes.mixed_layers,
        **dropouts,
    )


def _go_on_from(
    folder: Path, sizes: ScorerSizes, relations: Sequence[str], dropouts: Mapping[str, float]
) -> TransformerDependencyModel:
    initial, _ = load_transformer_dependency_model(folder)
    check_known(folder, "relations", relations, initial.description.relations)
    args = initial.network.args
    if args.encoder != TRANSFORMER_ENCODER:
        raise ValueError(
            f"{folder}: its transformer is a feature beside words, which is not trained here; give "
            f"a parser whose encoder is its transformer"
        )
    check_sizes_given(folder, _sizes_of(initial), sizes)
    return with_dropouts(initial, folder / TRANSFORMER_FOLDER, dropouts)


def _sizes_of(model: TransformerDependencyModel) -> ScorerSizes:
    args = model.network.args
    return ScorerSizes(
        arc_mlp=args.n_arc_mlp, relation_mlp=args.n_rel_mlp, mixed_layers=args.n_bert_layers
    )
