"""Speed of sums of words over paths in trees, beside the plain mean of words.

    python -m benchmarks.path_sums [--corpus FOLDER] [--batch 2048] [--quick]

For each view and number of parts of a vector with weights of their own: sentences a second of
processor time, on one thread, from a block of a parsed corpus to vectors, and to gradients of the
weights and of the words that the batch has. The last line is JSON.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from benchmarks.corpus import add_corpus_options, corpus_folders, random_vectors
from benchmarks.quick import parse_arguments
from benchmarks.report import Table, fail, header, print_last_line, print_table, tell
from models.config.training_presets import preset
from models.corpus.parsed_corpus import CorpusFolders, ParsedCorpus
from models.corpus.sentence_block import SentenceBlock
from models.model.sentence_model import SentenceModel, batch_of, build_model

VIEWS = ("DEPSUM", "CONSTSUM")
PARTS: tuple[int | None, ...] = (1, 2, None)
ROUNDS = 30
QUICK = {"rounds": 10}


@dataclass(frozen=True, slots=True)
class Speed:
    """Of one view, in sentences a second of processor time."""

    view: str
    parts: int
    inference: float
    training: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.path_sums",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_corpus_options(parser)
    parser.add_argument("--batch", type=int, default=2048, help="sentences at a time")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default: {ROUNDS}")
    options = parse_arguments(parser, given, QUICK)
    torch.set_num_threads(1)
    rounds = options.rounds
    try:
        folders = corpus_folders(options.corpus)
        speeds = list(_speeds(folders, options.word_size, options.batch, rounds, options.seed))
    except (FileNotFoundError, ValueError) as error:
        return fail(error)
    run = header(
        *("benchmarks.path_sums", given), corpus=folders, seed=options.seed, quick=options.quick
    )
    print_table(_table(speeds, rounds), run)
    print_last_line(
        {
            f"{_name(s, options.word_size)}_{what}": round(value)
            for s in speeds
            for what, value in (("inference", s.inference), ("training", s.training))
        }
    )
    return 0


def _name(speed: Speed, word_size: int) -> str:
    parts = {0: "", word_size: "_each"}.get(speed.parts, f"_{speed.parts}")
    return f"{speed.view.lower()}{parts}"


def _speeds(
    folders: CorpusFolders, word_size: int, batch: int, rounds: int, seed: int
) -> list[Speed]:
    vectors = random_vectors(folders, word_size, seed)
    corpus = ParsedCorpus(folders, vectors, views=VIEWS)
    block = next((block for block in corpus.blocks() if len(block) >= batch), None)
    if block is None:
        raise ValueError(f"no shard of the corpus has {batch} sentences; lower --batch")
    found = []
    for view, parts in [("BOW", 0), *((view, parts) for view in VIEWS for parts in PARTS)]:
        tell(f"{view}, {parts or 'all'} weights a path")
        config = preset("weighted-words", views=(view, view), path_parts=parts or None)
        model = build_model(config, vectors, seed)
        own = block.slice(0, batch)
        found.append(
            Speed(
                view,
                word_size if parts is None else parts,
                batch / _seconds(lambda: _encode(model, own), rounds),  # noqa: B023
                batch / _seconds(lambda: _learn(model, own), rounds),  # noqa: B023
            )
        )
    return found


@torch.no_grad()
def _encode(model: SentenceModel, block: SentenceBlock) -> None:
    batch = batch_of(block, model.config)
    model.encoder.encoders[0](batch, model.encoder.look_up(batch.word_ids)[0])


def _learn(model: SentenceModel, block: SentenceBlock) -> None:
    batch = batch_of(block, model.config)
    vectors = model.encoder.encoders[0](batch, model.encoder.look_up(batch.word_ids)[0])
    vectors.backward(torch.ones_like(vectors))
    model.zero_grad()


def _seconds(act: Callable[[], None], rounds: int) -> float:
    """Returns the processor time of the fastest round, which no neighbour on the machine slowed."""
    seconds = []
    for _ in range(rounds):
        started = time.process_time()
        act()
        seconds.append(time.process_time() - started)
    return min(seconds)


def _table(speeds: Sequence[Speed], rounds: int) -> Table:
    rows = [
        [s.view, str(s.parts or "-"), f"{s.inference:.0f}", f"{s.training:.0f}"] for s in speeds
    ]
    return Table(
        "Sums of words over paths, sentences a second on one core",
        ["view", "weights a path", "inference", "training"],
        rows,
        [
            "from a block in memory: order of computation, lookup, sums; training: gradients, too",
            f"CPU time of the fastest of {rounds} rounds; BOW is the mean of words, for comparison",
        ],
    )


if __name__ == "__main__":
    raise SystemExit(main())
