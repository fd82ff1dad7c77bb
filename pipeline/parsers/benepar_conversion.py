"""Takes over a chart parser that benepar saved: a training's file, or a released folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benepar.integrations.nltk_plugin import guess_language

from pipeline.parsers.adapters.folder_files import TRANSFORMER_CONSTITUENCY
from pipeline.parsers.checkpoints.transformer_folder import (
    find_transformer,
    load_strictly,
    write_transformer_parser,
)
from pipeline.parsers.constituency.model import (
    RESERVED_CHARACTERS,
    ChartModelConfig,
    ChartVocabularies,
    new_constituency_model,
    save_constituency_model,
)
from pipeline.parsers.constituency.transformer_adapter import (
    TRANSFORMER_PREFIX,
    TransformerChartDescription,
)

_SIZES = {
    "d_model": "d_model",
    "num_layers": "num_layers",
    "num_heads": "num_heads",
    "d_kv": "d_kv",
    "d_ff": "d_ff",
    "d_char": "d_char_emb",
    "d_label_hidden": "d_label_hidden",
    "d_tag_hidden": "d_tag_hidden",
    "max_length": "encoder_max_len",
}
"""Our name of a size -> benepar's."""


def convert_benepar_checkpoint(
    content: Mapping[str, Any], folder: Path, *, transformer: str
) -> str:
    """Writes the parser folder of a checkpoint and returns its checksum.

    Args:
        content: benepar's ``config``, of ``hparams`` and vocabularies, and ``state_dict``.
        transformer: a folder or hub's name with the configuration and tokenizer of the transformer
            inside; empty where the checkpoint says it rightly or has none.

    Raises:
        ValueError: a parser that cannot be taken over, or the transformer's files are missing.
    """
    config, tensors = content["config"], content["state_dict"]
    hparams = {"force_root_constituent": True} | dict(config["hparams"])
    labels, tags = _entries(config["label_vocab"]), _entries(config["tag_vocab"])
    if hparams["use_pretrained"]:
        description = TransformerChartDescription(
            hparams=hparams,
            labels=labels,
            tags=tags,
            language=guess_language(config["label_vocab"]) or "",
        )
        found, tokenizer = find_transformer(transformer, str(hparams["pretrained_model"]))
        return write_transformer_parser(
            folder,
            TRANSFORMER_CONSTITUENCY,
            asdict(description),
            tensors,
            prefix=TRANSFORMER_PREFIX,
            transformer=found,
            tokenizer=tokenizer,
        )
    needed = ("use_chars_lstm", "use_encoder", "predict_tags", "force_root_constituent")
    lacking = [name for name in needed if not hparams[name]]
    if lacking:
        raise ValueError(
            f"a benepar parser without a transformer cannot be taken over without "
            f"{', '.join(lacking)}"
        )
    characters = _entries(config["char_vocab"])
    if characters[: len(RESERVED_CHARACTERS)] != list(RESERVED_CHARACTERS):
        raise ValueError("the characters do not begin with benepar's five reserved ones")
    sizes = ChartModelConfig(**{ours: hparams[theirs] for ours, theirs in _SIZES.items()})
    model = new_constituency_model(sizes, ChartVocabularies(characters, labels, tags))
    load_strictly(model.network, tensors, what="benepar's chart model of these sizes")
    return save_constituency_model(folder, model, halved=False)


def _entries(vocabulary: Mapping[str, int]) -> list[str]:
    """Returns a vocabulary's entries by their ids.

    Raises:
        ValueError: the ids are not 0, 1, 2, ….
    """
    entries = sorted(vocabulary, key=lambda entry: vocabulary[entry])
    if [vocabulary[entry] for entry in entries] != list(range(len(entries))):
        raise ValueError("a vocabulary whose ids are not 0, 1, 2, … cannot be taken over")
    return entries
