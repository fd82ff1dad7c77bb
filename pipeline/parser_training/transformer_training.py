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
from transformers import PreTrainedTokenizerBase

from treeviews.pipeline.base.settings import Count, Positive, Settings, ShareBelow1
from treeviews.pipeline.parser_training.dependency_training import TreebankTraining
from treeviews.pipeline.parser_training.train_parser import ParserTrainingConfig
from treeviews.pipeline.parser_training.training_state import OptimizerConfig, ParameterGroup
from treeviews.pipeline.parsers.dependency_model import DependencyVocabulary, Network
from treeviews.pipeline.parsers.parser_files import TRANSFORMER_FOLDER
from treeviews.pipeline.parsers.parser_folder import ParserModel, read_network_description
from treeviews.pipeline.parsers.transformer_dependency import (
    TRANSFORMER_ENCODER,
    SubwordReader,
    SubwordRules,
    TransformerDependencyDescription,
    TransformerDependencyModel,
    TransformerDependencyParser,
    described,
    load_transformer_dependency_model,
    network_over,
)
from treeviews.pipeline.parsers.transformer_folder import (
    read_transformer,
    write_transformer_parser,
)
from treeviews.pipeline.trees.treebanks import TreebankSentence

_MAX_PER_TOKEN = 20
"""What supar reads of a token by default."""


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
        if (self.transformer is None) == (self.initial_parser is None):
            raise ValueError("give either --transformer FOLDER, or --initial PARSER that has one")

    @property
    def further_files(self) -> tuple[Path, ...]:
        """Returns those of the transformer."""
        inside = () if self.transformer is None else self.transformer.iterdir()
        return tuple(sorted(path for path in inside if path.is_file()))

    @classmethod
    def sizes_of(cls, parser: Path) -> ScorerSizes:
        """Returns the parser's."""
        network = read_network_description(parser, TransformerDependencyDescription).network
        return ScorerSizes(
            arc_mlp=network["n_arc_mlp"],
            relation_mlp=network["n_rel_mlp"],
            mixed_layers=network["n_bert_layers"],
        )


class TransformerTraining(TreebankTraining[TransformerTrainingConfig]):
    """A biaffine dependency model over a transformer in training."""

    settings = TransformerTrainingConfig
    adapter = TransformerDependencyParser

    def _start(self, sentences: list[TreebankSentence]) -> TransformerDependencyModel:
        model = self._first_model(sentences)
        self._reader = SubwordReader(model.tokenizer, model.description.subwords)
        sizes = [self._reader.num_subwords(s.tokens) for s in sentences]
        self._take(sentences, sizes, model.description.relations)
        return model

    def _first_model(self, sentences: list[TreebankSentence]) -> TransformerDependencyModel:
        config = self.config
        relations = DependencyVocabulary.build(sentences, min_word_frequency=1).relations
        dropouts = {"encoder_dropout": config.dropouts.encoder, "mlp_dropout": config.dropouts.mlp}
        if (folder := config.initial_parser) is None:
            assert config.transformer is not None
            return self._new_model(config.transformer, relations, dropouts)
        initial = load_transformer_dependency_model(folder)
        self._check_initial(
            config.sizes_of(folder), relations=(relations, initial.description.relations)
        )
        arguments = {**described(initial.network.args), "freeze": False, **dropouts}
        network = network_over(folder / TRANSFORMER_FOLDER, **arguments)
        network.load_state_dict(initial.network.state_dict())
        description = initial.description.changed(network=described(network.args))
        return replace(initial, network=network, description=description)

    def _new_model(
        self, transformer: Path, relations: Sequence[str], dropouts: Mapping[str, float]
    ) -> TransformerDependencyModel:
        """Returns a model whose scorers are random; the transformer is the whole encoder."""
        sizes = self.config.sizes
        config, tokenizer = read_transformer(
            transformer,
            remedy="save the model and its tokenizer into it by transformers' save_pretrained, "
            "which writes safetensors",
        )
        if config.is_encoder_decoder or not hasattr(config, "max_position_embeddings"):
            raise ValueError(
                f"{transformer}: a {config.model_type}; give an encoder such as a BERT"
            )
        most = config.num_hidden_layers + 1
        if sizes.mixed_layers > most:
            raise ValueError(
                f"{transformer}: of its {most - 1} layers and embeddings {sizes.mixed_layers} "
                f"cannot be mixed; give --mixed-layers {most} or fewer"
            )
        subwords = rules_of(tokenizer)
        network = network_over(
            transformer,
            n_words=len(tokenizer),
            n_rels=len(relations),
            encoder=TRANSFORMER_ENCODER,
            feat=[],
            bert_pad_index=subwords.pad_id,
            pad_index=subwords.pad_id,
            unk_index=subwords.unknown_id,
            freeze=False,
            n_arc_mlp=sizes.arc_mlp,
            n_rel_mlp=sizes.relation_mlp,
            n_bert_layers=sizes.mixed_layers,
            **dropouts,
        )
        description = TransformerDependencyDescription(
            network=described(network.args), subwords=subwords, relations=tuple(relations)
        )
        return ParserModel(network, description, tokenizer=tokenizer)

    def _groups(self, network: Network) -> list[ParameterGroup]:
        inside = list(network.encoder.bert.parameters())
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

    def save(self, folder: Path) -> str:
        """Writes the averaged weights as a parser folder and returns its checksum."""
        model = self.averaged_model()
        return write_transformer_parser(
            folder,
            model.description,
            model.network.state_dict(),
            transformer=model.network.encoder.bert.config,
            tokenizer=model.tokenizer,
        )


def rules_of(tokenizer: PreTrainedTokenizerBase) -> SubwordRules:
    """Returns the rules by which supar would read a tokenizer's subwords.

    Raises:
        ValueError: the tokenizer has no subword for the padding, the unknown or the beginning.
    """
    first = tokenizer.bos_token_id if tokenizer.cls_token_id is None else tokenizer.cls_token_id
    ids = {"pad_id": tokenizer.pad_token_id, "unknown_id": tokenizer.unk_token_id, "root_id": first}
    if missing := [name.removesuffix("_id") for name, subword in ids.items() if subword is None]:
        raise ValueError(
            f"{tokenizer.name_or_path}: its tokenizer has no subword for {' and '.join(missing)}; "
            f"give a transformer whose tokenizer has one, such as a BERT"
        )
    spaced = tokenizer.tokenize(" the") != tokenizer.tokenize("the")
    return SubwordRules(**ids, max_per_token=_MAX_PER_TOKEN, space_before=spaced)
