"""supar's biaffine dependency model over a transformer, and its folder.

A folder holds what supar's checkpoint leaves to a hub.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from supar.models.dep import BiaffineDependencyModel as BiaffineNetwork
from torch import Tensor
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase

from pipeline.base.refusal import shortened
from pipeline.base.settings import Settings
from pipeline.parsers.adapters.fitting import check_sizes
from pipeline.parsers.adapters.folder_files import TRANSFORMER_DEPENDENCY
from pipeline.parsers.checkpoints.transformer_folder import (
    check_transformer,
    read_transformer_parser,
    write_transformer_parser,
)
from pipeline.parsers.dependency.model import VocabularyEntries, entries_of
from pipeline.parsers.dependency.subwords import SubwordRules, rules_of
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary

TRANSFORMER_ENCODER = "bert"
"""supar's name of any transformer that is the whole encoder."""
_OWN_SIZES = ("n_rels", "n_arc_mlp", "n_rel_mlp")
_SIZES = {
    "lstm": ("n_words", "n_embed", "n_feat_embed", "n_lstm_hidden", "n_lstm_layers"),
    "char": ("n_chars", "n_char_embed", "n_char_hidden"),
    "bert": ("n_bert_layers",),
}
"""Encoder or feature of supar's network -> its arguments that weights have in their shapes."""

NETWORK_ARGUMENTS = {
    name: parameter.default
    for name, parameter in inspect.signature(BiaffineNetwork.__init__).parameters.items()
    if name not in {"self", "kwargs"}
}
"""Of supar's network, with their defaults."""
_HOW_TO_SAVE = (
    "save the model and its tokenizer into it by transformers' save_pretrained, which writes "
    "safetensors"
)
_NOT_DESCRIBED = ("bert", "elmo", "elmo_bos_eos", "n_tags")


@dataclass(frozen=True)
class TransformerDependencyModel:
    """A network with all that its input is made with."""

    network: BiaffineNetwork
    tokenizer: PreTrainedTokenizerBase
    subwords: SubwordRules
    relations: list[str]
    vocabulary: DependencyVocabulary | None
    """Of the words and characters beside the subwords; None if there are none."""


class TransformerDependencyDescription(Settings):
    """What a parser folder says of a model."""

    called: ClassVar[str] = "parser description"

    network: Mapping[str, Any]
    """Arguments of supar's model but for the transformer."""
    subwords: SubwordRules
    relations: tuple[str, ...]
    vocabulary: VocabularyEntries | None


def _prefix(encoder: str) -> str:
    """Returns how supar's names of a transformer's weights begin."""
    return "encoder.bert." if encoder == TRANSFORMER_ENCODER else "bert_embed.bert."


def load_transformer_dependency_model(
    folder: Path, *, expected_checksum: str | None = None
) -> tuple[TransformerDependencyModel, str]:
    """Returns the model of a parser folder and its checksum; see `read_transformer_parser`."""
    return read_transformer_parser(
        folder,
        TRANSFORMER_DEPENDENCY,
        _build,
        prefix=lambda model: _prefix(model.network.args.encoder),
        expected_checksum=expected_checksum,
    )


def _build(
    config: dict[str, Any], tensors: Mapping[str, Tensor], transformer: Path
) -> TransformerDependencyModel:
    """Returns supar's model: the transformer's weights are read, the others are random."""
    description = TransformerDependencyDescription.from_dict(config)
    network, words = description.network, description.vocabulary
    parts = {network["encoder"], *network["feat"]}
    if not parts <= _SIZES.keys():
        raise ValueError(f"encoder and feat name {shortened(sorted(map(str, parts)))}")
    names = [*_OWN_SIZES, *(name for part in parts for name in _SIZES[part])]
    check_sizes({name: network.get(name) for name in names}, tensors)
    return TransformerDependencyModel(
        network=BiaffineNetwork(**network, bert=str(transformer)),
        tokenizer=AutoTokenizer.from_pretrained(transformer, trust_remote_code=False),
        subwords=description.subwords,
        relations=list(description.relations),
        vocabulary=None if words is None else words.vocabulary(),
    )


