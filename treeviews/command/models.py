"""``treeviews models`` and ``presets``: what an encoder is, passing it on; known trainings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeviews.command.output import AsJson, print_json

ModelArgument = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model's folder, or the name of one that ships.")
]


def add_to(app: typer.Typer) -> None:
    """Adds ``models`` with its own subcommands, and ``presets``."""
    app.command("presets")(presets)
    group = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Show, expand and pass on encoders.",
    )
    group.command("show")(show)
    group.command("expand")(expand)
    group.command("export")(export)
    group.command("push")(push)
    group.command("fetch")(fetch)
    app.add_typer(group, name="models")


def show(model: ModelArgument, as_json: AsJson = False) -> None:
    """Show what a model is: its card, views and configuration."""
    from treeviews.models.listing import model_card, model_facts, model_folder
    from treeviews.pipeline.base.foreign_text import printable

    folder = model_folder(model)
    facts, card = model_facts(folder), model_card(folder)
    if as_json:
        print_json({**facts, "card": card})
        return
    for name in ("path", "views", "objective", "needs", "bytes", "seed", "licence"):
        value = facts[name]
        print(f"{name:>10}  {printable(', '.join(value) if isinstance(value, list) else value)}")
    if card is not None:
        print(f"\n{printable(card, keep_lines=True)}")


def expand(
    model: ModelArgument,
    out: Annotated[Path, typer.Option(help="The new model's folder.")],
    vectors: Annotated[
        Path | None,
        typer.Option(
            help="Word vectors of the further words; by default those that the model was made with."
        ),
    ] = None,
    ridge: Annotated[float, typer.Option(help="Penalty of the map; 0 is least squares.")] = 0.0,
    intercept: Annotated[
        bool, typer.Option("--intercept/--no-intercept", help="Whether the map has one.")
    ] = True,
    max_words: Annotated[int, typer.Option(help="Words of the new model, at most.")] = 2_000_000,
    model_vectors: Annotated[
        Path | None,
        typer.Option(help="Where those of the model lie, if not where the model says."),
    ] = None,
) -> None:
    """Give a model whose words were trained those of pretrained vectors: models expand MODEL.

    A linear map from pretrained to trained vectors is fitted to the words that have both, and
    applied to all others. What it is worth on words that it has not seen is printed and stands in
    the new model's card.
    """
    from treeviews.models.exchange.export_model import new_folder
    from treeviews.models.listing import model_folder
    from treeviews.models.model.expanded_model import expand_model, expansion_summary
    from treeviews.models.words.vocabulary_expansion import ExpansionConfig

    config = ExpansionConfig(ridge=ridge, intercept=intercept, max_words=max_words)
    folder = model_folder(model)
    with new_folder(out):
        facts = expand_model(folder, out, config, pretrained=vectors, vectors_path=model_vectors)
    print(f"{expansion_summary(facts)}\n{out}")


_FORMATS = "treeviews, sentence-transformers or model2vec."
_VectorsOption = Annotated[
    Path | None, typer.Option(help="Where the word vectors lie, if not where the model says.")
]
_LicenceOption = Annotated[
    str, typer.Option(help="Of the model; by default what its folder or its card says.")
]
_TextLicenceOption = Annotated[str, typer.Option(help="Of the text that the model was trained on.")]
_ResultsOption = Annotated[
    Path | None, typer.Option(help="Folder of results, whose scores the card is to have.")
]
_RepoArgument = Annotated[str, typer.Argument(metavar="USER/NAME", help="The model on the hub.")]
_EndpointOption = Annotated[
    str | None, typer.Option(help="Address of the hub; by default that of HF_ENDPOINT.")
]


def export(
    model: ModelArgument,
    out: Annotated[Path, typer.Option(help="The new folder.")],
    format_: Annotated[str, typer.Option("--format", help=f"Who opens it: {_FORMATS}")] = (
        "treeviews"
    ),
    self_contained: Annotated[
        bool, typer.Option("--self-contained", help="Put word vectors and parsers inside.")
    ] = False,
    words: Annotated[
        int | None, typer.Option(help="Of a bag: only so many words, the most frequent ones.")
    ] = None,
    components: Annotated[int, typer.Option(help="Of a bag: so many are removed.")] = 0,
    vectors: _VectorsOption = None,
    dependency_parser: Annotated[
        Path | None, typer.Option(help="Where the parser lies, if not where the model says.")
    ] = None,
    constituency_parser: Annotated[
        Path | None, typer.Option(help="Where the parser lies, if not where the model says.")
    ] = None,
    licence: _LicenceOption = "",
    text_licence: _TextLicenceOption = "",
    results: _ResultsOption = None,
) -> None:
    """Make a model a folder to pass on, and print it: models export MODEL --out FOLDER."""
    from treeviews.models.exchange.export_card import ExportOptions
    from treeviews.models.exchange.export_model import export_model

    options = ExportOptions(
        format=format_,
        self_contained=self_contained,
        num_words=words,
        components=components,
        vectors=vectors,
        dependency_parser=dependency_parser,
        constituency_parser=constituency_parser,
        licence=licence,
        text_licence=text_licence,
        results=results,
    )
    export_model(model, out, options)
    print(out)


def push(
    model: ModelArgument,
    repo: _RepoArgument,
    private: Annotated[bool, typer.Option("--private", help="A new one is for you alone.")] = False,
    vectors: _VectorsOption = None,
    licence: _LicenceOption = "",
    text_licence: _TextLicenceOption = "",
    results: _ResultsOption = None,
    endpoint: _EndpointOption = None,
) -> None:
    """Put a model on a hub, self-contained: models push MODEL USER/NAME."""
    from treeviews.models.exchange.export_card import ExportOptions
    from treeviews.models.exchange.export_model import push_model

    options = ExportOptions(
        vectors=vectors, licence=licence, text_licence=text_licence, results=results
    )
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
    as_json: AsJson = False,
) -> None:
    """List the trainings known by name, with their views and what they train."""
    from treeviews.models.report.presets_table import presets_facts, presets_table

    if as_json:
        print_json(presets_facts(word_size))
    else:
        print(presets_table(word_size))
