"""``treeviews evaluate``: any encoder's scores on SentEval's tasks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.base.foreign_text import printable
from treeviews.command.encoder_options import (
    BatchSize,
    ConstituencyParser,
    DependencyParser,
    Device,
    Refusal,
    Vectors,
    given,
)
from treeviews.command.json_option import json_object
from treeviews.command.output import AsJson, print_json, say

if TYPE_CHECKING:
    from models.evaluation_request import Evaluated


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand."""
    app.command("evaluate")(evaluate)


def evaluate(
    encoder: Annotated[
        str | None,
        typer.Option(
            help="english or another that ships, a model's folder, bag_of_words, sif, random-SEED, "
            "views as MODEL@VIEW+MODEL@VIEW, or package.module:name of a function of your own, "
            "whose module's code is run."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="SentEval's data folder: it holds downstream/ and probing/."),
    ] = None,
    tasks: Annotated[
        str, typer.Option(help="Names separated by commas, or all; --list names them.")
    ] = "all",
    list_tasks: Annotated[bool, typer.Option("--list", help="List the tasks and end.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the results; by default results/ENCODER, with a digest where "
            "representation or protocol are not the default ones."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What tables call the encoder.")] = None,
    parses: Annotated[
        Path, typer.Option(help="Folder that keeps tokens and parses for other encoders.")
    ] = Path("results/parses"),
    encoder_version: Annotated[
        str | None,
        typer.Option(
            help="For a function of your own: what its results are kept under, beside the "
            "checksum of its module; change it when anything else changes that the function reads "
            "or imports. Without it results are made anew each time."
        ),
    ] = None,
    representation: Annotated[str, typer.Option(help="plain or multi-view.")] = "plain",
    representation_changes: Annotated[
        str, typer.Option(help="Its fields to change, as JSON: '{\"normalise\": true}'.")
    ] = "{}",
    protocol_changes: Annotated[
        str,
        typer.Option(
            help="Fields of the protocol to change, as JSON: '{\"num_folds\": 5}' is SentEval's "
            "quick way, classifier compatibility its own, trained by Adam."
        ),
    ] = "{}",
    threads: Annotated[
        int, typer.Option(min=0, help="CPU threads; 0 takes half of the cores.")
    ] = 0,
    preset: Annotated[
        str, typer.Option(help="Of random-SEED: a training known by name.")
    ] = "laptop",
    changes: Annotated[
        str, typer.Option(help="Of random-SEED: fields of the preset to change, as JSON.")
    ] = "{}",
    device: Device = "cpu",
    batch_size: BatchSize = None,
    on_refusal: Annotated[
        Refusal | None,
        typer.Option(
            help="Sentences that the encoder cannot take: zeros, counted below the table, or an "
            "error. By default zeros, and an error where they are many."
        ),
    ] = None,
    vectors: Vectors = None,
    dependency_parser: DependencyParser = None,
    constituency_parser: ConstituencyParser = None,
    as_json: AsJson = False,
) -> None:
    """Score any encoder: evaluate --encoder english --data ~/SentEval/data --tasks STS14,MR.

    One JSON file a task goes to --out, a table to standard output. A task whose result stands
    already is not scored again.
    """
    if list_tasks:
        _list_tasks(as_json)
        return
    if encoder is None or data is None:
        raise typer.BadParameter("give --encoder and --data, or --list for the tasks")
    protocol = json_object(protocol_changes, "--protocol-changes", '{"num_folds": 5}')
    representation_fields = json_object(
        representation_changes, "--representation-changes", '{"normalise": true}'
    )
    preset_fields = json_object(changes, "--changes", '{"hidden_size": 600}')

    from models.evaluation_request import EvaluationRequest
    from models.evaluation_request import evaluate as evaluate_request

    evaluated = evaluate_request(
        EvaluationRequest(
            encoder=encoder,
            data=data,
            tasks=tasks,
            out=out,
            name=name,
            parses=parses,
            encoder_version=encoder_version,
            representation=representation,
            representation_changes=representation_fields,
            protocol=protocol,
            threads=threads,
            preset=preset,
            changes=preset_fields,
            device=device,
            encoder_settings=given(
                batch_size=batch_size,
                on_refusal=on_refusal,
                vectors=vectors,
                dependency_parser=dependency_parser,
                constituency_parser=constituency_parser,
            ),
        ),
        lambda fraction, status: say(f"{100 * fraction:3.0f} %  {printable(status)}"),
    )
    _print_results(evaluated, as_json)
    say(printable(f"results: {evaluated.folder}"))


def _list_tasks(as_json: bool) -> None:
    from models.evaluation.tasks.declarations import TASKS

    if as_json:
        print_json([asdict(task) for task in TASKS])
        return
    width = max(len(task.name) for task in TASKS)
    print(*(f"{task.name:{width}}  {task.description}" for task in TASKS), sep="\n")


def _print_results(evaluated: Evaluated, as_json: bool) -> None:
    from models.evaluation_request import scores_in
    from models.report.evaluation_table import evaluation_table

    if as_json:
        scores = scores_in(evaluated.folder, evaluated.tasks)
        print_json({"folder": str(evaluated.folder), "tasks": scores})
    else:
        print(evaluation_table([evaluated.folder], only=evaluated.tasks))
