"""Measures where a parser's time goes, part by part, beside what one core can multiply.

``python -m benchmarks.parsing_parts [--quick]`` parses the default run's sentences, or those of
treebanks given with ``--conllu``, on one thread. Parts are functions of the parsers; a part's time
is what is spent in it but not in another part within it. Where a part is mostly matrix products,
the table tells how many GFLOP/s it makes of them. The last line it prints is one JSON object.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from benchmarks.gemm_speed import measure_gemm
from benchmarks.parsing_input import ParsingInput, add_text_options, chosen_input
from benchmarks.quick import parse_arguments
from benchmarks.report import Table, fail, header, print_last_line, print_table, tell
from pipeline.base.bundled import BUNDLED_PARSERS, parser_folder
from pipeline.base.watched import keep_memory
from pipeline.parsers.adapters import fast_layers
from pipeline.parsers.adapters.adapter import BatchedParser
from pipeline.parsers.constituency import decoding as chart_decoding
from pipeline.parsers.constituency import forward as chart_forward
from pipeline.parsers.constituency.benepar_adapter import BeneparConstituencyParser
from pipeline.parsers.dependency import checked_pass
from pipeline.parsers.dependency import decoding as arc_decoding
from pipeline.parsers.dependency import forward as arc_forward
from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser

QUICK = {"sentences": 1_000, "rounds": 1}
Rates = Mapping[str, Mapping[str, float]]
"""Type of number -> library -> GFLOP/s."""
_PARSERS: Mapping[str, type[BatchedParser[Any, Any]]] = {
    "dependencies": SuparDependencyParser,
    "constituents": BeneparConstituencyParser,
}
REST = "rest"
"""What no part accounts for: batches, trees as objects, the sample that sets the margin."""
_SPELLING = "spelling of words"
_PARTS: Mapping[str, Sequence[tuple[Any, str]]] = {
    _SPELLING: [(fast_layers.WordCache, "remember"), (fast_layers.WordCache, "vectors")],
    "LSTM": [(arc_forward, "bidirectional_layer")],
    "attention layers": [(chart_forward.PackedTransformer, "__call__")],
    "scores of arcs": [(arc_forward, "arc_scores")],
    "scores of relations": [(arc_forward, "relation_scores")],
    "scores of spans": [(chart_decoding.SpanScorer, "chart")],
    "best trees": [
        (arc_decoding, "best_heads"),
        (arc_decoding, "labelled_trees"),
        (chart_decoding, "best_spans"),
        (chart_decoding, "labelled_trees"),
    ],
    "is a tree certain": [(checked_pass, "certain_trees")],
}


class Profile:
    """Adds up the time of parts, each without that of parts within it, and their operations."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.operations: defaultdict[str, int] = defaultdict(int)
        self._running: list[str] = []
        self._since = 0.0

    def within(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the function, which counts as a part; of two arithmetics, as one part each.

        What spells words counts as that, whatever it calls.
        """

        def timed(*given: Any, **named: Any) -> Any:
            whole = _SPELLING if _SPELLING in self._running else _with_arithmetic(part, given)
            with self.running(whole):
                return function(*given, **named)

        return timed

    @contextmanager
    def running(self, part: str) -> Iterator[None]:
        """Counts what is done meanwhile for a part."""
        self._end_stretch()
        self._running.append(part)
        try:
            yield
        finally:
            self._end_stretch()
            self._running.pop()

    def count(self, operations: int) -> None:
        """Counts operations for the part that runs."""
        if self._running:
            self.operations[self._running[-1]] += operations

    def _end_stretch(self) -> None:
        now = time.process_time()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now


def _with_arithmetic(part: str, given: Sequence[Any]) -> str:
    tensors = [one for one in given if isinstance(one, Tensor) and one.is_floating_point()]
    is_reduced = part == "LSTM" and bool(tensors) and tensors[0].dtype != torch.float32
    return f"{part}, {str(tensors[0].dtype).removeprefix('torch.')}" if is_reduced else part


@contextmanager
def profiled(profile: Profile) -> Iterator[None]:
    """Has the parsers' functions counted meanwhile, wherever they were imported."""
    undo: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, new: Any) -> None:
        undo.append((owner, name, vars(owner)[name]))
        setattr(owner, name, new)

    try:
        for part, functions in _PARTS.items():
            for owner, name in functions:
                old = getattr(owner, name)
                new = profile.within(part, old)
                for place in [owner] if isinstance(owner, type) else _importers(old):
                    put(place, name, new)
        put(fast_layers, "_direction", _counted_lstm(profile))
        for name in ("_block", "_by_torch"):
            put(fast_layers.FixedProduct, name, _counted_product(profile, name))
        yield
    finally:
        for owner, name, old in reversed(undo):
            setattr(owner, name, old)


