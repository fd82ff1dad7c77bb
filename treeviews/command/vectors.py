"""``treeviews vectors``: word vectors of other people made a folder, and a look at one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from treeviews.command.console import Result, say, takes
from treeviews.pipeline.vectors.import_vectors import ImportConfig

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of word vectors.")]


@takes("config", ImportConfig)
def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="GloVe's or word2vec's text, fastText's .vec or word2vec's .bin, also as .gz, "
            ".bz2, .xz, .zst or .zip; or the name (glove-840b) or folder of downloaded vectors."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder to create.")],
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="Import only these words: CountVocabulary's .parquet, .json or text."),
    ] = None,
    work_folder: Annotated[
        Path, typer.Option(help="Work folder with the downloads, for vectors given by name.")
    ] = Path("data/work"),
    *,
    config: ImportConfig,
) -> Result:
    """Import a file of word vectors as a folder for --vectors."""
    from treeviews.pipeline.downloads.published_vectors import file_to_import
    from treeviews.pipeline.vectors.import_vectors import import_vectors

    file = file_to_import(file, work_folder)
    facts = import_vectors(file, out, config, vocabulary=vocabulary)
    left_out = {
        "malformed": sum(facts["malformed"].values()),
        "repeated": facts["duplicates"],
        "not in the vocabulary": facts["not_in_vocabulary"],
    }
    said = ", ".join(f"{num:,} {name}" for name, num in left_out.items() if num)
    say(f"{facts['words']:,} words of {facts['lines']:,} taken" + (f"; {said}" if said else ""))
    return Result(facts, [str(out)])


def show(
    folder: Folder,
    words: Annotated[list[str] | None, typer.Argument(help="Words to look up.")] = None,
    rows: Annotated[int, typer.Option("-n", min=0, help="Number of first words shown.")] = 10,
) -> Result:
    """Show the size and first words of a folder, or look words up."""
    from treeviews.models.words.word_vectors import load_word_vectors
    from treeviews.pipeline.shards.arrow import strings

    vectors = load_word_vectors(folder)
    facts = {} if vectors.opened is None else dict(vectors.opened.facts)
    ids, _ = vectors.token_ids(strings(words or []))
    found = {
        word: {"id": int(at), "vector": row.tolist()}
        for word, at, row in zip(words or [], ids, vectors.rows(ids), strict=True)
    }
    shown = {
        "words": vectors.num_words - 1,
        "size": vectors.size,
        "kept_as": str(vectors.matrix.dtype),
        "mapped": vectors.is_mapped,
        "facts": facts,
        "first": vectors.index.words.slice(0, rows).to_pylist(),
        "found": found,
    }
    where = "mapped from the file" if vectors.is_mapped else "read into memory"
    lines = [f"{shown['words']:,} words of {vectors.size} numbers, {shown['kept_as']}, {where}"]
    if source := facts.get("from"):
        lines.append(f"from {source['name'] if isinstance(source, dict) else source}")
    lines.append("first: " + " ".join(shown["first"]))
    for word, of_word in found.items():
        beginning = " ".join(f"{value:.4f}" for value in of_word["vector"][:5])
        known = f"id {of_word['id']}: {beginning} …" if of_word["id"] else "unknown"
        lines.append(f"{word}: {known}")
    return Result(shown, lines)


def check(folder: Folder) -> None:
    """Verify every byte of a folder by sha256."""
    from treeviews.pipeline.vectors.vector_folder import open_folder

    table = open_folder(folder, whole=True)
    print(f"{folder}: {len(table.words):,} words, all as they were written")
