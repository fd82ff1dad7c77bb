"""Tokens as the subwords that a transformer reads, as supar turns one into the other.

Legend: B sentences, T positions (the artificial root + tokens), F subwords of a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from pipeline.base.settings import Settings

_CACHED_WORDS = 100_000
_MAX_PER_TOKEN = 20
"""What supar reads of a token by default."""
_SOME_WORD = "the"


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
    spaced = tokenizer.tokenize(f" {_SOME_WORD}") != tokenizer.tokenize(_SOME_WORD)
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
        return padded(rows, self._rules.pad_id)

    def ids(self, token: str) -> list[int]:
        """Returns at least one id, and at most as many as supar reads of a token."""
        found = self._known.get(token)
        if found is None:
            rules = self._rules
            text = " " + token if rules.space_before else token
            pieces = self._tokenizer.tokenize(text)
            ids = [self._vocabulary.get(piece, rules.unknown_id) for piece in pieces]
            ids = [rules.unknown_id if i == rules.pad_id else i for i in ids]
            found = (ids or [rules.unknown_id])[: rules.max_per_token]
            if len(self._known) >= _CACHED_WORDS:
                self._known.clear()
            self._known[token] = found
        return found


def padded(rows: Sequence[Sequence[Sequence[int]]], pad_id: int) -> Tensor:
    """Returns ids of each sentence's tokens as int64 ``[B, T, F]``, filled up with padding."""
    num_positions = max(len(row) for row in rows)
    width = max(len(ids) for row in rows for ids in row)
    filled = torch.full((len(rows), num_positions, width), pad_id)
    for b, row in enumerate(rows):
        for t, ids in enumerate(row):
            filled[b, t, : len(ids)] = torch.tensor(ids)
    return filled
