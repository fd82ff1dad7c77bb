"""A toy treebank and tiny models shared by the tests of constituency parsing."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import torch

from tests.support.inverse_trees import from_brackets
from treeviews.pipeline.parser_training.constituency_training import build_vocabularies
from treeviews.pipeline.parsers.chart_model import (
    ChartDescription,
    ChartModelConfig,
    ConstituencyModel,
    WordTable,
    build_chart_parser,
)
from treeviews.pipeline.parsers.parser_folder import ParserModel
from treeviews.pipeline.trees.treebanks import BracketedSentence, to_brackets

TINY = ChartModelConfig(
    d_model=32, num_layers=1, num_heads=2, d_kv=16, d_ff=32, d_char=16, d_label_hidden=32,
    d_tag_hidden=16, dropout=0.0, char_dropout=0.0,
)  # fmt: skip

_NOUNS = ("dog", "cat", "teacher", "bird", "window")
_VERBS = ("saw", "heard", "chased", "liked")


def toy_treebank(num_sentences: int, *, seed: int = 0) -> list[BracketedSentence]:
    """Sentences of a small grammar with unary chains, bare tokens and brackets as words."""
    draw = random.Random(seed)
    return [_sentence(_toy_tree(draw), f"doc_{i % 4}") for i in range(num_sentences)]


def write_bracketed(path: Path, sentences: list[BracketedSentence]) -> Path:
    """Writes one tree a line."""
    lines = [f"(ROOT {to_brackets(s.tokens, s.parse)})\n" for s in sentences]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def write_documents(path: Path, sentences: list[BracketedSentence]) -> Path:
    """Writes a CoNLL-U file that tells the sentences' documents; its trees are chains."""
    blocks = []
    for sentence in sentences:
        rows = [f"# newdoc id = {sentence.document_id}"]
        for i, token in enumerate(sentence.tokens):
            rows.append("\t".join([str(i + 1), token, *"____", str(i), "dep", "_", "_"]))
        blocks.append("\n".join(rows) + "\n\n")
    path.write_text("".join(blocks), encoding="utf-8")
    return path


def tiny_model(sentences: list[BracketedSentence], *, seed: int = 0) -> ConstituencyModel:
    """A model with random weights."""
    vocabularies = build_vocabularies(sentences, min_character_count=1)
    description = ChartDescription(model=TINY, vocabularies=vocabularies)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return ParserModel(build_chart_parser(description), description)


def benepar_word_vectors(model: Any, table: WordTable) -> torch.Tensor:
    """What benepar's own character LSTM, which reads packed sequences, makes of words."""
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        table.char_ids, table.lengths, batch_first=True, enforce_sorted=False
    )
    vectors: torch.Tensor = model.char_encoder(packed, torch.ones(1, len(table.lengths)) > 0)
    return vectors[0]


def _toy_tree(draw: random.Random) -> str:
    subject, verb = _noun_phrase(draw), f"(VBD {draw.choice(_VERBS)})"
    tail = draw.choice([
        f"(VP {verb} {_noun_phrase(draw)})",
        f"(VP {verb} {_noun_phrase(draw)} (PP (IN with) {_noun_phrase(draw)}))",
        f"(VP {verb} (SBAR (S (VP (VBG singing)))))",
    ])  # fmt: skip
    return f"(S {subject} {tail} (. .))"


def _noun_phrase(draw: random.Random) -> str:
    noun = draw.choice(_NOUNS)
    return draw.choice([
        f"(NP (DT the) (NN {noun}))",
        f"(NP (DT a) (JJ small) (NN {noun}))",
        "(NP (PRP she))",
        f"(NP (NP (NN {noun})) (PRN (-LRB- -LRB-) (NP (NNS birds)) (-RRB- -RRB-)))",
    ])  # fmt: skip


def _sentence(text: str, document_id: str) -> BracketedSentence:
    tokens, parse = from_brackets(text)
    return BracketedSentence(tokens=tokens, parse=parse, document_id=document_id)
