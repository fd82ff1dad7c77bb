"""``treeviews runs``: the runs of a work folder, what two differ in, and their removal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.base.mistakes import DONE, FAILED
from treeviews.command.output import AsJson, print_json, say, terminal_width

if TYPE_CHECKING:
    from tasks.runs.records import Records

DEFAULT_WORK_FOLDER = Path("data/work")

WorkFolder = Annotated[
    Path | None,
    typer.Option(help=f"Where the runs write; by default {DEFAULT_WORK_FOLDER}.", metavar="FOLDER"),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of a run, as `treeviews runs` has it.")]


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand with its own ones."""
    group = typer.Typer(
        rich_markup_mode=None,
        help="List the runs of a work folder; show, compare, rename or remove them.",
    )
    group.callback(invoke_without_command=True)(list_runs)
    group.command("show")(show)
    group.command("diff")(diff)
    group.command("name")(rename)
    group.command("rm")(remove)
    app.add_typer(group, name="runs")


def list_runs(
    context: typer.Context,
    work_folder: WorkFolder = None,
    stage: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only runs of this stage.")
    ] = None,
    state: Annotated[
        str | None, typer.Option(help="Only runs in this state: done, failed, unfinished, …")
    ] = None,
    matching: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only runs with this in name or parameters.")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """List the recorded runs, the last one last."""
    if context.invoked_subcommand is not None:
        return DONE
    from tasks.runs.recorded.asked_words import options_in_words
    from tasks.runs.recorded.run_list import list_lines, listed

    records = _records(context, work_folder)
    found = [
        run
        for run in listed(records)
        if stage in (None, run.record.stage)
        and state in (None, run.state)
        and (matching or "")
        in " ".join([run.record.name, *options_in_words(run.record.parameters)])
    ]
    damaged = {str(path): why for path, why in records.damaged.items()}
    if as_json:
        print_json({"runs": [run.to_dict() for run in found], "damaged": damaged})
        return DONE
    if found:
        print(*list_lines(found, terminal_width()), sep="\n")
    else:
        say(f"{records.folder}: no such run is recorded; runs are, from the first command on")
    for why in damaged.values():
        say(f"left out: {why}")
    return DONE


def show(
    context: typer.Context, name: Name, work_folder: WorkFolder = None, as_json: AsJson = False
) -> None:
    """Show all that is known of a run: runs show NAME."""
    from tasks.runs.recorded.run_list import listed, show_lines

    records = _records(context, work_folder)
    (run,) = listed(records, records.named(name).name)
    if as_json:
        print_json(run.to_dict() | {"record": run.record.to_dict()})
    else:
        print(*show_lines(run), sep="\n")


def diff(
    context: typer.Context,
    first: Annotated[str, typer.Argument(metavar="A", help="Name of a run.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Name of another one.")],
    all_encoders: Annotated[
        bool, typer.Option("--all", help="Compare all encoders of both, not only the trained.")
    ] = False,
    work_folder: WorkFolder = None,
    as_json: AsJson = False,
) -> None:
    """Say what two runs differ in: configuration, data, results."""
    from tasks.runs.recorded.difference_text import difference_lines
    from tasks.runs.recorded.run_difference import difference_of

    records = _records(context, work_folder)
    found = difference_of(records, first, second, all_encoders=all_encoders)
    if as_json:
        print_json(found.to_dict())
    else:
        print(*difference_lines(found), sep="\n")


def rename(
    context: typer.Context,
    name: Name,
    new: Annotated[str, typer.Argument(metavar="NEW", help="Small letters, digits, dashes.")],
    work_folder: WorkFolder = None,
) -> None:
    """Give a run another name: runs name OLD NEW."""
    records = _records(context, work_folder)
    records.rename(name, new)
    say(f"run {name} is called {new} now")


def remove(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Of runs.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be removed.")
    ] = False,
    work_folder: WorkFolder = None,
    as_json: AsJson = False,
) -> int:
    """Remove runs with what only they need; shows it and asks first."""
    from tasks.runs.recorded.removal import planned
    from tasks.runs.recorded.removal import remove as remove_runs
    from tasks.runs.recorded.removal_text import removal_facts, removal_lines

    records = _records(context, work_folder)
    plan = planned(records, names)
    if not as_json:
        print(*removal_lines(plan), sep="\n", flush=True)
    if not dry_run:
        if not (yes or _agreed()):
            say("nothing is removed; --yes removes without a question")
            return FAILED
        plan = remove_runs(records, plan)
    if as_json:
        print_json(removal_facts(plan) | {"removed": not dry_run})
    elif not dry_run:
        say("removed")
    return DONE


def _agreed() -> bool:
    """Asks whether to go on; where nobody can answer, no."""
    try:
        return typer.confirm("Remove this?", err=True)
    except typer.Abort:
        return False


def _records(context: typer.Context, work_folder: Path | None) -> Records:
    """Returns the records of the work folder, which stands before or behind the subcommand's name.

    Raises:
        FileNotFoundError: no such folder.
    """
    from tasks.runs.records import Records

    parent = context.parent.params if context.parent is not None else {}
    folder = work_folder or parent.get("work_folder") or DEFAULT_WORK_FOLDER
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{folder}: no such work folder; give --work-folder, or run something first"
        )
    return Records(folder)
