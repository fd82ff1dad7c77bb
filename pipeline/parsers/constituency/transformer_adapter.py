"""Parses sentences with benepar's chart model over a transformer.

Words become subwords and states as in benepar, from the fenceposts on the trees as in the other
constituency parser. Legend: B sentences, T positions (tokens and two sentence marks), D d_model.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from benepar.ptb_unescape import guess_space_after
from torch import Tensor

from pipeline.parsers.base import MAX_TOKENS, Sentence
from pipeline.parsers.checkpoints.transformer_folder import subword_limit
from pipeline.parsers.constituency.decoding import trees_of_fenceposts
from pipeline.parsers.constituency.examples import from_benepar_label
from pipeline.parsers.constituency.span_scorer import SpanScorer
from pipeline.parsers.constituency.transformer_model import (
    TransformerChartModel,
    load_transformer_chart_model,
)
from pipeline.parsers.precision import checksum_in, dtype_for
from pipeline.parsers.subwords import (
    parse_by_subwords,
    products_in,
)
from pipeline.refusal import Refusal
from pipeline.trees.parses import ConstituencyParse

BATCH_TOKENS = 4000
UNTAGGED = "UNK"
"""benepar's tag of every token where a parser gives none."""

_NEVER_SPACED = frozenset({"zh"})
_ALWAYS_SPACED = frozenset({"ar", "he"})


