"""A trained model with an expanded vocabulary: the same weights over more words.

What the model looked up for a word is folded into one table (vectors, scale, weights of words), the
table is expanded (`models.words.vocabulary_expansion`), and the result is a model over given
vectors, which lie in its own folder.

Legend: V words of the trained model, id 0 included; F width of its tables side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from treeviews.models.model.card import CARD_FILE, licence_of, made_with, model_card
from treeviews.models.model.model_description import (
    EXPANDED,
    WEIGHTS_FILE,
    WORDS_FOLDER,
    ModelDescription,
    parser_entry,
    place_of,
    read_model_description,
    vectors_of_model,
)
from treeviews.models.model.model_folder import load_model, save_model
from treeviews.models.model.sentence_model import RemovedComponents, SentenceModel, build_model
from treeviews.models.words.vocabulary_expansion import (
    EXPANSION_VERSION,
    ExpansionConfig,
    TrainedWords,
    fit_expansion,
)
from treeviews.models.words.word_embedding import WordEmbedding
from treeviews.models.words.word_vectors import WordVectors, load_word_vectors
from treeviews.pipeline.base.atomic_files import write_text_atomically
from treeviews.pipeline.base.digest import sha256_of_file
from treeviews.pipeline.base.foreign_text import printable
from treeviews.pipeline.vectors.vector_folder import write_vector_blocks
from treeviews.pipeline.vectors.word_lists import WordList

_WORDS_AT_ONCE = 10_000
_EMBEDDINGS = "encoder.embeddings."


def expand_model(
    folder: Path,
    out: Path,
    config: ExpansionConfig,
    *,
    pretrained: Path | None = None,
    vectors_path: Path | None = None,
    on_progress: Callable[[float, str], None] = lambda share, status: None,
) -> dict[str, Any]:
    """Writes a trained model with more words as a folder of its own; returns what it says of them.

    Args:
        folder: of a model whose word vectors were trained.
        out: the folder to fill; ``model.json`` is written last.
        pretrained: word vectors of the further words; by default those whose first words the model
            was trained on, as in A.
        vectors_path: where these lie now, if not where the model says.

    Raises:
        FileNotFoundError: no model or vectors there.
        ValueError: its words were not trained, or cannot be expanded by these vectors.
    """
    description = read_model_description(folder)
    if description.config.word_vectors != "trained":
        raise ValueError(
            f"{folder}: its word vectors were given and not trained, so that there is no map to "
            "fit; a model with more words of that kind is one that is trained on more of them"
        )
    model = load_model(folder, vectors_path=vectors_path)
    if pretrained is None:
        source = vectors_of_model(folder, description, vectors_path, whole=True)
    else:
        source = load_word_vectors(pretrained, whole=True)
    expansion = fit_expansion(trained_words(model), source, config, on_progress)
    facts = {
        **expansion.facts,
        "expansion_version": EXPANSION_VERSION,
        "model": {
            "name": folder.resolve().name,
            "weights_sha256": sha256_of_file(folder / WEIGHTS_FILE),
        },
        "pretrained": {
            "name": "those that the model was made with" if pretrained is None else pretrained.name,
            "checksum": source.checksum,
        },
    }
    on_progress(0.5, f"mapping {expansion.facts['words']['mapped']:,} words")
    place = out / WORDS_FOLDER
    width = expansion.trained.table.shape[1]
    listed = WordList(expansion.words, None)
    write_vector_blocks(place, listed, expansion.blocks(), width, {EXPANDED: facts})
    on_progress(0.9, "writing the model")
    words = load_word_vectors(place)
    expanded = _model_of(model, words, tables=expansion.trained.num_tables)
    write_text_atomically(out / CARD_FILE, _card(folder, description, facts))
    save_model(out, expanded, _origin(folder, out, description, words, facts))
    return facts


def trained_words(model: SentenceModel) -> TrainedWords:
    """Returns a model's words, what it reads for each, and which of them training has moved.

    A row that stands where it started, bit by bit, was in no batch: the start is a function of
    configuration and seed.
    """
    start = build_model(model.config, model.vectors, model.config.seed)
    tables, moved = [], np.zeros(model.vectors.num_words, dtype=np.bool_)
    pairs = zip(model.encoder.embeddings, start.encoder.embeddings, strict=True)
    with torch.no_grad():
        for embedding, started in pairs:
            ids = torch.arange(model.vectors.num_words).split(_WORDS_AT_ONCE)
            tables.append(torch.cat([embedding(some) for some in ids]).float().numpy())
            before = cast(WordEmbedding, started).vectors
            moved |= cast(WordEmbedding, embedding).vectors.ne(before).any(dim=1).numpy()
    table = np.concatenate(tables, axis=1)[1:]
    return TrainedWords(model.vectors.words[1:], table, moved[1:], len(tables))


def _model_of(model: SentenceModel, words: WordVectors, *, tables: int) -> SentenceModel:
    """Returns a model over other words, with all other weights as they are.

    Its configuration is what it computes, over given vectors; how its words were trained stands
    beside it in ``model.json``.
    """
    config = model.config.changed(
        word_vectors="frozen",
        trained_words=None,
        word_weights="none",
        unit_words=False,
        vector_rms=None,
        embeddings="side_by_side" if tables > 1 else "shared",
    )
    expanded = build_model(config, words, config.seed)
    expanded.removed.extend(
        RemovedComponents(cast(RemovedComponents, each).directions) for each in model.removed
    )
    state = model.state_dict()
    kept = {name: value for name, value in state.items() if not name.startswith(_EMBEDDINGS)}
    missing, unexpected = cast(nn.Module, expanded).load_state_dict(kept, strict=False)
    assert not unexpected and all(name.startswith(_EMBEDDINGS) for name in missing), missing
    return expanded.eval()


def _origin(
    folder: Path,
    out: Path,
    description: ModelDescription,
    words: WordVectors,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """Returns what ``model.json`` says beside the configuration; see `save_model`."""
    parsers = {
        stage: parser_entry(stage, record.name, record.checksum, record.path, out)
        for stage, record in description.parsers.items()
    }
    corpus = {
        stage: next(iter(place_of(place, out).values()))
        for stage, place in description.corpus.items()
    }
    trained = {
        "config": description.config.to_dict(),
        "weights_sha256": facts["model"]["weights_sha256"],
    }
    return {
        "corpus": corpus,
        "parsers": parsers,
        "vectors": {
            "path": WORDS_FOLDER,
            "checksum": words.checksum,
            "rms": round(words.rms, 6),
        },
        "trained": trained,
        EXPANDED: dict(facts),
        **({"licence": description.licence} if description.licence else {}),
    }


def _card(folder: Path, description: ModelDescription, facts: Mapping[str, Any]) -> str:
    """Returns the card of the trained model, and what was added to it."""
    maker = folder / CARD_FILE
    if maker.is_file():
        card = maker.read_text(encoding="utf-8", errors="replace").rstrip() + "\n"
    else:
        made = description.made or made_with()
        licence = description.licence or licence_of(folder)
        name = folder.resolve().name
        card = model_card(name, description.config, made, licence=licence)
    return f"{card}\n## Expanded vocabulary\n\n{expansion_summary(facts)}"


def expansion_summary(facts: Mapping[str, Any]) -> str:
    """Returns what an expansion did and what it is worth, in words and a table of Markdown."""
    words, held_out = facts["words"], facts["held_out"]
    settings = facts["config"]
    rows = []
    for label, name in (
        ("the map", "map"),
        ("control: the mean of the trained vectors", "mean_embedding"),
        ("control: a map fitted to shuffled pairs", "shuffled_pairs"),
    ):
        r2, cosine = (
            ", ".join(f"{fit[figure]:.3f}" for fit in held_out[name]) for figure in ("r2", "cosine")
        )
        rows.append(f"| {label} | {r2} | {cosine} |")
    pairs = zip(held_out["map"], held_out["mean_embedding"], strict=True)
    is_no_better = any(ours["r2"] <= mean["r2"] for ours, mean in pairs)
    no_better = (
        "The map is no better there than the mean of the trained vectors: train longer, or give a "
        "larger ridge or other pretrained vectors.\n"
    )
    return "\n".join(
        [
            f"{words['trained']:,} words have the vectors that training gave them. "
            f"{words['mapped']:,} words have those that a linear map (ridge "
            f"{settings['ridge']:g}, {'with' if settings['intercept'] else 'without'} intercept) "
            f"makes of their pretrained vectors ({printable(facts['pretrained']['name'])}). It "
            f"was fitted to {words['shared']:,} words that have both (Kiros et al. 2015, "
            f"section 2.2). On {held_out['words']:,} of them, which a map of the others has not "
            "seen, one figure a table of the model:",
            "",
            "| vectors | R² | mean cosine |",
            "| --- | --- | --- |",
            *rows,
            "",
            *([no_better] if is_no_better else []),
        ]
    )
