"""benepar's chart model with a character LSTM (Kitaev & Klein 2018): sizes, words, parser folder.

Legend: W distinct words, C characters of the longest one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from treeviews.pipeline.base.settings import Count, Settings, Share
from treeviews.pipeline.parsers.parser_files import PLAIN_CONSTITUENCY
from treeviews.pipeline.parsers.parser_folder import read_network, write_parser_folder
from treeviews.pipeline.trees.flat_trees import CHAIN_MARK

if TYPE_CHECKING:
    from benepar.parse_chart import ChartParser

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
    num_layers: Count = 4
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


class _Description(Settings):
    called: ClassVar[str] = "parser description"

    model: ChartModelConfig
    vocabularies: ChartVocabularies


def to_benepar_label(label: str) -> str:
    """Returns a collapsed chain's label as benepar writes it: ``NP::VP`` for ``NP+VP``."""
    return label.replace(CHAIN_MARK, BENEPAR_CHAIN_MARK)


def from_benepar_label(label: str) -> str:
    """Returns a collapsed chain's label as this project writes it: ``NP+VP`` for ``NP::VP``."""
    return label.replace(BENEPAR_CHAIN_MARK, CHAIN_MARK)


def build_chart_parser(config: ChartModelConfig, vocabularies: ChartVocabularies) -> ChartParser:
    """Returns benepar's module with freshly drawn weights."""
    from benepar.nkutil import HParams
    from benepar.parse_chart import ChartParser

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


@dataclass(frozen=True, slots=True)
class ConstituencyModel:
    """benepar's chart model with all that is needed to build it again."""

    config: ChartModelConfig
    vocabularies: ChartVocabularies
    network: ChartParser | BareChartNetwork


def new_constituency_model(
    config: ChartModelConfig, vocabularies: ChartVocabularies
) -> ConstituencyModel:
    """Returns a model whose weights are drawn from torch's global generator."""
    return ConstituencyModel(config, vocabularies, build_chart_parser(config, vocabularies))


def save_constituency_model(path: Path, model: ConstituencyModel, *, halved: bool = True) -> str:
    """Writes a model as a parser folder and returns its checksum; see ``write_parser_folder``."""
    description = {"model": model.config.to_dict(), "vocabularies": model.vocabularies.to_dict()}
    return write_parser_folder(
        path, PLAIN_CONSTITUENCY, description, model.network.state_dict(), halved=halved
    )


def load_constituency_model(path: Path, *, bare: bool = False) -> tuple[ConstituencyModel, str]:
    """Returns a model from its folder, ready for prediction, and its checksum.

    Leaves torch's global generator as it was.

    Args:
        path: the folder.
        bare: whether the network is for prediction alone, see `BareChartNetwork`.

    Raises:
        ValueError: a file is missing, damaged, or not of this kind; names the file.
    """
    build = BareChartNetwork if bare else build_chart_parser
    described, network, checksum = read_network(
        path,
        PLAIN_CONSTITUENCY,
        _Description,
        lambda of: build(of.model, of.vocabularies),
        lambda of: of.model.num_layers,
    )
    return ConstituencyModel(described.model, described.vocabularies, network), checksum


class BareChartNetwork(nn.Module):
    """The modules that the adapter reads, in evaluation mode, by benepar's names.

    It predicts nothing itself. Without benepar, which imports transformers, nltk and torch-struct:
    four seconds before the first sentence. Training and conversion build benepar's own network.
    """

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
