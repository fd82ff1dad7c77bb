"""Measures the evaluation protocols beside the same protocols by scikit-learn.

``python -m benchmarks.evaluation`` takes the sentences of the default run as a task of MR's size;
``--data DIR --tasks MR`` takes SentEval's. Both sides get the same features in the same run, by
default 4,800 of them: max, mean, min and last states of two random GRUs. The last line it prints is
one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from benchmarks.evaluation_input import MR_SIZE, Input, inputs
from benchmarks.harness import Benchmark, Measured, Table, device_name, device_of, tell
from benchmarks.references.sklearn_protocol import (
    AS_IT_COMES,
    CONVERGED,
    ReferenceOutcome,
    SklearnProtocol,
    Solver,
    libraries,
)
from benchmarks.stopwatch import Spent, Stopwatch
from treeviews.models.config.training_presets import preset
from treeviews.models.encoding.encoder import EncoderSettings
from treeviews.models.encoding.load_encoder import load_encoder
from treeviews.models.evaluation.evaluate_task import learn
from treeviews.models.evaluation.evaluation_settings import (
    GRIDS,
    ProtocolConfig,
)
from treeviews.models.evaluation.representation import representation_named
from treeviews.models.evaluation.scores import Outcome, score
from treeviews.pipeline.base.machine import available_cores

WIDE_ENCODER = '{"views": ["SEQ", "SEQ"], "hidden_size": 600}'
QUICK = {
    "sentences": 1000,
    "folds": 5,
    "changes": '{"views": ["SEQ", "SEQ"], "hidden_size": 300}',
}
COLUMNS = (
    *("task", "protocol", "items", "width", "accuracy", "scikit-learn", "its accuracy"),
    *("difference", "same answers %", "same C", "seconds", "scikit-learn s", "times as fast"),
    *("CPU s", "scikit-learn CPU s", "times by CPU"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """One task by both."""

    solver: Solver
    """How scikit-learn's classifier was left to walk."""
    task: str
    protocol: str
    num_items: int
    width: int
    ours: Outcome
    our_accuracy: float
    our_spent: Spent
    theirs: ReferenceOutcome

    @property
    def speed(self) -> float:
        """Times as fast as scikit-learn."""
        return self.theirs.spent.wall / self.our_spent.wall

    @property
    def speed_by_cpu(self) -> float:
        """The same by the processor's time."""
        return self.theirs.spent.cpu / self.our_spent.cpu

    @property
    def difference(self) -> float:
        """Our accuracy minus theirs, in points."""
        return self.our_accuracy - self.theirs.accuracy

    @property
    def same_regularisers(self) -> int:
        """Searches that chose the same C."""
        return sum(
            a == b for a, b in zip(self.ours.regularisers, self.theirs.regularisers, strict=True)
        )

    @property
    def same_answers(self) -> float:
        """Share of test items answered alike, in percent."""
        return 100.0 * float(np.mean(self.ours.predictions.predicted == self.theirs.predicted))


def _measure(options: argparse.Namespace) -> Measured:
    torch.set_num_threads(options.cores)
    device = device_of(options.device)
    libraries()  # what would fail later without them is not begun
    compared = [one for task in _inputs(options) for one in _compare(task, options, device)]
    return Measured(
        [_table(compared, options)],
        _figures(compared),
        text=str(options.data or "the default run's sentences"),
        seed=options.seed,
        device=device_name(device),
    )


def _inputs(options: argparse.Namespace) -> list[Input]:
    config = preset(options.preset, **json.loads(options.changes))
    kept = options.cache
    parses = None if kept is None else kept / "parses"
    encoder = load_encoder(options.encoder, EncoderSettings(config=config, parses=parses))
    poolings = options.poolings.split(",")
    representation = representation_named("plain", supervised_pooling=poolings)
    return inputs(
        encoder,
        representation,
        {},
        data_folder=options.data,
        tasks=options.tasks,
        corpus=options.corpus,
        sentences=options.sentences,
    )


def solvers(options: argparse.Namespace) -> tuple[Solver, ...]:
    """Returns the ways in which scikit-learn's classifier is left to walk."""
    done = replace(CONVERGED, tolerance=options.tolerance)
    return (AS_IT_COMES, done) if options.converged else (AS_IT_COMES,)


def _compare(task: Input, options: argparse.Namespace, device: torch.device) -> list[Comparison]:
    """Returns ours beside each of scikit-learn's."""
    config = ProtocolConfig(num_folds=options.folds, seed=options.seed)
    tell(f"{task.task.name}: ours")
    watch = Stopwatch()
    ours = _run_ours(task, config, device)
    spent = watch.read()
    compared = []
    for solver in solvers(options):
        tell(f"{task.task.name}: scikit-learn, {solver.name}")
        compared.append(
            Comparison(
                solver,
                task.task.name,
                task.task.protocol,
                sum(ours.counts.values()),
                ours.width,
                ours,
                score(task.task, ours.predictions)["accuracy"],
                spent,
                _run_reference(task, config, solver, options.cores),
            )
        )
    return compared


def _run_ours(task: Input, config: ProtocolConfig, device: torch.device) -> Outcome:
    features = {name: matrix.to(device) for name, matrix in task.features.items()}
    return learn(task.task, task.data, features, config)


