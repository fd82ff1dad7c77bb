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
from treeviews.pipeline.parsers.transformer_folder import read_transformer_parser
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
    return network_over(transformer, **description.network)


def network_over(transformer: Path, **arguments: Any) -> BiaffineNetwork:
    """Returns supar's network over the transformer in a folder."""
    return BiaffineNetwork(**arguments, bert=str(transformer))


def described(arguments: Any) -> dict[str, Any]:
    """Returns those of the arguments of supar's network that a parser folder names."""
    return {name: arguments[name] for name in NETWORK_ARGUMENTS if name not in _NOT_DESCRIBED}


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