def new_transformer_dependency_model(
    transformer: Path, relations: Sequence[str], **arguments: Any
) -> TransformerDependencyModel:
    """Returns a model whose scorers are random; the transformer is the whole encoder and learns.

    Args:
        transformer: a folder as transformers' ``save_pretrained`` writes it.
        relations: those that the model is to give.
        arguments: further ones of supar's network.

    Raises:
        ValueError: the folder holds no encoder that can be read, or no tokenizer with the subwords
            that are needed, names code of its own, or has fewer layers than are to be mixed.
    """
    check_transformer(transformer, remedy=_HOW_TO_SAVE)
    _check_encoder(transformer, mixed_layers=arguments.get("n_bert_layers", 0))
    tokenizer = _tokenizer_of(transformer)
    subwords = rules_of(tokenizer)
    network = BiaffineNetwork(
        n_words=len(tokenizer),
        n_rels=len(relations),
        encoder=TRANSFORMER_ENCODER,
        feat=[],
        bert=str(transformer),
        bert_pad_index=subwords.pad_id,
        pad_index=subwords.pad_id,
        unk_index=subwords.unknown_id,
        freeze=False,
        **arguments,
    )
    return TransformerDependencyModel(network, tokenizer, subwords, list(relations), None)


def _check_encoder(folder: Path, *, mixed_layers: int) -> None:
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    if config.is_encoder_decoder or not hasattr(config, "max_position_embeddings"):
        raise ValueError(f"{folder}: a {config.model_type}; give an encoder such as a BERT")
    most = config.num_hidden_layers + 1
    if mixed_layers > most:
        raise ValueError(
            f"{folder}: of its {config.num_hidden_layers} layers and embeddings {mixed_layers} "
            f"cannot be mixed; give --mixed-layers {most} or fewer"
        )


def _tokenizer_of(folder: Path) -> PreTrainedTokenizerBase:
    try:
        found: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False
        )
    except Exception as error:  # of transformers, for whatever its files may say
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        raise ValueError(
            f"{folder}: no tokenizer that can be read ({reason}); {_HOW_TO_SAVE}"
        ) from error
    return found


def with_dropouts(
    model: TransformerDependencyModel, transformer: Path, dropouts: Mapping[str, float]
) -> TransformerDependencyModel:
    """Returns a model that is to go on learning, with other dropouts.

    Args:
        transformer: the model's, as its parser folder holds it.
        dropouts: by supar's names.
    """
    args = model.network.args
    arguments = described({name: args[name] for name in NETWORK_ARGUMENTS})
    changed = {"freeze": False, **dropouts}
    network = BiaffineNetwork(**{**arguments, **changed}, bert=str(transformer))
    network.load_state_dict(model.network.state_dict())
    return replace(model, network=network)


def save_transformer_dependency_model(model: TransformerDependencyModel, folder: Path) -> str:
    """Writes a parser folder and returns its checksum."""
    network, words = model.network, model.vocabulary
    description = TransformerDependencyDescription(
        network=described({name: network.args[name] for name in NETWORK_ARGUMENTS}),
        subwords=model.subwords,
        relations=tuple(model.relations),
        vocabulary=None if words is None else entries_of(words),
    )
    return write_transformer_dependency_parser(
        folder,
        description,
        network.state_dict(),
        transformer=transformer_inside(network).config,
        tokenizer=model.tokenizer,
    )


def write_transformer_dependency_parser(
    folder: Path,
    description: TransformerDependencyDescription,
    tensors: Mapping[str, Tensor],
    *,
    transformer: Any,
    tokenizer: PreTrainedTokenizerBase,
) -> str:
    """Writes the folder of a parser and returns its checksum; see `write_transformer_parser`."""
    return write_transformer_parser(
        folder,
        TRANSFORMER_DEPENDENCY,
        description.to_dict(),
        tensors,
        prefix=_prefix(description.network["encoder"]),
        transformer=transformer,
        tokenizer=tokenizer,
    )


def described(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns those of supar's arguments that a parser folder names."""
    return {name: value for name, value in arguments.items() if name not in _NOT_DESCRIBED}


def transformer_inside(network: BiaffineNetwork) -> Any:
    """Returns the transformer of a network, a module of transformers."""
    return network.get_submodule(_prefix(network.args.encoder).rstrip("."))
