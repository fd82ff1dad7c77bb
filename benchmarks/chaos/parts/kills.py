"""SIGKILL at random moments of all stages: the group, one child, the parent alone.

One run is killed and started again until each stage was killed so often, and then finishes: its
bytes must be those of an undisturbed run. Each kill is a trial: the run that follows must not fail,
and what the kill left running must end by itself. A stage that is complete is removed, so that it
is there to be killed again.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from benchmarks.chaos.same_bytes import differences
from benchmarks.chaos.tiny_run import (
    ALL,
    STAGES,
    START,
    TOGETHER,
    Process,
    Stage,
    Started,
    TinyRun,
    descendants,
    stage_named,
    undisturbed,
    write_tiny_text,
)
from benchmarks.chaos.trial import Options, Trial
from benchmarks.report import markdown_table, print_lines

WAYS = ("group", "child", "parent")
KILLS_A_STAGE = 18
KILLS_AT_START = 6
"""Before any stage runs, while Luigi is being imported: of each root."""
ORPHAN_SECONDS = 15.0
"""Within which what has lost its parent must end by itself."""
STALL_SECONDS = 300.0
"""A run that gets nowhere for so long hangs."""
CHILD_SECONDS = 10.0
"""A run that has lost a child is given so long to end by itself before it is killed as a whole."""
IDLE_SECONDS = 30.0
"""A run without a child of its own for so long waits for nothing."""
TRIES = 5


@dataclass(slots=True)
class Kill:
    """One kill, and what came of it."""

    number: int
    way: str
    stages: tuple[str, ...]
    """What was running."""
    hit: Started
    left: list[Process] = field(default_factory=list)
    """What should end with it."""
    faults: list[str] = field(default_factory=list)
    moment: float = field(default_factory=time.monotonic)

    def still_there(self) -> list[Process]:
        """Returns what still runs, once all has ended or the time for it is over."""
        while (alive := [process for process in self.left if process.is_alive()]) and (
            time.monotonic() < self.moment + ORPHAN_SECONDS
        ):
            time.sleep(0.05)
        return alive

    def trial(self) -> Trial:
        """Returns what came of it; ends what still runs."""
        for process in self.still_there():
            self.faults.append(f"{process.command[:120]} ran on for {ORPHAN_SECONDS:.0f} s")
            with suppress(ProcessLookupError):
                os.kill(process.number, signal.SIGKILL)
        where, seconds = ", ".join(self.stages) or "no stage", self.moment - self.hit.born
        what = f"kill {self.number}: the {self.way} in {where}, {seconds:.1f} s after the start"
        return Trial(what, not self.faults, "; ".join(self.faults) or "went on")


def trials(options: Options) -> Iterator[Trial]:
    """Kills a run in every stage, in every way, and compares what it leaves in the end."""
    text = write_tiny_text(options.work / "text", documents=2 if options.quick else 12)
    run = TinyRun(text, options.work / "run", options.work / "logs")
    roots, plan = _plan(options.quick)
    spans = undisturbed(run, roots)
    run.work.rename(options.work / "undisturbed")
    killer = _Killer(run, spans, random.Random(options.seed))
    for stage, number in plan:
        yield from killer.kill(stage, number)
    yield from killer.finish(roots)
    yield from _hits(killer.kills, [stage for stage, _ in plan if stage.name != START])
    different = differences(options.work / "undisturbed", run.work)
    what = f"the bytes of a run killed {len(killer.kills)} times beside an undisturbed one's"
    yield Trial(what, not different, "; ".join(different) or "the same")


def _plan(quick: bool) -> tuple[list[tuple[str, ...]], list[tuple[Stage, int]]]:
    """Returns the tasks that are run, and the stages that are killed so often."""
    if quick:
        root = ("SplitSentences",)
        return [root], [(replace(stage_named(root[0]), root=root), len(WAYS))]
    roots = [ALL, TOGETHER]
    at_start = [(Stage(START, "", "", root=root), KILLS_AT_START) for root in roots]
    return roots, [*at_start, *((stage, KILLS_A_STAGE) for stage in STAGES)]


def _from_on(stage: Stage) -> list[Stage]:
    """Returns a stage and those of its root after it, some of which are made of its result."""
    place = [other.name for other in STAGES].index(stage.name)
    return [stage, *(other for other in STAGES[place + 1 :] if other.root == stage.root)]


class _Killer:
    """Kills one run, start by start."""

    def __init__(self, run: TinyRun, spans: Mapping[str, float], moments: random.Random) -> None:
        self.kills: list[Kill] = []
        self._run, self._spans, self._moments = run, spans, moments
        self._started: Started | None = None
        self._root: Sequence[str] = ()
        self._pending: Kill | None = None
        """The last kill; the next start tells whether it survived."""

    def kill(self, stage: Stage, number: int) -> Iterator[Trial]:
        """Kills a stage so often; yields the trials that are decided by then."""
        hits = 0
        for _ in range(TRIES * number):
            if hits == number:
                return
            started = self._begin(stage)
            is_there = self._moment_comes(started, stage)
            yield from self._judge(started)
            if is_there:
                kill = self._strike(started, WAYS[hits % len(WAYS)])
                hits += stage.name in (*kill.stages, START)
        yield Trial(f"kills of {stage.name}", False, f"{hits} of {number} hit it: {started.said()}")

    def finish(self, roots: Sequence[Sequence[str]]) -> Iterator[Trial]:
        """Lets the run come to its end."""
        for root in roots:
            if self._started is not None:
                self._started.kill_group()
            self._started = started = self._run.finish(root)
            yield from self._judge(started)
            outcome = f"ended with {started.code}: {started.said()}"
            yield Trial(f"{root[0]} after all kills", started.code == 0, outcome)

    def _begin(self, stage: Stage) -> Started:
        """Returns a run in which the stage runs or is still to come."""
        started = self._started
        if started is not None and started.code is None:
            if self._root == stage.root and stage.name in started.running:
                return started
            self._end(started)
        if stage.name != START and stage.is_complete(self._run.work):
            if self._pending is not None:
                self._pending.still_there()  # and might write into what is removed
            for later in _from_on(stage):  # a run whose report stands has nothing left to do
                for folder in self._run.work.glob(later.folders):
                    shutil.rmtree(folder)
        self._started, self._root = self._run.start(stage.root), stage.root
        return self._started

    def _end(self, started: Started) -> None:
        """Ends a run that has lost a child: it may go on or end, but not wait for nothing."""
        started.wait_until(lambda: False, CHILD_SECONDS)
        is_busy = started.wait_until(lambda: bool(descendants(started.process.pid)), IDLE_SECONDS)
        if not is_busy and started.code is None:
            self._blame(f"without its child, it waited for nothing: {started.said()}")
        started.kill_group()

    def _moment_comes(self, started: Started, stage: Stage) -> bool:
        """Waits for a moment within the stage; returns whether the run is there to be killed."""
        if stage.name != START:
            started.wait_until(lambda: stage.name in started.running, STALL_SECONDS)
            if started.code is None and stage.name not in started.running:
                self._blame(f"the next start hung for {STALL_SECONDS:.0f} s: {started.said()}")
                started.kill_group()
        started.wait_until(lambda: False, self._moments.uniform(0, self._spans.get(stage.name, 1)))
        return started.code is None

    def _judge(self, started: Started) -> Iterator[Trial]:
        """Tells what came of the last kill, once another start has shown it."""
        kill = self._pending
        if kill is None or (kill.hit is started and started.code is not None):
            return
        if started.code not in (None, 0):
            self._blame(f"the next start ended with {started.code}: {started.said()}")
        self._pending = None
        yield kill.trial()

    def _blame(self, fault: str) -> None:
        if self._pending is not None:
            self._pending.faults.append(fault)

    def _strike(self, started: Started, way: str) -> Kill:
        """Kills a run in one of the ways."""
        started.look()
        family = descendants(started.process.pid)
        kill = Kill(len(self.kills) + 1, way, tuple(sorted(started.running)), started)
        if way == "child" and not family:
            kill.way = "parent"
        match kill.way:
            case "child":
                victim = self._moments.choice(family)
                kill.left = descendants(victim.number)
                with suppress(ProcessLookupError):
                    os.kill(victim.number, signal.SIGKILL)
            case "parent":
                kill.left = family
                started.process.kill()
                started.process.wait()
            case _:
                kill.left = family  # of whom some have left the group
                started.kill_group()
        self.kills.append(kill)
        self._pending = kill
        return kill


def _hits(kills: Sequence[Kill], stages: Sequence[Stage]) -> Iterator[Trial]:
    """Yields whether each stage was hit, and prints how often in each way."""
    rows = []
    for stage in stages:
        ways = Counter(kill.way for kill in kills if stage.name in kill.stages)
        outcome = ", ".join(f"{way} {ways[way]}" for way in WAYS)
        yield Trial(f"kills that hit {stage.name}", all(ways[way] for way in WAYS), outcome)
        rows.append([stage.name, *(str(ways[way]) for way in WAYS)])
    none = Counter(kill.way for kill in kills if not kill.stages)
    rows.append(["before or between them", *(str(none[way]) for way in WAYS)])
    print_lines(markdown_table(["kills while this ran", *WAYS], rows))
