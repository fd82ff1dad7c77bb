"""Tiny randomly initialised transformers with tokenizers, as transformers saves them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    BertConfig,
    BertModel,
    BertTokenizerFast,
    ElectraConfig,
    ElectraModel,
    ElectraTokenizerFast,
    RobertaConfig,
    RobertaModel,
    RobertaTokenizerFast,
    T5Config,
    T5Model,
    T5TokenizerFast,
)

_SIZES: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "initializer_range": 0.5,  # so that answers differ from sentence to sentence
}


def tiny_bert(folder: Path, *, max_positions: int = 96) -> Path:
    """A BERT over words' pieces; its tokenizer states no limit of its own."""
    vocabulary = _word_pieces(folder)
    config = BertConfig(
        vocab_size=_num_lines(vocabulary), max_position_embeddings=max_positions, **_SIZES
    )
    return _saved(folder, BertModel, config, BertTokenizerFast(vocab_file=str(vocabulary)))


def tiny_electra(folder: Path) -> Path:
    """An ELECTRA, whose embeddings are narrower than its states."""
    vocabulary = _word_pieces(folder)
    config = ElectraConfig(
        vocab_size=_num_lines(vocabulary), embedding_size=8, max_position_embeddings=96, **_SIZES
    )
    return _saved(folder, ElectraModel, config, ElectraTokenizerFast(vocab_file=str(vocabulary)))


def tiny_roberta(folder: Path) -> Path:
    """A RoBERTa over bytes, whose positions begin behind the padding's."""
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    pieces = specials + sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    files = folder / "vocab.json", folder / "merges.txt"
    folder.mkdir(parents=True)
    files[0].write_text(json.dumps(vocabulary), encoding="utf-8")
    files[1].write_text("#version: 0.2\n", encoding="utf-8")
    config = RobertaConfig(
        vocab_size=len(pieces), max_position_embeddings=98, pad_token_id=1, **_SIZES
    )
    tokenizer = RobertaTokenizerFast(vocab_file=str(files[0]), merges_file=str(files[1]))
    return _saved(folder, RobertaModel, config, tokenizer)


def tiny_t5(folder: Path) -> Path:
    """A T5 with encoder and decoder over a unigram vocabulary."""
    letters = [chr(c) for c in range(33, 127)]
    pieces = ["<pad>", "</s>", "<unk>", "▁", "▁the", "▁dog", "ing", *letters]
    core = Tokenizer(models.Unigram([(piece, -1.0 - len(piece)) for piece in pieces], unk_id=2))
    core.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    core.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    core.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    tokenizer = T5TokenizerFast(tokenizer_object=core, extra_ids=0, model_max_length=96)
    config = T5Config(
        vocab_size=len(pieces), d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2,
        initializer_factor=4.0, decoder_start_token_id=0,
    )  # fmt: skip
    return _saved(folder, T5Model, config, tokenizer)


TINY_TRANSFORMERS: dict[str, Callable[[Path], Path]] = {
    "bert": tiny_bert,
    "electra": tiny_electra,
    "roberta": tiny_roberta,
    "t5": tiny_t5,
}


def _word_pieces(folder: Path) -> Path:
    letters = [chr(c) for c in range(33, 127) if not chr(c).isupper()]
    words = ["the", "dog", "##ing", "cat", "open"]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    pieces += letters + ["##" + letter for letter in letters]
    folder.mkdir(parents=True)
    file = folder / "vocab.txt"
    file.write_text("\n".join(pieces) + "\n", encoding="utf-8")
    return file


def _num_lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def _saved(folder: Path, model: Any, config: Any, tokenizer: Any) -> Path:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        model(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def random_weights(module: torch.nn.Module, *, seed: int, but: Sequence[str] = ()) -> None:
    """Draws a module's weights anew, but not those whose names begin so; scores lie far apart."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in module.named_parameters():
        if not name.startswith(tuple(but)):
            parameter.data.normal_(std=0.5, generator=generator)
