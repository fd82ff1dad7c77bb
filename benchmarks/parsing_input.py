"""The sentences that the parsing benchmark runs on: a treebank's, or those of the default run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.corpus import corpus_folders
from treeviews.pipeline.parsers.sentence_parser import MAX_TOKENS, Sentence, reject_input
from treeviews.pipeline.shards.manifests import read_dataset_manifest
from treeviews.pipeline.shards.shards import read_shard
from treeviews.pipeline.trees.flat_trees import DependencyParse
from treeviews.pipeline.trees.treebanks import read_treebank

WARM_UP_SENTENCES = 512
"""As many as a large call has at least, which our dependency parser parses in another way."""


@dataclass(frozen=True, slots=True)
class ParsingInput:
    """Sentences that every contestant can take."""

    text: str
    """What was read, for the table."""
    sentences: Sequence[Sentence]
    warm_up: Sequence[Sentence]
    """What each parses before it is timed: other sentences, where the text has more of them."""
    gold: Sequence[DependencyParse] | None
    """The sentences' annotated trees; None where the text has none."""


def add_text_options(parser: argparse.ArgumentParser) -> None:
    """Gives a command line the options that say what text is parsed; see `chosen_input`."""
    add = parser.add_argument
    add("--conllu", type=Path, nargs="+", help="treebanks; by default the default run's sentences")
    add("--corpus", type=Path, help="without --conllu: folder of another parsed corpus")


def chosen_input(options: argparse.Namespace, num_sentences: int) -> ParsingInput:
    """Returns the first sentences of the text that the command line chose.

    Raises:
        FileNotFoundError: no such corpus.
        ValueError: a file is missing or malformed, or there are fewer sentences.
    """
    if options.conllu:
        return treebank_input(options.conllu, num_sentences)
    return corpus_input(options.corpus, num_sentences)


def treebank_input(files: Sequence[Path], num_sentences: int) -> ParsingInput:
    """Returns the first sentences of CoNLL-U files; see `chosen_input`.

    Raises:
        ValueError: a file is missing or malformed, or there are fewer sentences.
    """
    annotated = [one for one in read_treebank(files) if _takes(one.tokens)]
    return _cut(
        ", ".join(path.name for path in files),
        [one.tokens for one in annotated],
        [DependencyParse(one.heads, one.deprels) for one in annotated],
        num_sentences,
    )


def corpus_input(corpus: Path | None, num_sentences: int) -> ParsingInput:
    """Returns the first sentences of a parsed corpus; see `corpus_folders` and `chosen_input`.

    Raises:
        FileNotFoundError: no such corpus.
        ValueError: there are fewer sentences.
    """
    folder = corpus_folders(corpus).sentences
    tokens = list(islice(_corpus_sentences(folder), num_sentences + WARM_UP_SENTENCES))
    return _cut(folder.absolute().parent.name, tokens, None, num_sentences)


def _corpus_sentences(folder: Path) -> Iterator[Sentence]:
    for shard in read_dataset_manifest(folder, "sentences").shards:
        rows = read_shard(folder, "sentences", shard.number, ["tokens"])["tokens"].to_pylist()
        yield from filter(_takes, rows)


def _takes(tokens: Sentence) -> bool:
    """Says whether every contestant takes a sentence: supar's own reads tabs and lines as CoNLL."""
    if reject_input(tokens, MAX_TOKENS) is not None:
        return False
    return all(len(token.split()) == 1 for token in tokens)


def _cut(
    source: str,
    sentences: Sequence[Sentence],
    gold: Sequence[DependencyParse] | None,
    num_sentences: int,
) -> ParsingInput:
    text = f"first {num_sentences} sentences of {source}"
    if len(sentences) < num_sentences:
        raise ValueError(f"{text}: there are only {len(sentences)}; lower --sentences")
    others = sentences[num_sentences : num_sentences + WARM_UP_SENTENCES]
    return ParsingInput(
        text=text,
        sentences=sentences[:num_sentences],
        warm_up=[*others, *sentences[:num_sentences]][:WARM_UP_SENTENCES],
        gold=None if gold is None else gold[:num_sentences],
    )
