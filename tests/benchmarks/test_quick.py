"""A quick run has other values of the options, and says under its tables that it is rough."""

from __future__ import annotations

import argparse
import importlib

import pytest

from benchmarks import bench
from benchmarks.quick import parse_arguments
from benchmarks.report import LACKING, MISTAKE, LackingError, fail


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser()
    made.add_argument("--sentences", type=int, default=400)
    made.add_argument("--hidden", type=int, nargs="+", default=[256, 600])
    return made


QUICK = {"sentences": 20, "hidden": [8]}


@pytest.mark.parametrize(
    ("given", "sentences", "hidden"),
    [
        ([], 400, [256, 600]),
        (["--quick"], 20, [8]),
        (["--quick", "--sentences", "30"], 30, [8]),
        (["--hidden", "16", "--quick"], 20, [16]),
    ],
)
def test_a_quick_run_has_other_defaults_and_what_is_said_goes_before(
    given: list[str], sentences: int, hidden: list[int]
) -> None:
    options = parse_arguments(parser(), given, QUICK)
    assert (options.sentences, options.hidden) == (sentences, hidden)
    assert options.quick is ("--quick" in given)


@pytest.mark.parametrize("name", bench.BENCHMARKS)
def test_every_benchmark_tells_of_its_quick_mode(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"benchmarks.{name}").main(["--help"])
    assert ended.value.code == 0
    assert "--quick" in capsys.readouterr().out


def test_what_is_lacking_has_a_status_of_its_own() -> None:
    lacking = (LackingError("no GPU"), FileNotFoundError("no text"), ModuleNotFoundError("no ray"))
    assert {fail(error) for error in lacking} == {LACKING}
    assert fail(ValueError("too few")) == fail("too few") == MISTAKE
    assert fail(RuntimeError("a job failed")) == 1
