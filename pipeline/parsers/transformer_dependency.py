"""supar's biaffine dependency model over a transformer: its folder, and how sentences are parsed.

The network and its arithmetic are supar's, from the states the trees are made as in the other
dependency parser. A folder holds what supar's checkpoint leaves to a hub. Tokens become the
subwords that the transformer reads as in supar; a sentence longer than the transformer's positions
is read in overlapping windows, as supar does.

Legend: B sentences, T positions (the artificial root + tokens), D features, F subwords of a token.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import torch
from supar.models.dep import BiaffineDependencyModel as BiaffineNetwork
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from treeviews.pipeline.base.refusal import Refusal, shortened
from treeviews.pipeline.base.settings import Settings
from treeviews.pipeline.parsers.batched_parser import BatchedParser
from treeviews.pipeline.parsers.dependency_decoding import trees_of_states
from treeviews.pipeline.parsers.devices import products_in
from treeviews.pipeline.parsers.parser_folder import NetworkDescription, ParserModel
from treeviews.pipeline.parsers.sentence_parser import Sentence
from treeviews.pipeline.parsers.transformer_folder import (
    read_transformer,
    read_transformer_parser,
)
from treeviews.pipeline.trees.flat_trees import DependencyParse

TRANSFORMER_ENCODER = "bert"
"""supar's name of any transformer that is the whole encoder."""
NETWORK_ARGUMENTS = {
    name: parameter.default
    for name, parameter in inspect.signature(BiaffineNetwork.__init__).parameters.items()
    if name not in {"self", "kwargs"}
}
"""Of supar's network, with their defaults."""
_NOT_DESCRIBED = ("bert", "elmo", "elmo_bos_eos", "n_tags")

_CACHED_WORDS = 100_000
_MAX_PER_TOKEN = 20
"""What supar reads of a token by default."""


class SubwordRules(Settings):
    """How supar turns a token into subwords."""

    called: ClassVar[str] = "subword rule"

    pad_id: int
    unknown_id: int
    root_id: int
    """The one subword of the artificial root."""
    max_per_token: int
    """Further subwords of a token are not seen."""
    space_before: bool
    """Whether a token is read with a space before it, as GPT-2's and RoBERTa's are."""


class TransformerDependencyDescription(NetworkDescription):
    """What a parser folder says of a model."""

    kind: ClassVar[str] = "supar-biaffine-dependency-transformer"

    network: Mapping[str, Any]
    """Arguments of supar's model but for the transformer."""
    subwords: SubwordRules
    relations: tuple[str, ...]
    vocabulary: None = None
    """Of words beside the subwords, which earlier versions could have."""


TransformerDependencyModel: TypeAlias = ParserModel[TransformerDependencyDescription]


def load_transformer_dependency_model(folder: Path) -> TransformerDependencyModel:
    """Returns the model of a parser folder; see `read_transformer_parser`."""
    return read_transformer_parser(folder, TransformerDependencyDescription, _build)


def _build(description: TransformerDependencyDescription, transformer: Path) -> BiaffineNetwork:
    if description.network["encoder"] != TRANSFORMER_ENCODER:
        raise ValueError(f"its encoder is {shortened(description.network['encoder'])}")
    return BiaffineNetwork(**description.network, bert=str(transformer))


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
    config, tokenizer = read_transformer(
        transformer,
        remedy="save the model and its tokenizer into it by transformers' save_pretrained, which "
        "writes safetensors",
    )
    if config.is_encoder_decoder or not hasattr(config, "max_position_embeddings"):
        raise ValueError(f"{transformer}: a {config.model_type}; give an encoder such as a BERT")
    most, mixed = config.num_hidden_layers + 1, arguments.get("n_bert_layers", 0)
    if mixed > most:
        raise ValueError(
            f"{transformer}: of its {most - 1} layers and embeddings {mixed} cannot be mixed; give "
            f"--mixed-layers {most} or fewer"
        )
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
    description = TransformerDependencyDescription(
        network=_described(network), subwords=subwords, relations=tuple(relations)
    )
    return ParserModel(network, description, tokenizer=tokenizer)


