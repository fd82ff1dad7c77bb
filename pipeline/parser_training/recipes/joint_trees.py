"""Trees that several dependency parsers give together, written to train one parser on.

A tree's arcs and relations are the best under the mean of the parsers' probabilities. The joint
trees of differently trained parsers are better than those of each, and a parser that also learns
from them, on text without annotation, comes near them (Kuncoro et al. 2016, "Distilling an ensemble
of greedy dependency parsers into one MST parser").

Legend: B sentences, T positions (the artificial root + tokens), M tokens, R relations.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from pipeline.base.atomic_files import write_text_atomically
from pipeline.base.bundled import parser_folder
from pipeline.parsers.dependency_decoding import best_heads, labelled_trees
from pipeline.parsers.dependency_forward import arc_scores, relation_scores
from pipeline.parsers.dependency_model import Network
from pipeline.parsers.fast_layers import length_batches
from pipeline.parsers.sentence_parser import load_parser
from pipeline.shards.manifests import read_dataset_manifest
from pipeline.shards.shards import read_row_groups
from pipeline.trees.flat_trees import DependencyParse
from pipeline.trees.treebanks import read_treebank

_BATCH_TOKENS = 3000
_LENGTHS = range(4, 61)
"""Tokens of the sentences taken: shorter ones teach little, longer ones are often lists."""


class Teacher(Protocol):
    """A dependency parser whose scores can be read: any of the adapters."""

    @property
    def network(self) -> Network:
        """Returns supar's network, or one with its scorers."""
        ...

    @property
    def relations(self) -> Sequence[str]:
        """Returns the names of the network's relations."""
        ...

    def states(self, sentences: Sequence[Sequence[str]]) -> tuple[Tensor, Tensor]:
        """Returns contextual states ``[B, T, D]`` and the sentences' lengths ``[B]``."""
        ...


def joint_trees(
    parsers: Sequence[Teacher], sentences: Sequence[Sequence[str]]
) -> list[DependencyParse]:
    """Returns the trees that all parsers give together.

    Args:
        parsers: at least one, all of the same relations; of whichever kinds.
        sentences: none empty, of any vocabulary.

    Raises:
        ValueError: parsers of different relations.
        FloatingPointError: a score is not a number, of which any tree could be made.
    """
    relations = parsers[0].relations
    if any(set(parser.relations) != set(relations) for parser in parsers):
        raise ValueError("the parsers have different relations; train them on the same treebanks")
    trees: dict[int, DependencyParse] = {}
    lengths = [len(sentence) for sentence in sentences]
    for members in length_batches(lengths, max_tokens=_BATCH_TOKENS):
        batch = [sentences[position] for position in members]
        trees.update(zip(members, _parse(parsers, batch), strict=True))
    return [trees[position] for position in range(len(sentences))]


@torch.inference_mode()
def _parse(parsers: Sequence[Teacher], sentences: Sequence[Sequence[str]]) -> list[DependencyParse]:
    states = [parser.states(sentences) for parser in parsers]
    lengths, names = states[0][1], parsers[0].relations
    arcs = [
        arc_scores(parser.network, of_parser, lengths)
        for parser, (of_parser, _) in zip(parsers, states, strict=True)
    ]
    heads = best_heads(_mean_log_probability(arcs), lengths)
    positions = torch.arange(heads.shape[1], device=heads.device)
    chosen = (positions > 0) & (positions < lengths[:, None])
    relations = [
        relation_scores(parser.network, of_parser, heads, chosen)[:, _order(parser, names)]
        for parser, (of_parser, _) in zip(parsers, states, strict=True)
    ]
    return labelled_trees(heads, lengths, _mean_log_probability(relations), names)


def _order(parser: Teacher, names: Sequence[str]) -> list[int]:
    places = {name: place for place, name in enumerate(parser.relations)}
    return [places[name] for name in names]


def _mean_log_probability(scores: Sequence[Tensor]) -> Tensor:
    logs = torch.stack([of_model.log_softmax(-1) for of_model in scores])
    return logs.logsumexp(0)


def sample_sentences(
    folder: Path, num_sentences: int, *, seed: int, without: Iterable[Sequence[str]] = ()
) -> list[list[str]]:
    """Returns sentences of a sentence stage, drawn without replacement, each text once.

    Args:
        folder: of the stage's shards.
        num_sentences: how many; all that are fit where there are fewer.
        without: tokens of sentences that are not to be taken, whatever their case.

    Raises:
        FileNotFoundError: the stage is not complete.
        ValueError: no sentence is asked for.
    """
    if num_sentences < 1:
        raise ValueError(f"the number of sentences is {num_sentences}; must be at least 1")
    seen = {_key(tokens) for tokens in without}
    fit = []
    for shard in read_dataset_manifest(folder, "sentences").shards:
        for group in read_row_groups(folder, "sentences", shard.number):
            for tokens in group["tokens"].to_pylist():
                if len(tokens) in _LENGTHS and (key := _key(tokens)) not in seen:
                    seen.add(key)
                    fit.append(tokens)
    order = np.random.default_rng(seed).permutation(len(fit))[:num_sentences]
    return [fit[position] for position in sorted(order)]


def _key(tokens: Sequence[str]) -> str:
    return "".join(tokens).lower()  # treebanks and tokenizers cut words differently


def to_conllu(tokens: Sequence[str], parse: DependencyParse) -> str:
    """Returns one sentence in CoNLL-U, the empty line after it included."""
    rows = zip(tokens, parse.heads, parse.deprels, strict=True)
    lines = [
        f"{number}\t{token}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n"
        for number, (token, head, relation) in enumerate(rows, start=1)
    ]
    return "".join(lines) + "\n"


def write_joint_trees(arguments: Sequence[str] | None = None) -> str:
    """Writes trees as the command line's arguments say; returns how many.

    Raises:
        FileNotFoundError: the sentence stage is not complete.
        ValueError: a setting, a file or a parser is not what it should be.
        FloatingPointError: see `joint_trees`.
    """
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.parser_training joint-trees", description=__doc__
    )
    add = parser.add_argument
    add("out", type=Path, help="CoNLL-U file to write")
    help_text = "dependency parsers: folders, or names of those that ship"
    add("--parsers", type=parser_folder, nargs="+", required=True, help=help_text)
    add("--sentences", type=Path, required=True, help="folder of sentence shards")
    add("--num-sentences", type=int, default=40_000, help="how many are drawn; default: 40000")
    add("--without", type=Path, nargs="*", default=[], help="CoNLL-U files, sentences not to take")
    add("--seed", type=int, default=1)
    add("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    parsers: list[Any] = [load_parser(folder, "dependencies") for folder in options.parsers]
    without = read_treebank(options.without) if options.without else []
    sentences = sample_sentences(
        options.sentences,
        options.num_sentences,
        seed=options.seed,
        without=[sentence.tokens for sentence in without],
    )
    text = "".join(map(to_conllu, sentences, joint_trees(parsers, sentences)))
    write_text_atomically(options.out, text)
    return f"{len(sentences)} trees"
