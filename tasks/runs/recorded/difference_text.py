"""What two runs differ in, as lines for people."""

from __future__ import annotations

from collections.abc import Mapping

from models.evaluation.statistics.resampling import Interval
from models.report.comparison_table import comparison_table
from pipeline.base.foreign_text import printable
from tasks.runs.recorded.run_difference import ComparedEncoder, RunDifference
from tasks.runs.words import aligned


def difference_lines(found: RunDifference) -> list[str]:
    """Returns configuration, data and results, each under a title of its own."""
    first, second = found.first.name, found.second.name
    lines = [printable(sentence) for sentence in found.not_done()]
    lines += [""] if lines else []
    lines.append(f"configuration ({first} → {second})")
    lines += _pairs(found.parameters) or ["  the same options"]
    for stage, sentences in found.stages.items():
        lines += [
            f"  {stage}: {printable(sentence)}"
            for sentence in sentences
            if sentence.partition(": ")[0] not in found.parameters  # told above already
        ]
    lines += _pairs(found.machine)
    for name, stages in ((first, found.only_first), (second, found.only_second)):
        lines += [f"  only {name}: {', '.join(stages)}"] if stages else []
    lines += ["", "data"]
    lines += _pairs(found.data)
    lines += [f"  the same: {', '.join(found.same_data)}"] if found.same_data else []
    if not (found.data or found.same_data):
        lines.append("  nothing of it is in both")
    lines += ["", "results"]
    for compared in found.results:
        lines += _results(compared, first, second)
    if not found.results:
        lines.append("  none that differ and that both have")
    return [*lines, *(f"  left out: {printable(sentence)}" for sentence in found.left_out)]


def _pairs(pairs: Mapping[str, tuple[str, str]]) -> list[str]:
    rows = [(f"  {name}", f"{printable(a)} → {printable(b)}") for name, (a, b) in pairs.items()]
    return aligned(rows)


def _results(compared: ComparedEncoder, first: str, second: str) -> list[str]:
    lines = [f"  {printable(compared.encoder)}"]
    if compared.remark:
        lines.append(f"  {printable(compared.remark)}")
    if compared.comparison is not None:
        lines += comparison_table(compared.comparison, (first, second)).splitlines()
    told = {row.task for row in compared.comparison.tasks} if compared.comparison else set()
    rest = {task: pair for task, pair in compared.scores.items() if task not in told}
    rows = [(f"  {task}", _score(a), _score(b)) for task, (a, b) in rest.items() if a or b]
    if rows:
        lines += aligned([("  not item by item", first, second), *rows])
    return lines


def _score(score: Interval | None) -> str:
    if score is None:
        return "absent"
    return f"{score.value:.1f} [{score.low:.1f}, {score.high:.1f}]"
