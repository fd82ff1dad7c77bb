"""Constituency parsing with benepar's chart model: its encoder without padding or mask.

The character LSTM reads each distinct word once, and the vector is kept. The sentences of a batch
stand one after the other, shortest first, so that all but attention is a matrix product over real
positions, and attention runs over sentences of equal length without a mask. The equations are those
of ``PartitionedTransformerEncoder`` (Kitaev & Klein 2018, section 3): features are split in content
and position, which meet in attention's weights alone.

Legend: Y words, C characters of the longest one, P positions of all sentences, R some of them,
D d_model, N heads, E d_kv, A half of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from treeviews.pipeline.base.refusal import Refusal
from treeviews.pipeline.parsers.batched_parser import BatchedParser
from treeviews.pipeline.parsers.chart_decoding import SpanScorer, trees_of_fenceposts
from treeviews.pipeline.parsers.chart_model import (
    START_ROW,
    STOP_ROW,
    ChartNetwork,
    ConstituencyModel,
    WordTable,
    from_benepar_label,
    load_constituency_model,
    word_table,
)
from treeviews.pipeline.parsers.fast_layers import (
    BLOCK_ROWS,
    FixedProduct,
    WordCache,
    last_states,
    words_at_once,
)
from treeviews.pipeline.parsers.sentence_parser import Sentence
from treeviews.pipeline.trees.flat_trees import ConstituencyParse

MAX_WORD_CHARACTERS = 256
"""The model reads no further into a word, so that a giant token costs no more than a long one."""

CACHED_WORDS = 50_000
"""Distinct words whose vectors are kept; 32 MB at the bundled parser's 160 features."""

_WIDTHS = (5, 8, 12, 24, 64, MAX_WORD_CHARACTERS)
"""Words of up to so many characters are read together: most are far shorter than the longest."""
_MARKS = 2
"""Characters that stand before and after a word's own."""
_SENTENCE_MARKS = 2
"""Positions before and after a sentence's own."""

_ROWS_AT_ONCE = {"cpu": BLOCK_ROWS, "cuda": 1 << 20}
"""On a CPU few enough that what is made of them between two layers stays in a core's cache."""


class BeneparConstituencyParser(BatchedParser[ConstituencyParse]):
    """A loaded chart model as a ``SentenceParser[ConstituencyParse]``.

    The model reads the raw characters of each token, as ``benepar.Parser`` does for given words:
    ``(`` is ``(`` here and ``-LRB-`` only where a tree is written as brackets.

    Differs from benepar in that reserved characters (``\\0`` to ``\\4``) count as unknown ones,
    that a word counts by its first 256 characters, and that the sentences of a call are sorted by
    length, so an answer may depend on its batch by float32 rounding alone.
    """

    default_batch_tokens = 2_000
    """Sentence marks included: enough for full speed, few enough for a core's cache."""

    is_padded = False
    load_model = staticmethod(partial(load_constituency_model, bare=True))

    def _position_limit(self, model: ConstituencyModel) -> int:
        return model.description.model.max_length - _SENTENCE_MARKS

    def _take(self, model: ConstituencyModel) -> None:
        vocabularies = model.description.vocabularies
        self._labels = [from_benepar_label(label) for label in vocabularies.labels]
        self._tags = vocabularies.tags
        self._words = WordVectors(model.network)
        self._encoder = PackedTransformer(model.network, dtype=self._dtype)
        self._tagger = model.network.f_tag
        self._scorer = SpanScorer(model.network)

    def _sizes(self, sentences: Sequence[Sentence]) -> list[int | Refusal]:
        self._words.remember(sentences)
        return [len(sentence) + _SENTENCE_MARKS for sentence in sentences]

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[ConstituencyParse]:
        runs = list(equal_runs([len(sentence) + _SENTENCE_MARKS for sentence in sentences]))
        states_PD = self._encoder(self._words.content(sentences), runs)
        best_tags = self._tagger(states_PD).argmax(-1).tolist()
        half = states_PD.shape[-1] // 2
        fenceposts, tags = [], []
        for run in runs:
            states = states_PD[run.positions].unflatten(0, (run.num_sentences, -1))
            fenceposts.append(torch.cat([states[:, :-1, :half], states[:, 1:, half:]], -1))
        first = 1
        for sentence in sentences:
            of_tokens = best_tags[first : first + len(sentence)]
            tags.append([self._tags[tag] for tag in of_tokens])
            first += len(sentence) + _SENTENCE_MARKS
        return trees_of_fenceposts(self._scorer, fenceposts, tags, self._labels)