def with_dropouts(
    model: TransformerDependencyModel, transformer: Path, dropouts: Mapping[str, float]
) -> TransformerDependencyModel:
    """Returns a model that is to go on learning, with other dropouts.

    Args:
        transformer: the model's, as its parser folder holds it.
        dropouts: by supar's names.
    """
    arguments = {**_described(model.network), "freeze": False, **dropouts}
    network = BiaffineNetwork(**arguments, bert=str(transformer))
    network.load_state_dict(model.network.state_dict())
    description = model.description.changed(network=_described(network))
    return ParserModel(network, description, tokenizer=model.tokenizer)


def _described(network: BiaffineNetwork) -> dict[str, Any]:
    return described({name: network.args[name] for name in NETWORK_ARGUMENTS})


def described(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns those of supar's arguments that a parser folder names."""
    return {name: value for name, value in arguments.items() if name not in _NOT_DESCRIBED}


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


class SubwordReader:
    """Reads sentences as subwords, each distinct token once."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase, rules: SubwordRules) -> None:
        """Starts with no token."""
        self._tokenizer, self._rules = tokenizer, rules
        self._vocabulary: dict[str, int] = tokenizer.get_vocab()
        self._known: dict[str, list[int]] = {}

    def num_subwords(self, tokens: Sequence[str]) -> int:
        """Returns how many a sentence has, the artificial root's included."""
        return 1 + sum(len(self.ids(token)) for token in tokens)

    def batch(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Returns the subwords of some sentences, int64 ``[B, T, F]``, each after its root."""
        rows = [[[self._rules.root_id], *map(self.ids, tokens)] for tokens in sentences]
        width = max(len(ids) for row in rows for ids in row)
        filled = torch.full((len(rows), max(map(len, rows)), width), self._rules.pad_id)
        for b, row in enumerate(rows):
            for t, ids in enumerate(row):
                filled[b, t, : len(ids)] = torch.tensor(ids)
        return filled

    def ids(self, token: str) -> list[int]:
        """Returns at least one id, and at most as many as supar reads of a token."""
        if token in self._known:
            return self._known[token]
        rules = self._rules
        pieces = self._tokenizer.tokenize(" " + token if rules.space_before else token)
        ids = [self._vocabulary.get(piece, rules.unknown_id) for piece in pieces]
        ids = [rules.unknown_id if i == rules.pad_id else i for i in ids]
        ids = (ids or [rules.unknown_id])[: rules.max_per_token]
        if len(self._known) >= _CACHED_WORDS:
            self._known.clear()
        self._known[token] = ids
        return ids


class TransformerDependencyParser(BatchedParser[DependencyParse]):
    """A ``SentenceParser[DependencyParse]`` over a biaffine dependency model with a transformer.

    Differs from supar in that the name of the padding, where it is a token, counts as unknown, and
    that a sentence stands in a batch with those of like length, so an answer may depend on its
    batch by rounding alone. No sentence has too many subwords.
    """

    default_batch_tokens = 4000
    """Padded size in subwords."""

    load_model = staticmethod(load_transformer_dependency_model)

    def _take(self, model: TransformerDependencyModel) -> None:
        self.network = model.network
        self.relations = list(model.description.relations)
        self._reader = SubwordReader(model.tokenizer, model.description.subwords)

    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        return [self._reader.num_subwords(tokens) for tokens in sentences]

    def states(self, sentences: Sequence[Sentence]) -> tuple[Tensor, Tensor]:
        """Returns contextual states, float32 ``[B, T, D]``, and the sentences' lengths ``[B]``."""
        lengths = torch.tensor([len(tokens) + 1 for tokens in sentences], device=self._device)
        with products_in(self._dtype, self._device):
            subwords_BTF = self._reader.batch(sentences).to(self._device)
            return self.network.encode(subwords_BTF).float(), lengths

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[DependencyParse]:
        return trees_of_states(self.network, *self.states(sentences), self.relations)
