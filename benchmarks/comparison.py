"""One view at one width: our encoder beside the others, checked to compute the same, then timed."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import torch
from torch import Tensor

from benchmarks.contestants import REFERENCES, Entry, Runner, Task, relative_difference
from benchmarks.harness import tell
from benchmarks.step_process import StepProcess
from benchmarks.stopwatch import Spent
from treeviews.models.training.numerics import GemmBackend, preserve_gemm

LARGEST_DIFFERENCE = {torch.float32: 1e-5, torch.bfloat16: 0.05}
"""Of outputs and of gradients, by norm; more is an error, not rounding.

Measured at widths up to 1200: at most 10⁻⁶ in float32 and 0.012 in bfloat16.
"""

MAX_PROCESSES = 5
"""At a time; each holds up to 2 GB at width 1200."""


class Measured(Protocol):
    """What takes the steps of one implementation: a `Runner`, here or in another process."""

    def warm_up(self, outcome: Path) -> None:
        """Takes one step that is not timed and saves what came of it, as `Runner.outcome`."""

    def measure(self) -> Spent:
        """Takes one step; returns what it took."""


Start = Callable[[Task, Entry], AbstractContextManager[Measured]]


@dataclass
class Contestant:
    """An implementation and what was found out about it."""

    entry: Entry
    label: str
    """Its name in a table."""
    expected: Mapping[str, Tensor] = field(repr=False)
    """What must come of its steps, as our encoder in float32 has it; see `Runner.outcome`."""
    difference: float | None = None
    """Largest relative difference of its outputs and gradients from those expected."""
    times: list[Spent] = field(default_factory=list)
    """What each step took."""

    @property
    def seconds(self) -> float:
        """Returns the time on the clock of the fastest step."""
        return min(spent.wall for spent in self.times)

    @property
    def median_seconds(self) -> float:
        """Returns the time on the clock of the step in the middle."""
        return statistics.median(spent.wall for spent in self.times)

    @property
    def cpu_seconds(self) -> float:
        """Returns the least time of the processor that a step took."""
        return min(spent.cpu for spent in self.times)

    def check(self, outcome: Mapping[str, Tensor]) -> None:
        """Refuses an implementation that does not compute what ours does.

        Raises:
            ArithmeticError: names it and the difference.
        """
        self.difference = _largest_difference(outcome, self.expected)
        limit = LARGEST_DIFFERENCE[self.entry.dtype]
        # Not "greater": a difference that is no number must not pass.
        if not self.difference <= limit:
            raise ArithmeticError(
                f"{self.label} in {self.entry.dtype} differs from our encoder by "
                f"{self.difference:.1e} by norm (rounding would be {limit:.0e} at most), so their "
                "times would compare different computations"
            )


@dataclass
class Comparison:
    """A view at a width, timed."""

    view: str
    hidden_size: int
    contestants: Sequence[Contestant]
    """The first is our encoder in float32 with the backend chosen for it."""

    def ours(self, gemm: GemmBackend | None = None) -> Contestant:
        """Returns our encoder in float32, with this backend or the one chosen for it."""
        return next(
            c
            for c in self.contestants
            if c.entry.name == "ours"
            and c.entry.dtype == torch.float32
            and gemm in {None, c.entry.gemm}
        )

    def times_faster(self, gemm: GemmBackend | None = None) -> dict[str, float]:
        """Returns the step of each reference over ours, that with this backend or the chosen one.

        With "default", which the references have, the backend's part of the difference is out.
        """
        seconds = self.ours(gemm).seconds
        return {c.entry.name: c.seconds / seconds for c in self._references()}

    def times_faster_by_cpu(self) -> dict[str, float]:
        """Returns the same by time of the processor, ours with the backend chosen for it."""
        seconds = self.ours().cpu_seconds
        return {c.entry.name: c.cpu_seconds / seconds for c in self._references()}

    def _references(self) -> list[Contestant]:
        return [c for c in self.contestants if c.entry.name != "ours"]


def compare(
    task: Task,
    view: str,
    hidden_size: int,
    dtypes: Sequence[torch.dtype] = (torch.float32,),
    start: Start = StepProcess,
) -> Comparison:
    """Returns our encoder and all references of a view, checked against one another and timed.

    Args:
        start: makes what takes an implementation's steps; by default a process for each.

    Raises:
        ArithmeticError: an implementation does not compute what ours does.
        RuntimeError: an implementation's process ended before its time.
        ModuleNotFoundError: the package that DEP is compared with is not installed.
    """
    with preserve_gemm():
        contestants = _contestants(task, _entries(task, view, hidden_size, dtypes))
    for first in range(0, len(contestants), MAX_PROCESSES):
        _measure(task, contestants[first : first + MAX_PROCESSES], start)
    return Comparison(view, hidden_size, contestants)


def _entries(task: Task, view: str, hidden_size: int, dtypes: Sequence[torch.dtype]) -> list[Entry]:
    """Returns ours in each precision, in float32 with the default backend as well, and others."""
    ours = Entry(view, hidden_size, "ours", torch.float32, task.gemm)
    entries = [replace(ours, dtype=dtype) for dtype in dtypes]
    plain = replace(ours, gemm="default")
    if task.gemm != "default":
        entries.append(plain)
    return [*entries, *(replace(plain, name=name) for name in REFERENCES[view])]


def _contestants(task: Task, entries: Sequence[Entry]) -> list[Contestant]:
    """Returns the implementations with what must come of their steps."""
    ours = Runner(task, entries[0]).outcome()
    contestants = []
    for entry in entries:
        runner = Runner(task, entry)
        expected = ours
        if runner.reference is not None:
            gradients = {name: value for name, value in expected.items() if name}
            expected = {"": expected[""], **runner.reference.named_as_here(gradients)}
        contestants.append(Contestant(entry, runner.label, expected))
    return contestants


def _measure(task: Task, contestants: Sequence[Contestant], start: Start) -> None:
    """Checks the implementations, then times them in turns.

    Their turns make a slow moment of the machine strike all of them; all but the one whose turn it
    is wait.
    """
    with ExitStack() as stack, TemporaryDirectory() as folder:
        all_measured = [stack.enter_context(start(task, c.entry)) for c in contestants]
        for contestant, measured in zip(contestants, all_measured, strict=True):
            path = Path(folder) / "outcome.pt"
            measured.warm_up(path)
            contestant.check(torch.load(path))
        view = contestants[0].entry.view
        for number in range(task.repeats):
            tell(f"{view}: step {number + 1} of {task.repeats} of {len(contestants)} processes")
            for contestant, measured in zip(contestants, all_measured, strict=True):
                contestant.times.append(measured.measure())


def _largest_difference(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> float:
    """Returns the largest relative difference; NaN if any value is NaN."""
    assert set(found) == set(expected)
    differences = [relative_difference(found[name], value) for name, value in expected.items()]
    # torch's max, as Python's would pass over a difference that is no number.
    return float(torch.stack(differences).max())