def _importers(function: Any) -> list[Any]:
    """Returns the modules of the parsers that know a function by its name."""
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.startswith("pipeline.parsers.") and vars(module).get(function.__name__) is function
    ]


def _counted_lstm(profile: Profile) -> Callable[..., Tensor]:
    run = fast_layers._direction

    def counted(inputs_TBD: Tensor, weights: Sequence[Tensor]) -> Tensor:
        positions = inputs_TBD.shape[0] * inputs_TBD.shape[1]
        profile.count(2 * positions * (weights[0].numel() + weights[1].numel()))
        return run(inputs_TBD, weights)

    return counted


def _counted_product(profile: Profile, name: str) -> Callable[..., Tensor]:
    multiply = getattr(fast_layers.FixedProduct, name)

    def counted(self: fast_layers.FixedProduct, rows_RK: Tensor) -> Tensor:
        profile.count(2 * len(rows_RK) * self._weight.numel())
        product: Tensor = multiply(self, rows_RK)
        return product

    return counted


def measure(stage: str, text: ParsingInput, options: argparse.Namespace) -> Profile:
    """Returns the profile of the fastest round."""
    best: Profile | None = None
    for number in range(1, options.rounds + 1):
        tell(f"{stage}, {options.precision}: round {number} of {options.rounds}")
        folder = options.parsers[list(_PARSERS).index(stage)]
        parser = _PARSERS[stage].load(
            folder, precision=options.precision, batch_tokens=options.batch_tokens
        )
        parser.parse(text.warm_up)
        profile = Profile()
        with profiled(profile), profile.running(REST):
            parser.parse(text.sentences)
        if best is None or sum(profile.seconds.values()) < sum(best.seconds.values()):
            best = profile
    assert best is not None
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 0, or 2 for a user's mistake."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    options = parse_arguments(_parser(), given, QUICK)
    torch.set_num_threads(1)
    try:
        if min(options.sentences, options.rounds) < 1:
            raise ValueError("--sentences and --rounds must be at least 1")
        text = chosen_input(options, options.sentences, fewer=True)
        run = header("benchmarks.parsing_parts", given, text=text.text, seed=0, quick=options.quick)
        profiles = {stage: measure(stage, text, options) for stage in options.stages}
    except (FileNotFoundError, ValueError) as error:
        return fail(error)
    core: Rates = {
        str(dtype).removeprefix("torch."): {
            str(backend): measured.gflops for backend, measured in measure_gemm(dtype=dtype).items()
        }
        for dtype in (torch.float32, torch.bfloat16)
    }
    for stage, profile in profiles.items():
        print_table(_table(stage, profile, text, core), run)
    print_last_line(
        {"core_gflops": core}
        | {stage: dict(profile.seconds) for stage, profile in profiles.items()}
    )
    return 0


def _table(stage: str, profile: Profile, text: ParsingInput, core: Rates) -> Table:
    total = sum(profile.seconds.values())
    rows = [
        [part, f"{seconds:.2f}", f"{seconds / total:.0%}", *_products(profile, part)]
        for part, seconds in sorted(profile.seconds.items(), key=lambda pair: -pair[1])
    ]
    rows.append(["all", f"{total:.2f}", "100%", "", ""])
    return Table(
        f"Where the time goes: {stage}",
        ["part", "CPU seconds", "share", "GFLOP", "GFLOP/s"],
        rows,
        [
            f"{len(text.sentences) / total:.0f} sentences a CPU second",
            *(
                f"one core multiplies {name} at {_rates(rates)} GFLOP/s (1,024 rows and columns)"
                for name, rates in core.items()
            ),
            "GFLOP: of LSTMs and of products with fixed weights, padding included",
        ],
    )


def _rates(rates: Mapping[str, float]) -> str:
    return ", ".join(f"{rate:.0f} ({backend})" for backend, rate in rates.items())


def _products(profile: Profile, part: str) -> tuple[str, str]:
    operations = profile.operations[part] / 1e9
    if operations < 1:
        return "", ""
    return f"{operations:.0f}", f"{operations / profile.seconds[part]:.0f}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.parsing_parts", description=(__doc__ or "").partition("\n")[0]
    )
    add_text_options(parser)
    add = parser.add_argument
    add("--sentences", type=int, default=2_000)
    add("--rounds", type=int, default=2, help="the fastest counts")
    add("--stages", nargs="+", choices=list(_PARSERS), default=list(_PARSERS))
    add(
        "--parsers",
        type=parser_folder,
        nargs=2,
        metavar=("DEPENDENCY", "CONSTITUENCY"),
        default=[BUNDLED_PARSERS["dependencies"], BUNDLED_PARSERS["constituents"]],
    )
    add("--precision", choices=("exact", "fast"), default="exact")
    add("--batch-tokens", type=int, help="default: the parser's own")
    return parser


if __name__ == "__main__":
    keep_memory()  # as jobs do
    raise SystemExit(main())
