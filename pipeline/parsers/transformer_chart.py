"""benepar's chart model over a transformer: its folder, and how sentences are parsed with it.

The module is benepar's, and a folder holds what a checkpoint leaves to a hub. Words become subwords
and states as in benepar, from the fenceposts on the trees as in the other constituency parser.
Legend: B sentences, T positions (tokens and two sentence marks), D d_model.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from benepar.nkutil import HParams
from benepar.parse_chart import ChartParser
from benepar.ptb_unescape import guess_space_after
from torch import Tensor

from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.batched_parser import BatchedParser
from treeviews.pipeline.parsers.chart_decoding import SpanScorer, trees_of_fenceposts
from treeviews.pipeline.parsers.chart_model import from_benepar_label
from treeviews.pipeline.parsers.devices import products_in
from treeviews.pipeline.parsers.parser_folder import NetworkDescription, ParserModel
from treeviews.pipeline.parsers.sentence_parser import Sentence
from treeviews.pipeline.parsers.transformer_folder import read_transformer_parser, subword_limit
from treeviews.pipeline.trees.flat_trees import ConstituencyParse

UNTAGGED = "UNK"
"""benepar's tag of every token where a parser gives none."""
_ARE_SPACED = {"zh": False, "ar": True, "he": True}
"""Languages in which a space follows no word, or each."""


class TransformerChartDescription(NetworkDescription):
    """What a parser folder says of a model; an entry's place is its id."""

    kind: ClassVar[str] = "benepar-chart-transformer"

    hparams: Mapping[str, Any]
    """benepar's own; ``pretrained_model`` is replaced by the folder's transformer."""
    labels: tuple[str, ...]
    """The null label "" first; unary chains joined by ``::``."""
    tags: tuple[str, ...]
    language: str
    """As benepar guesses it from the labels; empty if it cannot. Decides where spaces stand."""


def _build(description: TransformerChartDescription, transformer: Path) -> ChartParser:
    return ChartParser(
        tag_vocab={tag: i for i, tag in enumerate(description.tags)},
        label_vocab={label: i for i, label in enumerate(description.labels)},
        char_vocab=None,
        hparams=HParams(**{**description.hparams, "pretrained_model": str(transformer)}),
    )


class TransformerConstituencyParser(BatchedParser[ConstituencyParse]):
    """A ``SentenceParser[ConstituencyParse]`` over benepar's chart model with a transformer.

    Differs from benepar in that a sentence of which a token leaves no subword is rejected
    (``no_subword``), where benepar would shift the tree, as is one of more subwords than the
    transformer takes (``too_many_subwords``), and that a sentence stands in a batch with those of
    like length, so an answer may depend on its batch by rounding alone.
    """

    default_batch_tokens = 4000
    """Padded size in subwords."""

    @staticmethod
    def load_model(path: Path, /) -> ParserModel[TransformerChartDescription]:
        """Returns the model of a parser folder; see `read_transformer_parser`."""
        return read_transformer_parser(path, TransformerChartDescription, _build)

    def _position_limit(self, model: ParserModel[TransformerChartDescription]) -> int | None:
        if model.network.encoder is None:
            return None
        return int(model.network.add_timing.timing_table.shape[0]) - 2

    def _take(self, model: ParserModel[TransformerChartDescription]) -> None:
        self._network, description = model.network, model.description
        self._labels = [from_benepar_label(label) for label in description.labels]
        self._scorer = SpanScorer(self._network)
        self._tags, self._language = list(description.tags), description.language
        tokenizer = self._network.retokenizer.tokenizer
        self._max_subwords = subword_limit(self._network.pretrained_model, tokenizer)
        tokenizer.model_max_length = sys.maxsize  # the limit is held here, and says how many
        # benepar pads in a second call, as it must; transformers would warn of it.
        tokenizer.deprecation_warnings["Asking-to-pad-a-fast-tokenizer"] = True

    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        return [self._num_subwords(sentence) for sentence in sentences]

    def _num_subwords(self, sentence: Sentence) -> int | Refusal:
        try:
            encoded = self._encode(sentence)
        except (StopIteration, AssertionError):  # benepar ran out of subwords before the last token
            return Refusal("no_subword", f"of the last of {len(sentence)} tokens")
        words: list[int] = encoded["words_from_tokens"]
        if any(index < 0 for index in words):
            missing = next(i for i, index in enumerate(words) if index < 0)
            return Refusal("no_subword", f"token {missing} of {len(sentence)}")
        count = len(encoded["input_ids"]) + int(self._network.retokenizer.is_t5)
        if count > self._max_subwords:
            return Refusal("too_many_subwords", f"{count} subwords, limit {self._max_subwords}")
        return count

    def _encode(self, sentence: Sentence) -> Any:
        words = list(sentence)
        fixed = _ARE_SPACED.get(self._language)
        space_after = guess_space_after(words) if fixed is None else [fixed] * len(words)
        return self._network.retokenizer(words, space_after)

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[ConstituencyParse]:
        batch = self._network.pad_encoded([self._encode(sentence) for sentence in sentences])
        with products_in(self._dtype, self._device):
            states = self._states(batch).float()
        half = states.shape[-1] // 2
        fenceposts = torch.cat([states[:, :-1, :half], states[:, 1:, half:]], -1)
        tags = self._tag(states, [len(sentence) for sentence in sentences])
        return trees_of_fenceposts(self._scorer, [fenceposts], tags, self._labels)

    def _states(self, batch: Any) -> Tensor:
        """Returns each position's state ``[B, T, D]``: its last subword's, in its context."""
        network = self._network
        inputs = {name: tensor.to(self._device) for name, tensor in batch.items()}
        mask = inputs.pop("valid_token_mask")
        last_subword = F.relu(inputs.pop("words_from_tokens"))
        features = network.pretrained_model(**inputs).last_hidden_state
        sentences = torch.arange(len(mask), device=self._device)[:, None]
        features = features[sentences, last_subword].masked_fill(~mask[..., None], 0)
        states: Tensor = network.project_pretrained(features)
        if network.encoder is None:
            return states
        states = network.encoder(network.add_timing(states), mask)
        # As benepar does: every fencepost shall get an even split of content and position features.
        return torch.cat([states[..., 0::2], states[..., 1::2]], -1)

    def _tag(self, states_BTD: Tensor, lengths: Sequence[int]) -> list[list[str]]:
        if self._network.f_tag is None:
            return [[UNTAGGED] * length for length in lengths]
        best = self._network.f_tag(states_BTD).argmax(-1).tolist()
        return [
            [self._tags[tag] for tag in best[b][1 : length + 1]] for b, length in enumerate(lengths)
        ]
