"""Every example of the documents: accepted by the program that it names, and run where it can be.

`tests/support/document_examples.py` says how an example is marked that cannot run.
"""

from __future__ import annotations

import ast
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.support import example_commands
from tests.support.document_examples import (
    NEEDS,
    NOT_RUN,
    OPTIONS_OF,
    Example,
    all_examples,
    redirections,
    simple_commands,
)
from tests.support.example_folder import write_example_folder
from tests.support.example_programs import RESULT, matches, run_example, run_forked
from tests.support.repository import REPOSITORY
from treeviews.tasks.command_line import parameter_groups, stages

EXAMPLES = all_examples()
OTHER_LANGUAGES = ("text", "yaml", "json", "ini", "toml", "dockerfile")


def chosen(examples: list[Example]) -> list[object]:
    return [pytest.param(example, id=example.name) for example in examples]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_example_folder(tmp_path_factory.mktemp("examples"))


@pytest.mark.parametrize("example", chosen(EXAMPLES))
def test_an_example_names_its_language_or_why_it_does_not_run(example: Example) -> None:
    is_known = example.is_shell or example.is_script or example.is_dialogue
    is_known = is_known or example.language in ("python", *OTHER_LANGUAGES)
    assert is_known or example.mark, "name its language, or mark it with the reason it has none"
    if example.mark is not None:
        kind, _, reason = example.mark.partition(": ")
        assert f"{kind}:" in (NOT_RUN, NEEDS, OPTIONS_OF)
        assert len(reason.split()) >= (1 if f"{kind}:" == NEEDS else 2)
    if example.language == "python":
        ast.parse(example.text)


