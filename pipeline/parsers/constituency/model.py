"""benepar's chart model with a character LSTM (Kitaev & Klein 2018): sizes, words, parser folder.

Legend: W distinct words, C characters of the longest one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from pipeline.base.settings import Count, Settings, Share
from pipeline.parsers.adapters.fitting import built_to_fit
from pipeline.parsers.adapters.folder_files import DESCRIPTION_NAME, PLAIN_CONSTITUENCY
from pipeline.parsers.adapters.parser_folder import read_parser_folder, write_parser_folder
from pipeline.parsers.constituency.bare_network import BareChartNetwork
from pipeline.trees.flat import CHAIN_MARK

if TYPE_CHECKING:
    from benepar.parse_chart import ChartParser

UNKNOWN, START_SENTENCE, START_WORD, STOP_WORD, STOP_SENTENCE = "\0", "\1", "\2", "\3", "\4"
RESERVED_CHARACTERS = (UNKNOWN, START_SENTENCE, START_WORD, STOP_WORD, STOP_SENTENCE)
"""Stand for marks in benepar's character vocabulary, in this order from id 0."""

BENEPAR_CHAIN_MARK = "::"

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


class _VocabularyEntries(Settings):
    called: ClassVar[str] = "vocabulary"

    characters: tuple[str, ...]
    labels: tuple[str, ...]
    tags: tuple[str, ...]


class _Description(Settings):
    called: ClassVar[str] = "parser description"

    model: ChartModelConfig
    vocabularies: _VocabularyEntries

    def _check_together(self) -> None:
        characters = self.vocabularies.characters
        if characters[: len(RESERVED_CHARACTERS)] != RESERVED_CHARACTERS:
            raise ValueError("the characters do not begin with the five reserved ones")


@dataclass(frozen=True, slots=True)
class ChartVocabularies:
    """What the model's outputs and character embeddings stand for; an entry's place is its id."""

    characters: list[str]
    """The reserved characters first."""
    labels: list[str]
    """The null label "" first; unary chains joined by ``::`` as benepar has them."""
    tags: list[str]


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

    hparams: dict[str, Any] = {
        "use_chars_lstm": True,
        "use_pretrained": False,
        "use_encoder": True,
        "predict_tags": True,
        "force_root_constituent": True,
        "d_model": config.d_model,
        "num_layers": config.num_layers,
        "num_heads": config.num_heads,
        "d_kv": config.d_kv,
        "d_ff": config.d_ff,
        "d_char_emb": config.d_char,
        "d_label_hidden": config.d_label_hidden,
        "d_tag_hidden": config.d_tag_hidden,
        "encoder_max_len": config.max_length,
        "attention_dropout": config.dropout,
        "relu_dropout": config.dropout,
        "residual_dropout": config.dropout,
        "morpho_emb_dropout": config.dropout,
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
    description = {"model": model.config.to_dict(), "vocabularies": asdict(model.vocabularies)}
    return write_parser_folder(
        path, PLAIN_CONSTITUENCY, description, model.network.state_dict(), halved=halved
    )


def load_constituency_model(
    path: Path, *, expected_checksum: str | None = None, bare: bool = False
) -> tuple[ConstituencyModel, str]:
    """Returns a model from its folder, ready for prediction, and its checksum.

    Leaves torch's global generator as it was.

    Args:
        path: the folder.
        expected_checksum: where given, the folder must have exactly this checksum.
        bare: whether the network is for prediction alone, see `BareChartNetwork`.

    Raises:
        ValueError: a file is missing, damaged, or not of this kind; names the file.
    """
    description, tensors, checksum = read_parser_folder(
        path, PLAIN_CONSTITUENCY, expected_checksum=expected_checksum
    )
    try:
        described = _Description.from_dict(description)
        config, entries = described.model, described.vocabularies
        vocabularies = ChartVocabularies(
            list(entries.characters), list(entries.labels), list(entries.tags)
        )
        build = BareChartNetwork if bare else build_chart_parser
        network = built_to_fit(
            lambda: build(config, vocabularies), tensors, num_layers=config.num_layers
        )
    except ValueError as error:
        raise ValueError(
            f"{path / DESCRIPTION_NAME}: does not describe the weights beside it ({error}); "
            f"restore both files together"
        ) from error
    network.eval()
    return ConstituencyModel(config, vocabularies, network), checksum
