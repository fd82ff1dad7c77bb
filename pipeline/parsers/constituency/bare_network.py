"""The weights of a chart parser where prediction looks for them, without benepar.

benepar imports transformers, nltk and torch-struct: four seconds before the first sentence. For
prediction nothing of it is needed but the names under which the weights lie, since the arithmetic
is that of `forward` and `decoding`. Training and conversion build benepar's own network.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from pipeline.parsers.constituency.model import ChartModelConfig, ChartVocabularies


class BareChartNetwork(nn.Module):
    """The modules that the adapter reads, in evaluation mode; it predicts nothing itself."""

    def __init__(self, config: ChartModelConfig, vocabularies: ChartVocabularies) -> None:
        """Makes room for the weights; they are drawn as torch draws them, to be overwritten."""
        super().__init__()
        characters, labels = vocabularies.characters, vocabularies.labels
        self.char_vocab = {character: i for i, character in enumerate(characters)}
        self.char_encoder = _Spelling(len(characters), config.d_char, config.d_model // 2)
        self.add_timing = _Positions(config.max_length, config.d_model)
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList(_Layer(config) for _ in range(config.num_layers))
        self.f_label = _scorer(config.d_model, config.d_label_hidden, len(labels) - 1)
        self.f_tag = _scorer(config.d_model, config.d_tag_hidden, len(vocabularies.tags))
        self.decoder = SimpleNamespace(force_root_constituent=True)

    @property
    def device(self) -> torch.device:
        """Where the weights lie."""
        return self.add_timing.timing_table.device


class _Spelling(nn.Module):
    def __init__(self, num_characters: int, width: int, out: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, out // 2, num_layers=1, bidirectional=True)
        self.emb = nn.Embedding(num_characters, width)
        self.char_dropout = nn.Identity()


class _Positions(nn.Module):
    def __init__(self, most: int, width: int) -> None:
        super().__init__()
        self.timing_table = nn.Parameter(torch.empty(most, width // 2))
        self.norm = nn.LayerNorm(width)


class _Layer(nn.Module):
    def __init__(self, config: ChartModelConfig) -> None:
        super().__init__()
        width = config.d_model
        self.self_attn = _Attention(config)
        self.linear1 = _TwoLinears(width, config.d_ff)
        self.linear2 = _TwoLinears(config.d_ff, width)
        self.norm_attn = nn.LayerNorm(width)
        self.norm_ff = nn.LayerNorm(width)


class _Attention(nn.Module):
    def __init__(self, config: ChartModelConfig) -> None:
        super().__init__()
        heads, width, head = config.num_heads, config.d_model // 2, config.d_kv // 2
        for half in ("c", "p"):  # content, position
            self.register_parameter(
                f"w_qkv_{half}", nn.Parameter(torch.empty(heads, width, 3, head))
            )
            self.register_parameter(f"w_o_{half}", nn.Parameter(torch.empty(heads, head, width)))
        self.scaling_factor = 1 / config.d_kv**0.5


class _TwoLinears(nn.Module):
    def __init__(self, width: int, out: int) -> None:
        super().__init__()
        self.linear_c = nn.Linear(width // 2, out // 2)
        self.linear_p = nn.Linear(width // 2, out // 2)


def _scorer(width: int, hidden: int, out: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(width, hidden), nn.LayerNorm(hidden), nn.ReLU(), nn.Linear(hidden, out)
    )
