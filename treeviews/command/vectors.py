"""``treeviews vectors``: word vectors of other people made a folder, and a look at one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from treeviews.command.output import AsJson, print_json, say

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of word vectors.")]


def add_to(app: typer.Typer) -> None:
    """Adds the subcommand with its own ones."""
    group = typer.Typer(
        no_args_is_help=True,
        rich_markup_mode=None,
        help="Word vectors: take over published ones, look at a folder of them.",
    )
    group.command("import")(import_)
    group.command("show")(show)
    group.command("check")(check)
    app.add_typer(group, name="vectors")


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="GloVe's or word2vec's text, fastText's .vec, word2vec's .bin; also .gz, .bz2, "
            ".xz, .zst, .zip. Or what data download vectors brought: its name, such as glove-840b, "
            "or its folder."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The new folder.")],
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="Take these words alone: CountVocabulary's .parquet, .json or text."),
    ] = None,
    member: Annotated[str, typer.Option(help="Of a .zip with several files, which.")] = "",
    kept_as: Annotated[
        Literal["float16", "float32"], typer.Option(help="Half precision takes half the bytes.")
    ] = "float16",
    lower_case: Annotated[
        bool, typer.Option("--lower-case", help="Words lose their case; the first counts.")
    ] = False,
    max_words: Annotated[int, typer.Option(min=0, help="The first so many; 0: all.")] = 0,
    max_malformed: Annotated[
        int, typer.Option(min=0, help="So many lines may be left out; one more is an error.")
    ] = 100,
    work_folder: Annotated[
        Path, typer.Option(help="Folder in which vectors given by name were downloaded.")
    ] = Path("data/work"),
    as_json: AsJson = False,
) -> None:
    """Make a folder of a file of word vectors, for --vectors."""
    from treeviews.pipeline.downloads.published_vectors import file_to_import
    from treeviews.pipeline.vectors.import_vectors import ImportConfig, import_vectors

    config = ImportConfig(
        member=member,
        kept_as=kept_as,
        lower_case=lower_case,
        max_words=max_words,
        max_malformed=max_malformed,
    )
    file = file_to_import(file, work_folder)
    facts = import_vectors(file, out, config, vocabulary=vocabulary)
    if as_json:
        print_json(facts)
        return
    left_out = {
        "malformed": sum(facts["malformed"].values()),
        "repeated": facts["duplicates"],
        "not in the vocabulary": facts["not_in_vocabulary"],
    }
    said = ", ".join(f"{num:,} {name}" for name, num in left_out.items() if num)
    say(f"{facts['words']:,} words of {facts['lines']:,} taken" + (f"; {said}" if said else ""))
    print(out)


def show(
    folder: Folder,
    words: Annotated[list[str] | None, typer.Argument(help="Words to look up.")] = None,
    rows: Annotated[int, typer.Option("-n", min=0, help="How many first words.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what a folder holds: its size, its first words, the vectors of some."""
    from treeviews.models.words.word_vectors import load_word_vectors
    from treeviews.pipeline.shards.arrow import strings

    vectors = load_word_vectors(folder)
    known = vectors.num_words - 1
    facts = {} if vectors.opened is None else dict(vectors.opened.facts)
    first = vectors.index.words.slice(0, rows).to_pylist()
    found: dict[str, tuple[int, list[float]]] = {}
    if words:
        ids, _ = vectors.token_ids(strings(words))
        values = vectors.rows(ids)
        found = {word: (int(ids[row]), values[row].tolist()) for row, word in enumerate(words)}
    if as_json:
        print_json(
            {
                "words": known,
                "size": vectors.size,
                "kept_as": str(vectors.matrix.dtype),
                "mapped": vectors.is_mapped,
                "facts": facts,
                "first": first,
                "found": {word: {"id": at, "vector": row} for word, (at, row) in found.items()},
            }
        )
        return
    where = "mapped from the file" if vectors.is_mapped else "read into memory"
    print(f"{known:,} words of {vectors.size} numbers, {vectors.matrix.dtype}, {where}")
    if source := facts.get("from"):
        print(f"from {source['name'] if isinstance(source, dict) else source}")
    print("first: " + " ".join(first))
    for word, (at, row) in found.items():
        beginning = " ".join(f"{value:.4f}" for value in row[:5])
        print(f"{word}: " + (f"id {at}: {beginning} …" if at else "unknown"))


def check(folder: Folder) -> None:
    """Hold every byte of a folder against its sha256."""
    from treeviews.pipeline.vectors.vector_folder import open_folder

    table = open_folder(folder, whole=True)
    print(f"{folder}: {len(table.words):,} words, all as they were written")