def _run_reference(
    task: Input, config: ProtocolConfig, solver: Solver, num_processes: int
) -> ReferenceOutcome:
    labels = task.labels
    splits = list(labels)
    ends = np.cumsum([len(labels[name]) for name in splits])
    places = dict(zip(splits, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))
    reference = SklearnProtocol(
        np.concatenate([task.features[name].numpy() for name in splits]),
        np.concatenate([labels[name] for name in splits]),
        seed=config.seed,
        num_processes=num_processes,
        solver=solver,
    )
    if task.task.protocol == "nested_folds":
        return reference.nested_folds(GRIDS["nested_folds"], config.num_folds)
    train, test = places["train"], places["test"]
    if task.task.protocol == "folds":
        return reference.folds_of_train(train, test, GRIDS["folds"], config.num_folds)
    return reference.searched([(train, places["dev"])], train, test, GRIDS["split"])


def _table(compared: Sequence[Comparison], options: argparse.Namespace) -> Table:
    own = {one.task: one.ours for one in compared}.values()
    notes = [
        f"encoder {options.encoder}, preset {options.preset} with {options.changes}; "
        f"poolings {options.poolings}; {options.folds} folds",
        *(_reference_note(solver, compared, options.cores) for solver in solvers(options)),
        f"ours: {options.cores} threads; {sum(one.not_converged for one in own)} of "
        f"{sum(one.num_fits for one in own)} fits did not reach the tolerance; "
        "objectives lie at most "
        f"{max(one.details['largest_gap'] for one in own):.1e} of themselves above their minima",
        "CPU s: of all threads of ours, and of all of scikit-learn's fits in their processes, "
        "without what it takes to hand out the fits; other work on the machine distorts it less",
        "same C: searches, one an outer fold, that chose the same; where they differ, the best "
        f"dev accuracies differ by at most {_dev_difference(compared):.2f} points",
    ]
    return Table(
        "Evaluation protocols beside scikit-learn's", COLUMNS, list(map(_row, compared)), notes
    )


def _row(one: Comparison) -> tuple[str, ...]:
    return (
        one.task,
        one.protocol.replace("_", " "),
        f"{one.num_items:,}",
        str(one.width),
        f"{one.our_accuracy:.2f}",
        one.solver.name,
        f"{one.theirs.accuracy:.2f}",
        f"{one.difference:+.2f}",
        f"{one.same_answers:.2f}",
        f"{one.same_regularisers} of {len(one.ours.regularisers)}",
        f"{one.our_spent.wall:.1f}",
        f"{one.theirs.spent.wall:.1f}",
        f"{one.speed:.1f}",
        f"{one.our_spent.cpu:.1f}",
        f"{one.theirs.spent.cpu:.1f}",
        f"{one.speed_by_cpu:.1f}",
    )


def _reference_note(solver: Solver, compared: Sequence[Comparison], cores: int) -> str:
    """Returns what is to be known of one of scikit-learn's."""
    theirs = [one.theirs for one in compared if one.solver.name == solver.name]
    return (
        f"scikit-learn {solver.name}: LogisticRegression of at most {solver.max_iterations} "
        f"iterations to a tolerance of {solver.tolerance:g}, {cores} processes of one thread; "
        f"{sum(one.num_unfinished for one in theirs)} of its "
        f"{sum(one.num_fits for one in theirs)} fits ended at that limit"
    )


def _dev_difference(compared: Sequence[Comparison]) -> float:
    """Returns the largest difference of a search's best dev accuracies, in points."""
    return max(
        abs(ours - theirs)
        for one in compared
        for ours, theirs in zip(one.ours.dev_scores, one.theirs.dev_accuracies, strict=True)
    )


def _figures(compared: Sequence[Comparison]) -> dict[str, float | str]:
    """Returns the figures; equality is judged where scikit-learn's fits are done, if they were."""
    nested = [one for one in compared if one.protocol == "nested_folds"]
    figures: dict[str, float | str] = {}
    for solver, ending in ((AS_IT_COMES, ""), (CONVERGED, "_converged")):
        of_solver = [one for one in nested if one.solver.name == solver.name]
        if of_solver:
            widest = max(of_solver, key=lambda one: one.width * one.num_items)
            figures[f"nested_cv_vs_sklearn{ending}"] = round(widest.speed, 2)
            figures[f"nested_cv_vs_sklearn{ending}_cpu"] = round(widest.speed_by_cpu, 2)
            figures["task"] = widest.task
    done = [one for one in compared if one.solver.name == CONVERGED.name] or compared
    searches = sum(len(one.ours.regularisers) for one in done)
    return {
        **figures,
        "max_accuracy_difference": round(max(abs(one.difference) for one in done), 3),
        "same_regularisers": round(sum(one.same_regularisers for one in done) / searches, 3),
        "compared_with": done[0].solver.name,
    }


def _add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--data", type=Path, help="SentEval's data folder; by default the default run's sentences")
    add("--tasks", default="MR", help="with --data: names separated by commas, or all")
    add("--corpus", type=Path, help="without --data: folder of a parsed corpus")
    add("--sentences", type=int, default=MR_SIZE, help="without --data: at most so many")
    add("--encoder", default="random-0", help="as treeviews evaluate takes it")
    add("--preset", default="laptop", help="of a random encoder")
    add("--changes", default=WIDE_ENCODER, help="of the preset, as JSON")
    add("--poolings", default="max,mean,min,last", help="of each view's states, side by side")
    add("--cache", type=Path, help="folder that keeps parses; by default none")
    add("--converged", action="store_true", help="also let scikit-learn walk until it is done")
    add("--tolerance", type=float, default=CONVERGED.tolerance, help="at which it then is done")
    add("--folds", type=int, default=10, help="outer and inner")
    add("--cores", type=int, default=available_cores(), help="that each side may use")
    add("--device", choices=("auto", "cpu", "cuda"), default="cpu", help="where ours runs")
    add("--seed", type=int, default=1111, help="of the folds")


main = Benchmark("benchmarks.evaluation", __doc__ or "", _add_options, _measure, QUICK)

if __name__ == "__main__":
    sys.exit(main())
