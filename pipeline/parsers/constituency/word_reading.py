"""The character LSTM's vectors of words, with gradients: what trainings read words with.

benepar's own ``CharacterLSTM`` reads packed sequences, for which torch takes a slow path; with a
fused LSTM over words of like length a whole training step takes 7 % less time.
Legend: W words, D d_model.
"""

from __future__ import annotations

import torch
from benepar.parse_chart import ChartParser
from torch import Tensor

from pipeline.parsers.constituency.chart_model import WordTable
from pipeline.parsers.constituency.word_vectors import read_table

_WIDTHS = (6, 9, 13, 24)
"""Words of up to so many characters, marks included, are read together."""


def read_words(module: ChartParser, table: WordTable) -> Tensor:
    """Returns ``[W, D / 2]``; characters are dropped out while the module is in training."""
    parts, positions = [], []
    shorter = 0
    for width in (*_WIDTHS, int(table.lengths.max())):
        members = ((table.lengths > shorter) & (table.lengths <= width)).nonzero()[:, 0]
        shorter = max(shorter, width)
        if len(members):
            lengths = table.lengths[members]
            of_like_length = WordTable(table.char_ids[members, : int(lengths.max())], lengths)
            parts.append(read_table(module.char_encoder, of_like_length))
            positions.append(members)
    return torch.cat(parts).index_select(0, torch.cat(positions).argsort())