class WordVectors:
    """Reads the words of sentences, each distinct word once, and sets the sentence marks."""

    def __init__(self, module: ChartNetwork) -> None:
        """Starts with no word, and takes a chart parser with a character LSTM."""
        self._encoder = module.char_encoder
        self._characters = module.char_vocab
        self._device = self._encoder.emb.weight.device
        with torch.inference_mode():
            self._marks = self._read_with_marks([""] * words_at_once(_WIDTHS[0]), _WIDTHS[0])[:2]
            table = torch.zeros_like(self._marks[:1]).repeat(CACHED_WORDS, 1)
        self._cache = WordCache(
            lambda words, width: self._read_with_marks(words, width)[2:],
            table=table,
            widths=_WIDTHS,
        )

    def remember(self, sentences: Sequence[Sequence[str]]) -> None:
        """Reads words ahead: many at once cost less than the few new ones of a batch."""
        self._cache.remember(token for sentence in sentences for token in sentence)

    def content(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """Returns the vectors of all positions, ``[P, D / 2]``, sentence after sentence.

        Each sentence stands between its marks.
        """
        words = [token for sentence in sentences for token in sentence]
        num_positions = torch.tensor([len(sentence) + 2 for sentence in sentences])
        stops = num_positions.cumsum(0) - 1
        starts = stops - num_positions + 1
        is_word = torch.ones(len(words) + 2 * len(sentences), dtype=torch.bool)
        is_word[starts] = False
        is_word[stops] = False
        content = self._marks.new_empty(len(is_word), self._marks.shape[1])
        places = is_word.nonzero()[:, 0].to(self._device)
        content.index_copy_(0, places, self._cache.vectors(words))
        content[starts.to(self._device)] = self._marks[START_ROW]
        content[stops.to(self._device)] = self._marks[STOP_ROW]
        return content

    def _read_with_marks(self, words: list[str], width: int) -> Tensor:
        """Returns ``[2 + Y, D / 2]``, sentence marks first; shapes depend on width alone."""
        table = word_table(words, self._characters)
        missing = width + _MARKS - table.char_ids.shape[1]
        char_ids = F.pad(table.char_ids, (0, missing))
        return read_table(
            self._encoder, WordTable(char_ids.to(self._device), table.lengths.to(self._device))
        )


def read_table(encoder: Any, table: WordTable) -> Tensor:
    """Returns ``[Y, D / 2]``, with gradients and dropout where the encoder is in training."""
    inputs_CYD = encoder.char_dropout(encoder.emb(table.char_ids.T))
    return last_states(encoder.lstm, inputs_CYD, table.lengths)


class Run(NamedTuple):
    """Neighbouring sentences of equal length in a batch."""

    num_sentences: int
    num_positions: int
    """Of each sentence."""
    positions: slice
    """Which of the batch's positions these are."""


def equal_runs(num_positions: Sequence[int]) -> Iterator[Run]:
    """Yields the runs of equal numbers, given one number for each sentence."""
    stop = 0
    for length, members in groupby(num_positions):
        count = len(list(members))
        start, stop = stop, stop + count * length
        yield Run(count, length, slice(start, stop))


class PackedTransformer:
    """The encoder of a chart parser with its weights laid out for large products."""

    def __init__(self, module: ChartNetwork, *, dtype: torch.dtype | None = None) -> None:
        """Takes the weights over as they are now; they may stand on any device.

        Args:
            module: a chart parser with an encoder.
            dtype: of products and attention; norms and sums over layers keep that of the weights,
                which is the default.
        """
        self._timing = module.add_timing
        dtype = dtype or module.add_timing.timing_table.dtype
        self._layers = [_PackedLayer(layer, dtype) for layer in module.encoder.layers]

    def __call__(self, content_PC: Tensor, runs: Sequence[Run]) -> Tensor:
        """Returns every position's state, ``[P, D]``, its even features before its odd ones.

        Args:
            content_PC: the words' vectors, ``[P, D / 2]`` float, sentence marks included.
            runs: all sentences of the batch.
        """
        places = [torch.arange(run.num_positions).repeat(run.num_sentences) for run in runs]
        timing = self._timing.timing_table.index_select(0, torch.cat(places).to(content_PC.device))
        norm = self._timing.norm
        states_PD = _normalized(norm, torch.cat((content_PC, timing), -1))
        for layer in self._layers:
            states_PD = layer(states_PD, runs)
        # As benepar does: every fencepost shall get an even split of content and position features.
        return torch.cat((states_PD[:, 0::2], states_PD[:, 1::2]), -1)


class _PackedLayer:
    def __init__(self, layer: Any, dtype: torch.dtype) -> None:
        attention = layer.self_attn
        self._norm_attn, self._norm_ff = layer.norm_attn, layer.norm_ff
        # Both halves' weights, content's before position's.
        self._project = [
            FixedProduct(_projections(weight, attention.scaling_factor).to(dtype))
            for weight in (attention.w_qkv_c, attention.w_qkv_p)
        ]
        self._out = [
            FixedProduct(weight.detach().flatten(0, 1).to(dtype))
            for weight in (attention.w_o_c, attention.w_o_p)
        ]
        self._widen, self._narrow = (
            [
                FixedProduct(part.weight.detach().T.to(dtype), part.bias.detach().to(dtype))
                for part in (linear.linear_c, linear.linear_p)
            ]
            for linear in (layer.linear1, layer.linear2)
        )
        self._dtype = dtype
        self._num_heads, self._half = attention.w_qkv_c.shape[0], attention.w_qkv_c.shape[-1]

    def __call__(self, states_PD: Tensor, runs: Sequence[Run]) -> Tensor:
        """Returns the next states."""
        gathered = self._attend(states_PD, runs)
        rows = _ROWS_AT_ONCE.get(states_PD.device.type, max(_ROWS_AT_ONCE.values()))
        following = torch.empty_like(states_PD)
        parts = (of_all.split(rows) for of_all in (states_PD, gathered, following))
        for states, values, place in zip(*parts, strict=True):
            place.copy_(self._transform(states, values))
        return following

    def _transform(self, states_RD: Tensor, gathered_RNHA: Tensor) -> Tensor:
        """Returns the next states of a few rows, which stay in a core's cache meanwhile."""
        attended = [
            product(values.flatten(1))
            for product, values in zip(self._out, gathered_RNHA.unbind(2), strict=True)
        ]
        states_RD = _normalized(self._norm_attn, states_RD + torch.cat(attended, -1))
        narrowed = [
            narrow(widen(half, rectified=True))
            for narrow, widen, half in zip(
                self._narrow, self._widen, self._operands(states_RD), strict=True
            )
        ]
        return _normalized(self._norm_ff, states_RD.add_(torch.cat(narrowed, -1)))

    def _operands(self, states_PD: Tensor) -> tuple[Tensor, ...]:
        return states_PD.to(self._dtype).chunk(2, -1)

    def _attend(self, states_PD: Tensor, runs: Sequence[Run]) -> Tensor:
        """Returns what positions gather from their sentences, ``[P, N, 2, A]``."""
        operands = self._operands(states_PD)
        projected_P3N2A = operands[0].new_empty(len(states_PD), 3, self._num_heads, 2, self._half)
        for half, (product, operand) in enumerate(zip(self._project, operands, strict=True)):
            product.write(operand, projected_P3N2A[..., half, :])
        projected_P3NE = projected_P3N2A.flatten(-2)
        gathered_PNE = projected_P3NE.new_empty(projected_P3NE[:, 0].shape)
        for run in runs:
            shape = run.num_sentences, run.num_positions
            query, key, value = (
                projected_P3NE[run.positions].unflatten(0, shape).permute(2, 0, 3, 1, 4)
            )
            gathered = F.scaled_dot_product_attention(query, key, value, scale=1.0)
            gathered_PNE[run.positions] = gathered.transpose(1, 2).flatten(0, 1)
        return gathered_PNE.view(*gathered_PNE.shape[:2], 2, -1)


def _normalized(norm: torch.nn.LayerNorm, states: Tensor) -> Tensor:
    return F.layer_norm(states, norm.normalized_shape, norm.weight, norm.bias, norm.eps)


def _projections(weight_NCKA: Tensor, scale: float) -> Tensor:
    """Returns queries', keys' and values' weights, ``[D / 2, 3 N A]``, queries scaled."""
    query, key, value = weight_NCKA.detach().permute(2, 1, 0, 3).flatten(2)
    return torch.cat((query * scale, key, value), -1)