@pytest.mark.parametrize(
    "command",
    [
        "treeviews run --veiws DEP",
        "treeviews run TrainEncoder --views DEP",
        "treeviews run --views DEPP",
        "treeviews encode english --poling max",
        "treeviews encoed english",
        "python -m treeviews.pipeline.parsers.convert --nonsense",
        "make tests",
        "pip install '.[nonsense]'",
        "srun --ntasks=2 treeviews run --veiws DEP",
    ],
)
def test_a_wrong_command_would_be_found(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(BaseException):  # noqa: B017 - each program has its own error
        example_commands.check(simple_commands(command)[0])


GUIDES = [example for example in EXAMPLES if example.document.startswith("docs/")]


def commands_of_guides(folder: Path) -> list[list[str]]:
    """Returns the words of the guides' commands of ours, with what they name in the folder."""
    return [
        example_commands.filled_in(words, folder) if example.is_tried else words
        for example in GUIDES
        for words in example.commands_of_ours()
    ]


@pytest.mark.slow
def test_every_subcommand_has_an_example_in_a_guide(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    shown = {
        "run" if words[1] == "run" else example_commands.subcommand_called(words[1:])
        for words in commands_of_guides(folder)
        if words[0] == "treeviews"
    }

    assert [name for name in example_commands.subcommands() if name not in shown] == []


def stages_of_guides(folder: Path) -> list[tuple[str, list[str]]]:
    """Returns every stage that a guide runs, with its options."""
    runs = [words for words in commands_of_guides(folder) if words[:2] == ["treeviews", "run"]]
    return [
        (words[2], words[3:]) if len(words) > 2 and words[2][0] != "-" else ("RunAll", words[2:])
        for words in runs
    ]


def test_every_stage_has_an_example_in_a_guide(folder: Path) -> None:
    """But those that make a part of another stage, which names them a destination."""
    asked_for = [name for name, one in stages().items() if not hasattr(one, "destination")]
    shown = {name for name, _ in stages_of_guides(folder)}

    assert [name for name in asked_for if name not in shown] == []


def test_every_group_of_parameters_has_an_example_in_a_guide(folder: Path) -> None:
    """As ``treeviews run STAGE --help`` groups them, by what they are about."""
    shown = {word.partition("=")[0] for _, options in stages_of_guides(folder) for word in options}
    options = {
        title: [f"--{parameter.replace('_', '-')}" for parameter in parameters]
        for name in dict(stages_of_guides(folder))
        for title, parameters in parameter_groups(name).items()
        if title != "This stage"
    }

    assert [title for title, known in options.items() if shown.isdisjoint(known)] == []


def test_a_python_example_is_compared_with_the_results_that_it_shows() -> None:
    assert run_example("n = 1 + 1  # → 2\nprint([n, n])  # → [2, …]\nn  # no arrow\n") == 2
    for wrong in ("n = 1 + 1  # → 3\n", "print(2)  # → 3\n", "1 + 1  # → 3\n"):
        with pytest.raises(AssertionError, match="'3', not '2'"):
            run_example(wrong)


@pytest.mark.parametrize(
    "example", chosen([e for e in EXAMPLES if e.is_script or e.language == "yaml"])
)
def test_what_a_recipe_for_a_cluster_starts_is_accepted(
    example: Example, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = example.text
    if example.language == "yaml":
        (container,) = yaml.safe_load(script)["spec"]["template"]["spec"]["containers"]
        script = shlex.join([*container["command"], *container["args"]])
    commands = example_commands.commands_of_script(script, folder, tmp_path)

    assert commands
    monkeypatch.chdir(folder)
    for words in commands:
        example_commands.check(words)


def result_of(line: str, folder: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """Runs a line of a shell in the prepared folder."""
    commands = simple_commands(line)
    if len(commands) == 1 and commands[0][0] == "treeviews":
        return run_forked(commands[0], folder, home, **redirections(line))
    programs = f"{home / 'programs'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        cwd=folder,
        env=os.environ | {"PATH": programs, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def succeed(result: subprocess.CompletedProcess[str]) -> str:
    """Returns what a program printed, which has to have succeeded."""
    printed = f"{result.args}\n{result.stdout[-2000:]}\n{result.stderr[-3000:]}"
    assert result.returncode == 0, printed
    return result.stdout


COMMAND = """#!/bin/sh
exec "{python}" -c 'import sys; from treeviews.command import main; sys.exit(main())' "$@"
"""


@pytest.fixture(scope="module")
def home(folder: Path) -> Path:
    """The user's home, with the command of this checkout and results that examples compare."""
    example_commands.write_program(
        folder / "home" / "programs" / "treeviews", COMMAND.format(python=sys.executable)
    )
    for name, encoder in {"one": "bag_of_words", "other": "sif"}.items():
        scored = f"--data DIR --tasks MR --encoder {encoder} --out results/{name}"
        succeed(result_of(f"treeviews evaluate {scored}", folder, folder / "home"))
    return folder / "home"


@pytest.fixture(scope="module")
def own_folder(
    folder: Path, home: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[Example], Path]:
    """Gives the examples of a document a folder of their own, in which they run in order."""
    folders: dict[str, Path] = {}

    def of(example: Example) -> Path:
        if example.document not in folders:
            folders[example.document] = tmp_path_factory.mktemp("document") / "folder"
            shutil.copytree(folder, folders[example.document], symlinks=True)
        return folders[example.document]

    return of


@pytest.mark.slow
@pytest.mark.parametrize("example", chosen([e for e in EXAMPLES if e.is_shell and e.is_tried]))
def test_the_commands_of_an_example_run_if_quick_and_are_accepted_else(
    example: Example,
    own_folder: Callable[[Example], Path],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = own_folder(example)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(home))
    for line, commands in example.lines_with_commands():
        if all(example_commands.is_run(words) for words in commands):
            filled = example_commands.filled_in_text(line, folder)
            printed = succeed(result_of(filled, folder, home))
            if result := RESULT.search(line):
                assert matches(f"…{result[1]}…", printed)
        else:
            for words in commands:
                example_commands.check(example_commands.filled_in(words, folder))


@pytest.mark.slow
@pytest.mark.parametrize("example", chosen([e for e in EXAMPLES if e.is_dialogue and e.is_tried]))
def test_a_dialogue_shows_what_its_commands_print(
    example: Example, folder: Path, home: Path
) -> None:
    for command, answer in example.turns():
        result = result_of(command, folder, home)
        assert matches(answer, result.stdout + result.stderr)


@pytest.mark.slow
@pytest.mark.parametrize(
    "example", chosen([e for e in EXAMPLES if e.language == "python" and e.is_tried])
)
def test_a_python_example_runs_and_gives_what_it_shows(
    example: Example, own_folder: Callable[[Example], Path], home: Path, tmp_path: Path
) -> None:
    folder = own_folder(example)
    program = tmp_path / "example.py"
    program.write_text(example_commands.filled_in_text(example.text, folder), encoding="utf-8")
    succeed(run_forked(["example", str(program)], folder, home))
