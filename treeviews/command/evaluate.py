"""``treeviews evaluate`` and ``compare``: an encoder's scores on SentEval's tasks, or two."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from treeviews.command.console import ENCODERS, Result, checked, json_object, say, takes
from treeviews.models.encoding.encoder import EncoderSettings
from treeviews.models.evaluation.comparison import ComparisonConfig
from treeviews.models.evaluation.evaluation_settings import ProtocolConfig
from treeviews.models.evaluation.resampling import Resampling
from treeviews.models.evaluation.task_registry import TASKS, tasks_named
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.base.mistakes import refuse_together

DEFAULT_PRESET = "laptop"
"""Whose architecture an untrained encoder has."""


_FOLDERS = "Folder of results; separate the folders of several seeds by commas."


@takes("protocol", ProtocolConfig)
@takes("settings", EncoderSettings)
def evaluate(
    encoder: Annotated[str | None, typer.Option(help=ENCODERS)] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="SentEval's data folder, with downstream/ and probing/."),
    ] = None,
    tasks: Annotated[
        str,
        typer.Option(callback=checked(tasks_named), help="Task names separated by commas, or all."),
    ] = "all",
    list_tasks: Annotated[bool, typer.Option("--list", help="List the tasks and exit.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the results; default: results/ENCODER, with a digest if the "
            "representation or protocol is not the default."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the encoder in tables.")] = None,
    parses: Annotated[
        Path, typer.Option(help="Cache of tokens and parses, shared by encoders.")
    ] = Path("results/parses"),
    encoder_version: Annotated[
        str | None,
        typer.Option(
            help="Version of your own function. With it, results are kept and reused as long as "
            "the function's module is unchanged; change the version when anything else that the "
            "function reads or imports changes."
        ),
    ] = None,
    representation: Annotated[str, typer.Option(help="plain or multi-view.")] = "plain",
    representation_changes: Annotated[
        Any,
        typer.Option(
            parser=json_object,
            help="Representation settings to change, as JSON: '{\"normalise\": true}'.",
        ),
    ] = "{}",
    protocol_changes: Annotated[
        Any,
        typer.Option(
            parser=json_object,
            help="Protocol settings to change, as JSON: '{\"standardise\": true}'.",
        ),
    ] = "{}",
    threads: Annotated[int, typer.Option(min=0, help="CPU threads; 0: half of the cores.")] = 0,
    preset: Annotated[str, typer.Option(help="Training preset of random-SEED.")] = DEFAULT_PRESET,
    changes: Annotated[
        Any,
        typer.Option(parser=json_object, help="Settings of that preset to change, as JSON."),
    ] = "{}",
    on_refusal: Annotated[
        Literal["error", "zero"] | None,
        typer.Option(
            help="For sentences that the encoder refuses: stop, or use zeros and count them below "
            "the table. Default: zeros, but stop if they exceed a tenth of a data set."
        ),
    ] = None,
    *,
    settings: EncoderSettings,
    protocol: ProtocolConfig,
) -> Result:
    """Score any encoder on SentEval's tasks.

    Example: treeviews evaluate --encoder english --data ~/SentEval/data --tasks STS14,MR. Writes
    one JSON file per task to --out and prints a table. Existing results are not computed again.
    """
    if list_tasks:
        width = max(len(task.name) for task in TASKS)
        lines = [f"{task.name:{width}}  {task.description}" for task in TASKS]
        return Result([asdict(task) for task in TASKS], lines)
    if encoder is None or data is None:
        raise typer.BadParameter("give --encoder and --data, or --list for the tasks")
    from treeviews.models.config.training_presets import preset as preset_named
    from treeviews.models.evaluate_tasks import execute, scores_in
    from treeviews.models.evaluation.evaluation_settings import EvaluationSettings, results_folder
    from treeviews.models.evaluation.representation import representation_named
    from treeviews.models.evaluation.task_data import tasks_of_data
    from treeviews.models.report.evaluation_table import evaluation_table
    from treeviews.pipeline.base.machine import available_cores
    from treeviews.pipeline.downloads.senteval_data import check_data_folder

    refuse_together(
        lambda: check_data_folder(data),
        lambda: protocol.changed(**protocol_changes),
        lambda: representation_named(representation, **representation_changes),
        lambda: preset_named(preset, **changes),
    )
    protocol = protocol.changed(**protocol_changes)
    resolved = representation_named(representation, **representation_changes)
    config = preset_named(preset, **changes).to_dict()
    named = tuple(task.name for task in tasks_of_data(tasks, data))
    own_preset = "" if preset == DEFAULT_PRESET else preset
    folder = out or results_folder(encoder, resolved, protocol, own_preset)
    of_encoder = settings.changed(device="cpu").to_dict() | {"on_refusal": on_refusal}
    evaluation = EvaluationSettings(
        encoder=encoder,
        tasks=named,
        data=data,
        out=folder,
        name=name,
        parses=parses,
        encoder_version=encoder_version,
        representation=resolved,
        protocol=protocol,
        encoder_settings={
            **{name: value for name, value in of_encoder.items() if value is not None},
            "config": config,
        },
        device=settings.device,
        threads=threads or max(1, available_cores() // 2),
    )
    execute(
        evaluation, lambda fraction, status: say(f"{100 * fraction:3.0f} %  {printable(status)}")
    )
    only = None if tasks.strip().lower() == "all" else named  # what stood there before, too
    say(printable(f"results: {folder}"))
    value = {"folder": str(folder), "tasks": scores_in(folder, only)}
    return Result(value, [evaluation_table([folder], only=only)])


@takes("resampling", Resampling, num_resamples="resamples")
@takes("config", ComparisonConfig, "test", "correction")
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=_FOLDERS)],
    second: Annotated[str, typer.Argument(metavar="B", help=_FOLDERS)],
    tasks: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Names separated by commas; default: all.")
    ] = None,
    *,
    config: ComparisonConfig,
    resampling: Resampling,
) -> Result:
    """Compare two encoders on the same test items.

    Example: treeviews compare results/one results/other.
    """
    from treeviews.models.evaluation.comparison import compare_folders
    from treeviews.models.report.evaluation_table import comparison_table
    from treeviews.pipeline.base.settings import to_json

    found = compare_folders(
        [Path(folder) for folder in first.split(",")],
        [Path(folder) for folder in second.split(",")],
        config.changed(resampling=resampling),
        None if tasks is None else [name.strip() for name in tasks.split(",")],
    )
    value = {"format": "treeviews comparison", "format_version": 1, **to_json(found)}
    return Result(value, [comparison_table(found)])
