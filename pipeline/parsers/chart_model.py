"""benepar's chart model with a character LSTM (Kitaev & Klein 2018): sizes, words, parser folder.

Legend: W distinct words, C characters of the longest one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from treeviews.pipeline.base.settings import Count, Settings, Share
from treeviews.pipeline.parsers.parser_folder import (
    Layers,
    NamedParts,
    NetworkDescription,
    ParserModel,
    read_model,
)
from treeviews.pipeline.trees.flat_trees import CHAIN_MARK

ChartNetwork: TypeAlias = Any
"""benepar's ``ChartParser``, or a `bare_chart_network` for prediction alone."""

UNKNOWN, START_SENTENCE, START_WORD, STOP_WORD, STOP_SENTENCE = "\0", "\1", "\2", "\3", "\4"
RESERVED_CHARACTERS = (UNKNOWN, START_SENTENCE, START_WORD, STOP_WORD, STOP_SENTENCE)
"""Stand for marks in benepar's character vocabulary, in this order from id 0."""

BENEPAR_CHAIN_MARK = "::"

BENEPAR_PARTS = ("use_chars_lstm", "use_encoder", "predict_tags", "force_root_constituent")
"""What this model is made of, by benepar's names."""
BENEPAR_SIZES = {
    "d_model": "d_model",
    "num_layers": "num_layers",
    "num_heads": "num_heads",
    "d_kv": "d_kv",
    "d_ff": "d_ff",
    "d_char": "d_char_emb",
    "d_label_hidden": "d_label_hidden",
    "d_tag_hidden": "d_tag_hidden",
    "max_length": "encoder_max_len",
}
"""Our name of a size -> benepar's."""

START_ROW, STOP_ROW = 0, 1
"""Rows of the sentence marks in every table of words."""


class ChartModelConfig(Settings):
    """Sizes of the model, by default the bundled one's.

    Half of ``d_model``, ``d_kv`` and ``d_ff`` each serves content and position.
    """

    called: ClassVar[str] = "chart model setting"

    d_model: Count = 320
    num_layers: Layers = 4
    num_heads: Count = 5
    d_kv: Count = 64
    d_ff: Count = 640
    d_char: Count = 48
    d_label_hidden: Count = 256
    d_tag_hidden: Count = 128
    max_length: Count = 512
    """Positions with an embedding of their own, the two sentence marks included."""
    dropout: Share = 0.2
    """In attention, feed-forward layers, residuals and on word vectors."""
    char_dropout: Share = 0.2
    """On character embeddings."""


class ChartVocabularies(Settings):
    """What the model's outputs and character embeddings stand for; an entry's place is its id."""

    called: ClassVar[str] = "vocabulary"

    characters: tuple[str, ...]
    """The reserved characters first."""
    labels: tuple[str, ...]
    """The null label "" first; unary chains joined by ``::`` as benepar has them."""
    tags: tuple[str, ...]

    def _check_together(self) -> None:
        if self.characters[: len(RESERVED_CHARACTERS)] != RESERVED_CHARACTERS:
            raise ValueError("the characters do not begin with benepar's five reserved ones")


class ChartDescription(NetworkDescription):
    """What a parser folder says of a network."""

    kind: ClassVar[str] = "benepar-chart"

    model: ChartModelConfig
    vocabularies: ChartVocabularies


ConstituencyModel: TypeAlias = ParserModel[ChartDescription]


def to_benepar_label(label: str) -> str:
    """Returns a collapsed chain's label as benepar writes it: ``NP::VP`` for ``NP+VP``."""
    return label.replace(CHAIN_MARK, BENEPAR_CHAIN_MARK)


def from_benepar_label(label: str) -> str:
    """Returns a collapsed chain's label as this project writes it: ``NP+VP`` for ``NP::VP``."""
    return label.replace(BENEPAR_CHAIN_MARK, CHAIN_MARK)


def build_chart_parser(description: ChartDescription) -> ChartNetwork:
    """Returns benepar's module; its weights are drawn from torch's global generator."""
    from benepar.nkutil import HParams
    from benepar.parse_chart import ChartParser

    config, vocabularies = description.model, description.vocabularies
    parts = ("attention", "relu", "residual", "morpho_emb")
    hparams: dict[str, Any] = {
        **dict.fromkeys(BENEPAR_PARTS, True),
        **{theirs: getattr(config, ours) for ours, theirs in BENEPAR_SIZES.items()},
        **{f"{part}_dropout": config.dropout for part in parts},
        "use_pretrained": False,
        "char_lstm_input_dropout": config.char_dropout,
        "tag_loss_scale": 1.0,  # read by benepar's own training loss alone
    }
    return ChartParser(
        tag_vocab={tag: i for i, tag in enumerate(vocabularies.tags)},
        label_vocab={label: i for i, label in enumerate(vocabularies.labels)},
        char_vocab={character: i for i, character in enumerate(vocabularies.characters)},
        hparams=HParams(**hparams),
    )


