"""Measures how noisy the generative objective's gradients are, by how its noise words are drawn.

``python -m benchmarks.noise`` trains the preset B-G for some steps on the default run's text, and
before and after them draws the noise of one batch many times: K draws for each word to predict, as
word2vec does, and numbers of draws that the batch shares, as `GenerativeObjective` does. It prints
the variance of the gradient of U (which sums over sentences, so that shared draws do not average
out) and of the sentences' vectors, and the CPU time of a step. The last line is one JSON object.

``--synthetic 2048`` takes so many sentences of words drawn by their rank (Zipf's law) in place of a
parsed corpus; ``--quick`` is a small such run.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.corpus import corpus_folders
from benchmarks.quick import parse_arguments
from benchmarks.report import Table, fail, header, print_last_line, print_table, tell
from models.config.training_config import TrainingConfig
from models.config.training_presets import preset
from models.corpus.parsed_corpus import ParsedCorpus, Selection
from models.corpus.sentence_block import SentenceBlock
from models.model.ranks import ALONE
from models.model.sentence_model import SentenceModel, TrainingBatch, build_model
from models.objectives.base import NextWords, SentenceContext
from models.objectives.generative import GenerativeObjective, pair_scores
from models.training.batches import TrainingBatches
from models.training.learner import Learner
from models.words.vector_files import load_word_vectors
from models.words.word_vectors import WordVectors
from pipeline.base.bundled import BUNDLED_VECTORS

A_WORD = 0
"""Stands for K draws for each word among the numbers of shared draws."""
QUICK = {"synthetic": 1024, "hidden": 256, "batch": 128, "steps": [0, 4], "repeats": 8, "rounds": 3}


@dataclass(frozen=True, slots=True)
class Noise:
    """What the draws do to a batch's gradients."""

    variance: float
    """Of dL/dU, summed over its components."""
    sentence_variance: float
    """Of dL/dz, summed over all sentences' components."""
    mean_square: float
    """‖E dL/dU‖², without what the variance adds to an average's square."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or what `fail` says of what went wrong."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    if options.threads is not None:
        torch.set_num_threads(options.threads)
    config = preset(
        "B-G", hidden_size=2 * options.hidden, batch_size=options.batch, seed=options.seed
    )
    try:
        vectors = load_word_vectors(options.vectors)
        blocks, counts = _text(config, vectors, options)
    except (FileNotFoundError, ValueError) as error:
        return fail(error)
    model = build_model(config, vectors, config.seed)
    model.set_word_counts(counts)
    draws = [A_WORD, *options.draws]
    found = _noise_after_steps(model, blocks, draws, options)
    seconds = _seconds_a_step(model, blocks, draws[1:], options.rounds)
    text = _named(options)
    run = header("benchmarks.noise", given, seed=options.seed, text=text, quick=options.quick)
    print_table(_table(draws, found, seconds, config), run)
    print_last_line(_figures(draws, found, seconds))
    return 0


def _text(
    config: TrainingConfig, vectors: WordVectors, options: argparse.Namespace
) -> tuple[list[SentenceBlock], np.ndarray]:
    """Returns as many batches as are trained and measured on, and the counts of all words [V]."""
    needed = max(options.steps) + 1
    if options.synthetic:
        return _synthetic(options.synthetic, config, vectors.num_words, needed)
    selection = Selection("all", config.hold_out, config.max_tokens)
    corpus = ParsedCorpus(
        corpus_folders(options.corpus), vectors, views=("SEQ",), selection=selection
    )
    survey = corpus.survey()
    batches = TrainingBatches(corpus, survey.rows, batch_size=config.batch_size, seed=config.seed)
    if not batches.steps_per_epoch:
        raise ValueError("the corpus has no two sentences of at most 50 tokens that follow")
    epochs = -(-needed // batches.steps_per_epoch)
    return list(islice(batches.from_step(0, epochs=epochs), needed)), survey.word_counts


def _synthetic(
    size: int, config: TrainingConfig, num_words: int, needed: int
) -> tuple[list[SentenceBlock], np.ndarray]:
    """Returns batches of one document whose words are drawn by rank."""
    generator = np.random.default_rng(config.seed)
    lengths = generator.integers(3, 30, size)
    shares = 1 / np.arange(1, num_words)
    words = generator.choice(np.arange(1, num_words), int(lengths.sum()), p=shares / shares.sum())
    whole = SentenceBlock(
        token_ids=words.astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        documents=np.zeros(size, dtype=np.int32),
        sentence_index=np.arange(size, dtype=np.int32),
        rows=np.arange(size),
    )
    starts = range(0, size - config.batch_size + 1, config.batch_size)
    blocks = [whole.slice(start, start + config.batch_size) for start in starts]
    if not blocks:
        raise ValueError(f"--synthetic must be at least --batch, {config.batch_size}")
    counts = np.bincount(words, minlength=num_words)
    return [blocks[step % len(blocks)] for step in range(needed)], counts


def _noise_after_steps(
    model: SentenceModel,
    blocks: Sequence[SentenceBlock],
    draws: Sequence[int],
    options: argparse.Namespace,
) -> dict[int, list[Noise]]:
    """Returns the noise of each way to draw after each number of steps; trains the model."""
    learner, done = Learner(model.train(), ALONE), 0
    found = {}
    for goal in sorted(options.steps):
        for block in blocks[done:goal]:
            torch.manual_seed(done)
            _learn(learner, model.training_batch(block))
            done += 1
        tell(f"measuring after {goal} steps")
        found[goal] = noise_of(model, blocks[-1], draws, options.repeats)
    return found


def noise_of(
    model: SentenceModel, block: SentenceBlock, draws: Sequence[int], repeats: int
) -> list[Noise]:
    """Returns the noise of a batch's gradients for each way to draw; the weights stay.

    Args:
        model: with a generative objective whose word counts are set.
        draws: numbers of draws that the batch shares, or `A_WORD`.
        repeats: times that the noise of the batch is drawn, 2 or more.
    """
    batch = model.training_batch(block)
    with torch.no_grad():
        (sentences,) = model.views(batch)
    return [
        _noise(_loss(model, batch.context, count), sentences, model, repeats) for count in draws
    ]


def _loss(model: SentenceModel, context: SentenceContext, count: int) -> Callable[[Tensor], Tensor]:
    """Returns the loss of sentence vectors [B, D] under one way to draw."""
    objective = model.objective
    assert isinstance(objective, GenerativeObjective)

    def look_up(word_ids: Tensor) -> Tensor:
        return model.encoder.look_up(word_ids)[0]

    def shared(sentences: Tensor) -> Tensor:
        objective.config = replace(model.config, shared_negatives=count)
        loss: Tensor = objective([sentences], context, look_up).loss
        return loss

    def a_word(sentences: Tensor) -> Tensor:
        assert context.next_words is not None
        return loss_with_draws_a_word(objective, sentences, context.next_words, look_up)

    return a_word if count == A_WORD else shared


def loss_with_draws_a_word(
    objective: GenerativeObjective,
    sentences: Tensor,
    next_words: NextWords,
    look_up: Callable[[Tensor], Tensor],
) -> Tensor:
    """Returns equation 1 with K draws for each word to predict, of sentence vectors [B, D]."""
    negatives = objective.config.negatives
    x = objective.decoder(sentences).index_select(0, next_words.predictors)
    right = pair_scores(x, look_up(next_words.word_ids), next_words)
    lengths = next_words.offsets.diff()
    predictor = torch.arange(len(lengths)).repeat_interleave(lengths)
    noise = look_up(objective.noise.draw(negatives * len(predictor)))
    wrong = torch.bmm(noise.view(len(predictor), negatives, -1), x[predictor][:, :, None])
    likelihood = F.logsigmoid(right) + F.logsigmoid(-wrong.squeeze(2)).sum(1)
    return -(likelihood / lengths[predictor]).sum() / max(len(lengths), 1)


def _noise(
    loss: Callable[[Tensor], Tensor], sentences: Tensor, model: SentenceModel, repeats: int
) -> Noise:
    decoder = model.decoder
    assert decoder is not None
    of = [sentences.clone().requires_grad_(), *decoder.parameters()]
    sums = [torch.zeros_like(one, dtype=torch.float64) for one in of]
    squares = [0.0 for _ in of]
    for repeat in range(repeats):
        torch.manual_seed(repeat)
        gradients = torch.autograd.grad(loss(of[0]), of)
        for place, gradient in enumerate(gradients):
            sums[place] += gradient
            squares[place] += float(gradient.double().square().sum())
    means = [float((one / repeats).square().sum()) for one in sums]
    variances = [
        (square / repeats - mean) * repeats / (repeats - 1)
        for square, mean in zip(squares, means, strict=True)
    ]
    return Noise(
        variance=sum(variances[1:]),
        sentence_variance=variances[0],
        mean_square=sum(means[1:]) - sum(variances[1:]) / repeats,
    )


def _seconds_a_step(
    model: SentenceModel, blocks: Sequence[SentenceBlock], draws: Sequence[int], rounds: int
) -> list[float]:
    """Returns the median CPU time of a whole step with each number of draws, taken in turns."""
    learner, batch = Learner(model.train(), ALONE), model.training_batch(blocks[-1])
    taken: list[list[float]] = [[] for _ in draws]
    for turn in range(rounds + 1):
        for place, count in enumerate(draws):
            assert isinstance(model.objective, GenerativeObjective)
            model.objective.config = replace(model.config, shared_negatives=count)
            started = time.process_time()
            _learn(learner, batch)
            if turn:  # the first warms up
                taken[place].append(time.process_time() - started)
    return [float(np.median(times)) for times in taken]


def _learn(learner: Learner, batch: TrainingBatch) -> None:
    measured = learner.measure(batch)
    learner.apply(learner.model.config.learning_rate, measured["gradient_norm"])


def _table(
    draws: Sequence[int],
    found: dict[int, list[Noise]],
    seconds: Sequence[float],
    config: TrainingConfig,
) -> Table:
    columns = ["draws"]
    for step in found:
        columns += [f"noise of dL/dU, step {step}", "variance", "variance of dL/dz"]
    rows = []
    for place, count in enumerate(draws):
        row = [f"{config.negatives} a word" if count == A_WORD else f"{count:,} shared"]
        for noises in found.values():
            one, first = noises[place], noises[0]
            row += [
                f"{_percent(one):.1f} %",
                f"{one.variance / first.variance:.2f}",
                f"{one.sentence_variance / first.sentence_variance:.3f}",
            ]
        rows.append([*row, "" if count == A_WORD else f"{seconds[place - 1]:.3f}"])
    return Table(
        "Noise of the generative objective's gradients",
        [*columns, "CPU seconds a step"],
        rows,
        [
            "noise: deviation of a batch's dL/dU over the draws, over the norm of its expectation",
            f"variances: beside those of {config.negatives} draws a word; z: sentences' vectors",
            f"B-G, {config.hidden_size} wide, batches of {config.batch_size}, "
            f"{torch.get_num_threads()} threads",
        ],
    )


def _percent(noise: Noise) -> float:
    return 100 * math.sqrt(noise.variance / max(noise.mean_square, 1e-30))


def _figures(
    draws: Sequence[int], found: dict[int, list[Noise]], seconds: Sequence[float]
) -> dict[str, float]:
    """Returns the figures of the last line."""
    figures: dict[str, float] = {}
    for step, noises in found.items():
        for count, noise in zip(draws, noises, strict=True):
            name = f"step_{step}_{'a_word' if count == A_WORD else count}"
            figures[f"{name}_noise_percent"] = round(_percent(noise), 2)
            figures[f"{name}_variance"] = noise.variance / noises[0].variance
            figures[f"{name}_sentence_variance"] = (
                noise.sentence_variance / noises[0].sentence_variance
            )
    for count, one in zip(draws[1:], seconds, strict=True):
        figures[f"{count}_cpu_seconds_a_step"] = round(one, 4)
    return figures


def _named(options: argparse.Namespace) -> str:
    if options.synthetic:
        return f"{options.synthetic} sentences of words drawn by rank"
    return str(options.corpus or "the default run's")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.noise", description=(__doc__ or "").partition("\n")[0]
    )
    add = parser.add_argument
    add("--corpus", type=Path, help="a parsed corpus; by default the one that `make run` made")
    add("--synthetic", type=int, default=0, help="so many drawn sentences instead of a corpus")
    add("--vectors", type=Path, default=BUNDLED_VECTORS, help="word vectors")
    add("--hidden", type=int, default=1024, help="d, the width of a direction")
    add("--batch", type=int, default=512, help="sentences in a batch")
    add("--draws", type=int, nargs="+", default=[1024, 4096, 8192, 16384], help="shared draws")
    add("--steps", type=int, nargs="+", default=[0, 40], help="of training, before measuring")
    add("--repeats", type=int, default=32, help="times that a batch's noise is drawn")
    add("--rounds", type=int, default=5, help="timed steps of each number of draws")
    add("--threads", type=int, help="of PyTorch; by default as many as it chooses")
    add("--seed", type=int, default=0)
    return parser


if __name__ == "__main__":
    sys.exit(main())
