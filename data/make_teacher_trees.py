"""Makes trees to train a parser on, with parsers that are there; those that ship learned from such.

    python data/make_teacher_trees.py joint OUT.conllu --parsers PARSER … --sentences FOLDER
    python data/make_teacher_trees.py guided OUT.mrg --parsers PARSER … --dependencies FILE …

Joint trees: arcs and relations are the best under the mean of several dependency parsers'
probabilities. Those of differently trained parsers are better than those of each, and a parser that
also learns from them, on text without annotation, comes near them (Kuncoro et al. 2016, "Distilling
an ensemble of greedy dependency parsers into one MST parser").

Guided trees: constituents of sentences whose dependencies are known. A phrase has one head, so of a
phrase's tokens all but one depend on another of them. A span whose tokens have more heads outside
loses score for each of them, and the best tree under what is left is taken. With gold dependencies
the trees are far better than the parser's own.

Legend: B sentences, n tokens of the longest one, S spans.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from treeviews.pipeline.base.atomic_files import write_text_atomically
from treeviews.pipeline.base.bundled import parser_folder
from treeviews.pipeline.parser_training.chart_loss import (
    SpanIndex,
    all_spans,
    chart_input,
    encode_sentences,
    label_scores,
)
from treeviews.pipeline.parsers.chart_decoding import best_spans
from treeviews.pipeline.parsers.chart_decoding import labelled_trees as labelled_constituents
from treeviews.pipeline.parsers.chart_model import (
    ConstituencyModel,
    from_benepar_label,
    load_constituency_model,
)
from treeviews.pipeline.parsers.dependency_decoding import best_heads, labelled_trees
from treeviews.pipeline.parsers.dependency_forward import arc_scores, relation_scores
from treeviews.pipeline.parsers.fast_layers import length_batches
from treeviews.pipeline.parsers.sentence_parser import load_parser
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_row_groups
from treeviews.pipeline.trees.flat_trees import TOP_LABEL, ConstituencyParse, DependencyParse
from treeviews.pipeline.trees.treebanks import TreebankSentence, read_treebank, to_brackets

Teacher = Any
"""A dependency parser whose scores can be read: an adapter with ``network``, ``relations`` and
``states``."""
DEFAULT_PENALTY = 1.5
_JOINT_TOKENS, _GUIDED_TOKENS = 3000, 600
"""Of a batch, padding included."""
_LENGTHS = range(4, 61)
"""Tokens of the sentences taken: shorter ones teach little, longer ones are often lists."""
SentenceT = TypeVar("SentenceT")
ParseT = TypeVar("ParseT")


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the trees; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("kind", choices=["joint", "guided"])
    parser.add_argument("out", type=Path, help="file to write")
    parser.add_argument("--parsers", type=parser_folder, nargs="+", required=True)
    parser.add_argument("--sentences", type=Path, help="joint: folder of sentence shards")
    parser.add_argument("--num-sentences", type=int, default=40_000, help="joint: drawn of these")
    parser.add_argument("--without", type=Path, nargs="*", default=[], help="joint: not those of")
    parser.add_argument("--seed", type=int, default=1, help="joint: of the draw")
    parser.add_argument("--dependencies", type=Path, nargs="*", help="guided: CoNLL-U files")
    parser.add_argument("--exclude", nargs="*", default=[], help="guided: not documents of these")
    parser.add_argument("--penalty", type=float, default=DEFAULT_PENALTY, help="guided: a head")
    options = parser.parse_args(arguments)
    texts = _joint_texts(options) if options.kind == "joint" else _guided_texts(options)
    write_text_atomically(options.out, "".join(texts))
    print(f"{len(texts)} trees")
    return 0


def _joint_texts(options: argparse.Namespace) -> list[str]:
    parsers = [load_parser(folder, "dependencies") for folder in options.parsers]
    known = read_treebank(options.without) if options.without else []
    sentences = sample_sentences(
        options.sentences,
        options.num_sentences,
        seed=options.seed,
        without=[sentence.tokens for sentence in known],
    )
    return list(map(to_conllu, sentences, joint_trees(parsers, sentences)))


def _guided_texts(options: argparse.Namespace) -> list[str]:
    models = [load_constituency_model(folder) for folder in options.parsers]
    limit = min(model.description.model.max_length for model in models) - 2
    treebank = read_treebank(options.dependencies, exclude_document_prefixes=options.exclude)
    taken = [sentence for sentence in treebank if len(sentence.tokens) <= limit]
    trees = guided_trees(models, taken, penalty=options.penalty)
    tokens = [sentence.tokens for sentence in taken]
    return [f"({TOP_LABEL} {tree})\n" for tree in map(to_brackets, tokens, trees)]


def _in_batches(
    parse: Callable[[list[SentenceT]], Iterable[ParseT]],
    sentences: Sequence[SentenceT],
    lengths: Sequence[int],
    max_tokens: int,
) -> list[ParseT]:
    """Returns the parses of sentences, which are parsed in batches of like length."""
    trees: dict[int, ParseT] = {}
    for members in length_batches(lengths, max_tokens=max_tokens):
        batch = [sentences[position] for position in members]
        trees.update(zip(members, parse(batch), strict=True))
    return [trees[position] for position in range(len(sentences))]


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
    lengths = [len(sentence) for sentence in sentences]
    return _in_batches(partial(_parse_jointly, parsers), sentences, lengths, _JOINT_TOKENS)


@torch.inference_mode()
def _parse_jointly(
    parsers: Sequence[Teacher], sentences: Sequence[Sequence[str]]
) -> list[DependencyParse]:
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
        relation_scores(parser.network, of_parser, heads, chosen)[
            :, [parser.relations.index(name) for name in names]
        ]
        for parser, (of_parser, _) in zip(parsers, states, strict=True)
    ]
    return labelled_trees(heads, lengths, _mean_log_probability(relations), names)


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
    """
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