@dataclass(frozen=True, slots=True)
class WordTable:
    """Distinct words as character ids; rows 0 and 1 are the sentence marks."""

    char_ids: Tensor
    """``[W, C]`` int64, zero after a word's end."""
    lengths: Tensor
    """``[W]`` int64, word marks included."""


def word_table(words: Sequence[str], char_vocab: Mapping[str, int]) -> WordTable:
    """Returns the sentence marks and then ``words``, spelled as benepar spells them.

    Differs from benepar in that a reserved character inside a word counts as unknown.
    """
    known = {c: i for c, i in char_vocab.items() if c not in RESERVED_CHARACTERS}
    unknown, start, stop = (char_vocab[c] for c in (UNKNOWN, START_WORD, STOP_WORD))
    spelled = [[char_vocab[mark]] * 3 for mark in (START_SENTENCE, STOP_SENTENCE)]
    spelled += [[known.get(character, unknown) for character in word] for word in words]
    lengths = [len(spelling) + 2 for spelling in spelled]
    char_ids = np.zeros((len(spelled), max(lengths)), np.int64)
    for row, spelling in enumerate(spelled):
        char_ids[row, : lengths[row]] = [start, *spelling, stop]
    return WordTable(torch.from_numpy(char_ids), torch.tensor(lengths))


def load_constituency_model(path: Path, *, bare: bool = False) -> ConstituencyModel:
    """Returns the model of a parser folder, ready for prediction; see `read_model`.

    Args:
        path: the folder.
        bare: whether the network is for prediction alone, see `bare_chart_network`.
    """
    return read_model(path, ChartDescription, bare_chart_network if bare else build_chart_parser)


def bare_chart_network(description: ChartDescription) -> nn.Module:
    """Returns the modules that the adapter reads, by benepar's names.

    It predicts nothing itself. Without benepar, which imports transformers, nltk and torch-struct:
    four seconds before the first sentence. Training and conversion build benepar's own network.
    """
    config, characters = description.model, description.vocabularies.characters
    labels, tags = description.vocabularies.labels, description.vocabularies.tags
    width = config.d_model

    def scorer(hidden: int, out: int) -> nn.Sequential:
        first, last = nn.Linear(width, hidden), nn.Linear(hidden, out)
        return nn.Sequential(first, nn.LayerNorm(hidden), nn.ReLU(), last)

    return NamedParts(
        char_vocab={character: i for i, character in enumerate(characters)},
        char_encoder=NamedParts(
            lstm=nn.LSTM(config.d_char, width // 4, bidirectional=True),
            emb=nn.Embedding(len(characters), config.d_char),
            char_dropout=nn.Identity(),
        ),
        add_timing=NamedParts(
            timing_table=_parameter(config.max_length, width // 2), norm=nn.LayerNorm(width)
        ),
        encoder=NamedParts(
            layers=nn.ModuleList(_bare_layer(config) for _ in range(config.num_layers))
        ),
        f_label=scorer(config.d_label_hidden, len(labels) - 1),
        f_tag=scorer(config.d_tag_hidden, len(tags)),
        decoder=SimpleNamespace(force_root_constituent=True),
    )


def _bare_layer(config: ChartModelConfig) -> nn.Module:
    heads, half, per_head = config.num_heads, config.d_model // 2, config.d_kv // 2
    attention, linear1, linear2 = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for part in ("c", "p"):  # content, position
        attention[f"w_qkv_{part}"] = _parameter(heads, half, 3, per_head)
        attention[f"w_o_{part}"] = _parameter(heads, per_head, half)
        linear1[f"linear_{part}"] = nn.Linear(half, config.d_ff // 2)
        linear2[f"linear_{part}"] = nn.Linear(config.d_ff // 2, half)
    return NamedParts(
        self_attn=NamedParts(**attention, scaling_factor=1 / config.d_kv**0.5),
        linear1=NamedParts(**linear1),
        linear2=NamedParts(**linear2),
        norm_attn=nn.LayerNorm(config.d_model),
        norm_ff=nn.LayerNorm(config.d_model),
    )


def _parameter(*shape: int) -> nn.Parameter:
    return nn.Parameter(torch.empty(shape))
