"""``treeviews models`` and ``presets``: what an encoder is, passing it on; known trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeviews.command.console import Result, takes
from treeviews.models.exchange.export_card import ExportOptions
from treeviews.models.words.vocabulary_expansion import ExpansionConfig

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model's folder, or the name of one that ships.")
]


def show(model: ModelArgument) -> Result:
    """Show what a model is: its card, views and configuration."""
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
    out: Annotated[Path, typer.Option(help="The new model's folder.")],
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Word vectors of the further words; by default those that the model was made with."
        ),
    ] = None,
    model_vectors: Annotated[
        Path | None,
        typer.Option(help="Where those of the model lie, if not where the model says."),
    ] = None,
    *,
    config: ExpansionConfig,
) -> None:
    """Give a model whose words were trained those of pretrained vectors: models expand MODEL.

    A linear map from pretrained to trained vectors is fitted to the words that have both, and
    applied to all others. What it is worth on words that it has not seen is printed and stands in
    the new model's card.
    """
    from treeviews.models.exchange.export_model import new_folder
    from treeviews.models.listing import model_folder
    from treeviews.models.model.expanded_model import expand_model, expansion_summary

    folder = model_folder(model)
    with new_folder(out):
        facts = expand_model(folder, out, config, pretrained=vectors, vectors_path=model_vectors)
    print(f"{expansion_summary(facts)}\n{out}")


_EndpointOption = Annotated[
    str | None, typer.Option(help="Address of the hub; by default that of HF_ENDPOINT.")
]


@takes("options", ExportOptions, num_words="words")
def export(
    model: ModelArgument,
    out: Annotated[Path, typer.Option(help="The new folder.")],
    *,
    options: ExportOptions,
) -> None:
    """Make a model a folder to pass on, and print it: models export MODEL --out FOLDER."""
    from treeviews.models.exchange.export_model import export_model

    export_model(model, out, options)
    print(out)


@takes("options", ExportOptions, "vectors", "licence", "text_licence", "results")
def push(
    model: ModelArgument,
    repo: Annotated[str, typer.Argument(metavar="USER/NAME", help="The model on the hub.")],
    private: Annotated[bool, typer.Option("--private", help="A new one is for you alone.")] = False,
    endpoint: _EndpointOption = None,
    *,
    options: ExportOptions,
) -> None:
    """Put a model on a hub, self-contained: models push MODEL USER/NAME."""
    from treeviews.models.exchange.export_model import push_model

    print(push_model(model, repo, options, private=private, endpoint=endpoint))


def fetch(
    repo: Annotated[
        str, typer.Argument(metavar="USER/NAME[@REVISION]", help="Branch, tag or commit, or none.")
    ],
    endpoint: _EndpointOption = None,
) -> None:
    """Fetch a model of a hub, verified, and print its folder: models fetch USER/NAME."""
    from treeviews.models.model.hub import fetch_model

    print(fetch_model(repo, endpoint=endpoint))


def presets(
    word_size: Annotated[int, typer.Option(min=1, help="Width of the word vectors.")] = 300,
) -> Result:
    """List the trainings known by name, with their views and what they train."""
    from treeviews.models.report.presets_table import presets_facts, presets_table

    return Result(presets_facts(word_size), [presets_table(word_size)])
