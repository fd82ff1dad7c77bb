"""SEQ: a gated recurrent unit over the words in order.

Legend: B sentences, N tokens, T word types, E word dimension, H hidden.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from models.encoders.initialisation import Init, initialise
from models.sentence_batch import SentenceBatch


class GRU(nn.Module):
    """One forward GRU (Cho et al. 2014); a sentence is the state after its last word.

    Sentences are packed longest first, without padding. Differs from Cho et al. as PyTorch's GRU
    does: the reset gate is applied after the recurrent product, n = tanh(W x + r * (U h + b)).
    """

    def __init__(self, *, word_size: int, hidden_size: int, init: Init = "xavier") -> None:
        super().__init__()
        self.output_size = hidden_size
        self.recurrence = nn.GRU(word_size, hidden_size)
        initialise(self.recurrence, init, block_rows=hidden_size)

    def forward(self, batch: SentenceBatch, word_vectors: Tensor) -> Tensor:
        """Returns one vector per sentence, [B, H], from the word types' vectors [T, E]."""
        schedule = batch.sequence
        words = batch.word_of_token.index_select(0, schedule.tokens)
        packed = PackedSequence(word_vectors.index_select(0, words), schedule.step_sizes)
        last_by_length: Tensor = torch.squeeze(self.recurrence(packed)[1], 0)
        return last_by_length.index_select(0, schedule.unsort)
