"""``treeviews models`` and ``presets``: what an encoder is, passing it on; known trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeviews.command.console import Result, takes
from treeviews.models.exchange.export_card import ExportOptions
from treeviews.models.words.vocabulary_expansion import ExpansionConfig

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model folder or the name of a bundled model.")
]


def show(model: ModelArgument) -> Result:
    """Show the card, views and configuration of a model."""
    from treeviews.models.listing import model_facts, model_folder
    from treeviews.models.model.card import CARD_FILE

    folder = model_folder(model)
    facts, path = model_facts(folder), folder / CARD_FILE
    card = path.read_text(encoding="utf-8") if path.is_file() else None
    lines = [
        f"{name:>10}  {', '.join(value) if isinstance(value, list) else value}"
        for name in ("path", "views", "objective", "needs", "bytes", "seed", "licence")
        for value in [facts[name]]
    ]
    return Result({**facts, "card": card}, [*lines, *([] if card is None else ["", card])])


@takes("config", ExpansionConfig)
def expand(
    model: ModelArgument,
    out: Annotated[Path, typer.Option(help="Folder for the new model.")],
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Word vectors with the words to add; default: those that the model started from."
        ),
    ] = None,
    model_vectors: Annotated[
        Path | None,
        typer.Option(help="Word vectors of the model, if they were moved."),
    ] = None,
    *,
    config: ExpansionConfig,
) -> None:
    """Add words of pretrained vectors to a model with trained words.

    Fits a linear map from pretrained to trained vectors on the words that have both, and applies
    it to all others. The quality on held-out words is printed and added to the new model's card.
    """
    from treeviews.models.exchange.export_model import new_folder
    from treeviews.models.listing import model_folder
    from treeviews.models.model.expanded_model import expand_model, expansion_summary

    folder = model_folder(model)
    with new_folder(out):
        facts = expand_model(folder, out, config, pretrained=vectors, vectors_path=model_vectors)
    print(f"{expansion_summary(facts)}\n{out}")


_EndpointOption = Annotated[
    str | None, typer.Option(help="Address of the hub; default: HF_ENDPOINT.")
]


@takes("options", ExportOptions, num_words="words")
def export(
    model: ModelArgument,
    out: Annotated[Path, typer.Option(help="The new folder.")],
    *,
    options: ExportOptions,
) -> None:
    """Export a model to a folder that others can use."""
    from treeviews.models.exchange.export_model import export_model

    export_model(model, out, options)
    print(out)


@takes("options", ExportOptions, "vectors", "licence", "text_licence", "results")
def push(
    model: ModelArgument,
    repo: Annotated[str, typer.Argument(metavar="USER/NAME", help="Name of the model on the hub.")],
    private: Annotated[bool, typer.Option("--private", help="Make a new model private.")] = False,
    endpoint: _EndpointOption = None,
    *,
    options: ExportOptions,
) -> None:
    """Push a self-contained model to a hub."""
    from treeviews.models.exchange.export_model import push_model

    print(push_model(model, repo, options, private=private, endpoint=endpoint))


def fetch(
    repo: Annotated[
        str, typer.Argument(metavar="USER/NAME[@REVISION]", help="REVISION: branch, tag or commit.")
    ],
    endpoint: _EndpointOption = None,
) -> None:
    """Fetch and verify a model from a hub, and print its folder."""
    from treeviews.models.model.hub import fetch_model

    print(fetch_model(repo, endpoint=endpoint))


def presets(
    word_size: Annotated[int, typer.Option(min=1, help="Dimension of the word vectors.")] = 300,
) -> Result:
    """List the training presets and their views."""
    from treeviews.models.report.presets_table import presets_facts, presets_table

    return Result(presets_facts(word_size), [presets_table(word_size)])