def heads_outside(heads: Sequence[int]) -> NDArray[np.int64]:
    """Returns ``[n, n]``: of tokens i to j inclusive, how many have their head outside.

    Args:
        heads: 1-based, 0 for the root. Entries below the diagonal have no meaning.
    """
    n = len(heads)
    arcs = np.zeros((n + 1, n + 1), np.int64)
    for dependent, head in enumerate(heads, start=1):
        if head:
            arcs[dependent, head] = 1
    summed = arcs.cumsum(0).cumsum(1)
    before, last = np.arange(n)[:, None], np.arange(1, n + 1)[None]
    inside = summed[last, last] - summed[before, last] - summed[last, before]
    result: NDArray[np.int64] = last - before - inside - summed[before, before]
    return result


def guided_trees(
    models: Sequence[ConstituencyModel],
    sentences: Sequence[TreebankSentence],
    *,
    penalty: float = DEFAULT_PENALTY,
) -> list[ConstituencyParse]:
    """Returns trees that agree with the sentences' dependencies as far as the parsers let them.

    Args:
        models: at least one parser, in evaluation mode; of several, the mean of the scores counts,
            and labels and tags that not all of them know are left out.
        sentences: none longer than a model takes. A token keeps its tag in the file where the
            parsers know that tag.
        penalty: 0 or more; 0 gives the parsers' own trees.

    Raises:
        ValueError: there is no label or no tag that all parsers know.
    """
    lengths = [len(sentence.tokens) for sentence in sentences]
    parse = partial(_parse_guided, models, penalty)
    return _in_batches(parse, sentences, lengths, _GUIDED_TOKENS)


@torch.inference_mode()
def _parse_guided(
    models: Sequence[ConstituencyModel], penalty: float, sentences: Sequence[TreebankSentence]
) -> list[ConstituencyParse]:
    tokens, networks = [sentence.tokens for sentence in sentences], [m.network for m in models]
    inputs = [chart_input(tokens, network.char_vocab) for network in networks]
    lengths = inputs[0].lengths
    spans = all_spans(lengths)
    encoded = list(map(encode_sentences, networks, inputs))
    span_scores = [
        label_scores(network, F.linear(fenceposts, network.f_label[0].weight), spans)
        for network, (fenceposts, _) in zip(networks, encoded, strict=True)
    ]
    # The null label, the first, has no column.
    means, labels = _mean(
        span_scores, [model.description.vocabularies.labels[1:] for model in models]
    )
    tag_scores, tags = _mean(
        [s for _, s in encoded], [m.description.vocabularies.tags for m in models]
    )
    best, label_ids = means.max(1)
    scores, label_charts = _charts(best, label_ids, spans, sentences, penalty)
    tag_ids = tag_scores.argmax(-1).tolist()
    names = [TOP_LABEL, *(from_benepar_label(label) for label in labels)]
    predicted = [
        [
            gold if gold in tags else tags[guess]
            for gold, guess in zip(s.xpos or [""] * len(s.tokens), ids[1:], strict=False)
        ]
        for s, ids in zip(sentences, tag_ids, strict=True)
    ]
    return labelled_constituents(
        best_spans(scores, lengths.tolist()), label_charts, predicted, names
    )


def _mean(scores: Sequence[Tensor], names: Sequence[Sequence[str]]) -> tuple[Tensor, list[str]]:
    """Returns the mean over the models, with the names that all of them have, as its columns.

    Raises:
        ValueError: there is none.
    """
    shared = [name for name in names[0] if all(name in known for known in names)]
    if not shared:
        raise ValueError(
            "the parsers have no label or no tag in common; train them on one treebank"
        )
    columns = [
        of_model[..., [known.index(name) for name in shared]]
        for of_model, known in zip(scores, names, strict=True)
    ]
    return torch.stack(columns).mean(0), shared


def _charts(
    best: Tensor,
    label_ids: Tensor,
    spans: SpanIndex,
    sentences: Sequence[TreebankSentence],
    penalty: float,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Returns scores and label ids of the spans, ``[B, n, n]`` by first and last token."""
    n = max(len(sentence.tokens) for sentence in sentences)
    scores = np.zeros((len(sentences), n, n), np.float32)
    labels = np.zeros(scores.shape, np.int64)
    cells = (spans.sentences.numpy(), spans.starts.numpy(), spans.ends.numpy() - 1)
    scores[cells], labels[cells] = best.numpy(), label_ids.numpy() + 1
    is_whole = np.zeros(scores.shape, np.bool_)
    for b, sentence in enumerate(sentences):
        length = len(sentence.tokens)
        surplus = np.maximum(heads_outside(sentence.heads) - 1, 0)
        scores[b, :length, :length] -= penalty * surplus
        is_whole[b, 0, length - 1] = True
    null = (scores <= 0) & ~is_whole
    return np.where(null, np.float32(0), scores), np.where(null, 0, labels)


if __name__ == "__main__":
    raise SystemExit(main())