class TransformerConstituencyParser:
    """A ``SentenceParser[ConstituencyParse]`` over benepar's chart model with a transformer.

    Differs from benepar in that a sentence of which a token leaves no subword is rejected, where
    benepar would shift the tree, and that a sentence stands in a batch with those of like length,
    so an answer may depend on its batch by rounding alone.
    """

    def __init__(
        self,
        model: TransformerChartModel,
        *,
        name: str,
        checksum: str = "",
        precision: str = "exact",
        max_tokens: int = MAX_TOKENS,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        """Takes a loaded model.

        Args:
            model: put into evaluation mode; its device is where parsing happens.
            name: used in paths.
            checksum: of all that determines the answers but the arithmetic; the parser's own also
                names that where it is not the weights'.
            precision: ``exact`` or ``fast``, see `transformer_dtype`.
            max_tokens: longer sentences are rejected as ``too_long``, and so are those that the
                model itself has no positions for.
            batch_tokens: bound of a batch's padded size in subwords; a setting of the machine.

        Raises:
            ValueError: an unknown precision.
        """
        self.name = name
        description, self._module = model.description, model.module.eval()
        self._labels = [from_benepar_label(label) for label in description.labels]
        self._scorer = SpanScorer(self._module)
        self._tags, self._language = description.tags, description.language
        self._dtype = dtype_for(precision, self._module.device)
        self.checksum = checksum_in(checksum, self._dtype)
        self._max_tokens, self._batch_tokens = max_tokens, batch_tokens
        if self._module.encoder is not None:
            num_positions = self._module.add_timing.timing_table.shape[0]
            self._max_tokens = min(max_tokens, num_positions - 2)
        tokenizer = self._module.retokenizer.tokenizer
        self._max_subwords = subword_limit(self._module.pretrained_model, tokenizer)
        tokenizer.model_max_length = sys.maxsize  # the limit is held here, and says how many
        # benepar pads in a second call, as it must; transformers would warn of it.
        tokenizer.deprecation_warnings["Asking-to-pad-a-fast-tokenizer"] = True

    @torch.inference_mode()
    def parse(self, sentences: Sequence[Sentence]) -> list[ConstituencyParse | Refusal]:
        """Returns one tree or rejection per sentence, in input order; never raises for input.

        Reasons of rejection: see `parse_by_subwords`, and ``no_subword``.

        Raises:
            MemoryError, RuntimeError: memory or the device failed.
        """
        return parse_by_subwords(
            sentences,
            count=self._count,
            parse_batch=self._parse_batch,
            max_tokens=self._max_tokens,
            max_subwords=self._max_subwords,
            batch_subwords=self._batch_tokens,
        )

    def _count(self, sentence: Sentence) -> int | Refusal:
        try:
            encoded = self._encode(sentence)
        except (StopIteration, AssertionError):  # benepar ran out of subwords before the last token
            return Refusal("no_subword", f"of the last of {len(sentence)} tokens")
        words: list[int] = encoded["words_from_tokens"]
        if any(index < 0 for index in words):
            missing = next(i for i, index in enumerate(words) if index < 0)
            return Refusal("no_subword", f"token {missing} of {len(sentence)}")
        return len(encoded["input_ids"]) + int(self._module.retokenizer.is_t5)

    def _encode(self, sentence: Sentence) -> Any:
        words = list(sentence)
        if self._language in _NEVER_SPACED or self._language in _ALWAYS_SPACED:
            space_after = [self._language in _ALWAYS_SPACED] * len(words)
        else:
            space_after = guess_space_after(words)
        return self._module.retokenizer(words, space_after)

    def _parse_batch(self, sentences: Sequence[Sentence]) -> list[ConstituencyParse]:
        batch = self._module.pad_encoded([self._encode(sentence) for sentence in sentences])
        with products_in(self._dtype, self._module.device):
            states = self._states(batch).float()
        half = states.shape[-1] // 2
        fenceposts = torch.cat([states[:, :-1, :half], states[:, 1:, half:]], -1)
        tags = self._tag(states, [len(sentence) for sentence in sentences])
        return trees_of_fenceposts(self._scorer, [fenceposts], tags, self._labels)

    def _states(self, batch: Any) -> Tensor:
        """Returns each position's state ``[B, T, D]``: its last subword's, in its context."""
        module = self._module
        inputs = {name: tensor.to(module.device) for name, tensor in batch.items()}
        mask = inputs.pop("valid_token_mask")
        last_subword = F.relu(inputs.pop("words_from_tokens"))
        features = module.pretrained_model(**inputs).last_hidden_state
        sentences = torch.arange(len(mask), device=module.device)[:, None]
        features = features[sentences, last_subword].masked_fill(~mask[..., None], 0)
        states: Tensor = module.project_pretrained(features)
        if module.encoder is None:
            return states
        states = module.encoder(module.add_timing(states), mask)
        # As benepar does: every fencepost shall get an even split of content and position features.
        return torch.cat([states[..., 0::2], states[..., 1::2]], -1)

    def _tag(self, states_BTD: Tensor, lengths: Sequence[int]) -> list[list[str]]:
        if self._module.f_tag is None:
            return [[UNTAGGED] * length for length in lengths]
        best = self._module.f_tag(states_BTD).argmax(-1).tolist()
        return [
            [self._tags[tag] for tag in best[b][1 : length + 1]] for b, length in enumerate(lengths)
        ]


def load_transformer_constituency_parser(
    path: Path,
    *,
    device: str = "cpu",
    precision: str = "exact",
    batch_tokens: int = BATCH_TOKENS,
    expected_checksum: str | None = None,
) -> TransformerConstituencyParser:
    """Returns the parser of a folder that a checkpoint was converted into; asks no hub.

    Args:
        path: its name becomes the parser's.
        device: where to parse.
        precision: ``exact`` or ``fast``.
        batch_tokens: bound of a batch's padded size, in subwords.
        expected_checksum: where given, the folder must have exactly this checksum.

    Raises:
        ValueError: a file is missing, damaged, or of another kind; names the file and the remedy.
    """
    model, checksum = load_transformer_chart_model(path, expected_checksum=expected_checksum)
    model.module.to(device)
    return TransformerConstituencyParser(
        model,
        name=path.resolve().name,
        checksum=checksum,
        precision=precision,
        batch_tokens=batch_tokens,
    )
