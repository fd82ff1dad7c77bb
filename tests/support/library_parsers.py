"""Parsers as supar and benepar themselves build and save them, tiny and with random weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from benepar.nkutil import HParams
from benepar.parse_chart import ChartParser
from supar import BiaffineDependencyParser

from tests.support.dependency_examples import treebank, write_conllu
from tests.support.tiny_transformers import random_weights
from treeviews.pipeline.parsers.checkpoint_conversion import plain_model
from treeviews.pipeline.parsers.dependency_model import DependencyModel


def from_supar(parser: Any) -> DependencyModel:
    """Returns a copy of a ``supar.BiaffineDependencyParser`` that gives the same answers.

    Raises:
        ValueError: features other than words and characters.
    """
    return plain_model(vars(parser.model.args), parser.model.state_dict(), parser.transform)


def supar_parser(folder: Path, *, seed: int = 1, bert: Path | None = None, **options: Any) -> Any:
    """supar's own parser, built by supar from a file, with random weights.

    Args:
        bert: folder of the transformer, whose weights stay as they are.
        options: arguments of supar's ``build``.
    """
    arguments = {
        "embed": None, "encoder": "lstm", "feat": ["char"], "min_freq": 1, "fix_len": 20,
        "n_embed": 12, "n_pretrained": 12, "n_feat_embed": 10, "n_char_embed": 6,
        "n_char_hidden": 8, "n_lstm_hidden": 16, "n_lstm_layers": 2, "n_arc_mlp": 14,
        "n_rel_mlp": 9, "n_bert_layers": 2, **options,
    }  # fmt: skip
    parser = BiaffineDependencyParser.build(
        path=str(folder / "build" / "model"),
        train=str(write_conllu(treebank(), folder / "train.conllu")),
        build=True,
        bert=None if bert is None else str(bert),
        **arguments,
    )
    random_weights(parser.model, seed=seed, but=["encoder.bert", "bert_embed.bert"])
    return parser


def benepar_file(folder: Path, transformer: Path, **changes: Any) -> Path:
    """A file as benepar's training writes it."""
    hparams = {
        "use_chars_lstm": False, "use_pretrained": True, "pretrained_model": str(transformer),
        "use_encoder": True, "predict_tags": True, "force_root_constituent": True, "d_model": 32,
        "num_layers": 1, "num_heads": 2, "d_kv": 16, "d_ff": 32, "d_label_hidden": 16,
        "d_tag_hidden": 16, "encoder_max_len": 40, "attention_dropout": 0.1, "relu_dropout": 0.1,
        "residual_dropout": 0.1, "morpho_emb_dropout": 0.1, "tag_loss_scale": 1.0, **changes,
    }  # fmt: skip
    labels = ["", "NP", "S::VP", "VP", "WHNP", "WHADJP", "SINV", "SQ"]
    module = ChartParser(
        tag_vocab={"DT": 0, "NN": 1, "VB": 2},
        label_vocab={label: i for i, label in enumerate(labels)},
        char_vocab=None,
        hparams=HParams(**hparams),
    )
    random_weights(module, seed=2, but=["pretrained_model"])
    torch.save({"config": module.config, "state_dict": module.state_dict()}, folder / "benepar.pt")
    return folder / "benepar.pt"
