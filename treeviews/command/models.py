"""``treeviews models``: what encoders there are, what one is, and passing one on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeviews.command.output import AsJson, print_json

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model's folder, or the name of one that ships.")
]


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand with its own ones."""
    group = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="List, show and pass on encoders.",
    )
    group.command("list")(list_models)
    group.command("show")(show)
    group.command("export")(export)
    app.add_typer(group, name="models")


def list_models(
    folder: Annotated[Path, typer.Option("--in", help="Folder of models that you trained.")] = Path(
        "data/work/models"
    ),
    as_json: AsJson = False,
) -> None:
    """List the encoders that ship and those that you trained."""
    from models.listing import model_facts, models_in
    from models.report.markdown import markdown_table
    from pipeline.base.bundled import BUNDLED_MODELS

    found = {
        name: {"name": name, "ships": name in BUNDLED_MODELS, **model_facts(path)}
        for name, path in {**models_in(folder), **BUNDLED_MODELS}.items()
    }
    if as_json:
        print_json([*found.values()])
        return
    rows = [
        (
            name,
            "ships" if facts["ships"] else facts["path"],
            ",".join(facts["views"]),
            ", ".join(facts["needs"]) or "nothing",
            f"{facts['bytes'] / 1e6:.1f}",
        )
        for name, facts in found.items()
    ]
    print(markdown_table(("model", "where", "views", "parses", "MB"), rows, num_text_columns=4))


def show(model: ModelArgument, as_json: AsJson = False) -> None:
    """Show what a model is: its card, views and configuration."""
    from models.listing import model_card, model_facts, model_folder
    from pipeline.base.foreign_text import printable

    folder = model_folder(model)
    facts, card = model_facts(folder), model_card(folder)
    if as_json:
        print_json({**facts, "card": card})
        return
    for name in ("path", "views", "objective", "needs", "bytes", "seed"):
        value = facts[name]
        print(f"{name:>10}  {printable(', '.join(value) if isinstance(value, list) else value)}")
    if card is not None:
        print(f"\n{printable(card, keep_lines=True)}")


def export(
    model: ModelArgument,
    out: Annotated[Path, typer.Option(help="The new folder.")],
    words: Annotated[
        int | None, typer.Option(help="Of a bag: only so many words, the most frequent ones.")
    ] = None,
    components: Annotated[int, typer.Option(help="Of a bag: so many are removed.")] = 0,
    vectors: Annotated[
        Path | None,
        typer.Option(help="Where the word vectors lie, if not where the model says."),
    ] = None,
) -> None:
    """Make a model a folder to pass on: models export MODEL --out FOLDER."""
    from models.export import export_model

    export_model(model, out, num_words=words, components=components, vectors_path=vectors)
