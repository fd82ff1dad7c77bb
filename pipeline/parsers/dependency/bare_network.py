"""The weights of a biaffine dependency parser where prediction looks for them, without supar.

supar imports nltk, which imports scipy's statistics: three seconds before the first sentence. For
prediction nothing of it is needed but the names under which the weights lie, since the arithmetic
is that of `forward` and `decoding`. Training and conversion build supar's own network.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from pipeline.parsers.dependency.model import NetworkSizes
    from pipeline.parsers.dependency.vocabulary import DependencyVocabulary

LEAK = 0.1
"""Of the rectifiers behind the projections, as supar has it."""


class BareDependencyNetwork(nn.Module):
    """The modules that `for_prediction` reads, in evaluation mode; it predicts nothing itself."""

    def __init__(self, sizes: NetworkSizes, vocabulary: DependencyVocabulary) -> None:
        """Makes room for the weights; they are drawn as torch draws them, to be overwritten."""
        super().__init__()
        states = 2 * sizes.lstm_hidden
        self.word_embed = nn.Embedding(len(vocabulary.words), sizes.word_embedding)
        self.char_embed = _Spelling(sizes, len(vocabulary.characters))
        self.embed_dropout = _Passed()
        self.encoder = _Encoder(sizes)
        self.encoder_dropout = nn.Identity()
        self.arc_mlp_d = _Projection(states, sizes.arc_mlp)
        self.arc_mlp_h = _Projection(states, sizes.arc_mlp)
        self.rel_mlp_d = _Projection(states, sizes.relation_mlp)
        self.rel_mlp_h = _Projection(states, sizes.relation_mlp)
        self.arc_attn = _BilinearForms(1, sizes.arc_mlp + 1, sizes.arc_mlp)
        width = sizes.relation_mlp + 1
        self.rel_attn = _BilinearForms(len(vocabulary.relations), width, width)


class _Passed(nn.Module):
    def forward(self, *items: Tensor) -> tuple[Tensor, ...]:
        return items


class _Spelling(nn.Module):
    def __init__(self, sizes: NetworkSizes, num_characters: int) -> None:
        super().__init__()
        hidden, self.n_out = sizes.character_hidden, sizes.character_features
        self.embed = nn.Embedding(num_characters, sizes.character_embedding)
        self.lstm = nn.LSTM(
            sizes.character_embedding, hidden // 2, batch_first=True, bidirectional=True
        )
        self.dropout = nn.Identity()
        self.projection = nn.Identity() if hidden == self.n_out else nn.Linear(hidden, self.n_out)


class _Encoder(nn.Module):
    dropout = 0.0

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__()
        first = sizes.word_embedding + sizes.character_features
        widths = [first, *[2 * sizes.lstm_hidden] * (sizes.lstm_layers - 1)]
        self.f_cells = nn.ModuleList(nn.LSTMCell(width, sizes.lstm_hidden) for width in widths)
        self.b_cells = nn.ModuleList(nn.LSTMCell(width, sizes.lstm_hidden) for width in widths)


class _Projection(nn.Module):
    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out)
        self.activation = nn.LeakyReLU(negative_slope=LEAK)


class _BilinearForms(nn.Module):
    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape))
