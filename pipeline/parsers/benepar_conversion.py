"""Takes over a chart parser that benepar saved: a training's file, or a released folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benepar.integrations.nltk_plugin import guess_language

from pipeline.base.settings import Settings
from pipeline.parsers.adapters.fitting import built_to_fit
from pipeline.parsers.adapters.folder_files import TRANSFORMER_CONSTITUENCY
from pipeline.parsers.checkpoints.transformer_folder import (
    find_transformer,
    write_transformer_parser,
)
from pipeline.parsers.constituency.model import (
    RESERVED_CHARACTERS,
    ChartModelConfig,
    ChartVocabularies,
    ConstituencyModel,
    build_chart_parser,
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


_REMEDY = "name a checkpoint that benepar saved whole"


class _BeneparConfig(Settings):
    """What benepar keeps beside a parser's weights."""

    called: ClassVar[str] = "entry"

    hparams: Mapping[str, Any]
    label_vocab: Mapping[str, int]
    tag_vocab: Mapping[str, int]
    char_vocab: Mapping[str, int] | None = None


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
    config = _BeneparConfig.from_json(content["config"], "config", remedy=_REMEDY)
    tensors = content["state_dict"]
    hparams = {"force_root_constituent": True, **config.hparams}
    labels, tags = _entries(config.label_vocab), _entries(config.tag_vocab)
    _check_hparams(hparams, ["use_pretrained"])
    if hparams["use_pretrained"]:
        _check_hparams(hparams, ["pretrained_model"])
        description = TransformerChartDescription(
            hparams=hparams,
            labels=tuple(labels),
            tags=tuple(tags),
            language=guess_language(dict(config.label_vocab)) or "",
        )
        found, tokenizer = find_transformer(transformer, str(hparams["pretrained_model"]))
        return write_transformer_parser(
            folder,
            TRANSFORMER_CONSTITUENCY,
            description.to_dict(),
            tensors,
            prefix=TRANSFORMER_PREFIX,
            transformer=found,
            tokenizer=tokenizer,
        )
    needed = ("use_chars_lstm", "use_encoder", "predict_tags", "force_root_constituent")
    _check_hparams(hparams, [*needed, *_SIZES.values()])
    lacking = [name for name in needed if not hparams[name]]
    if lacking:
        raise ValueError(
            f"a benepar parser without a transformer cannot be taken over without "
            f"{', '.join(lacking)}"
        )
    characters = _entries(config.char_vocab or {})
    if characters[: len(RESERVED_CHARACTERS)] != list(RESERVED_CHARACTERS):
        raise ValueError("the characters do not begin with benepar's five reserved ones")
    sizes = ChartModelConfig(**{ours: hparams[theirs] for ours, theirs in _SIZES.items()})
    vocabularies = ChartVocabularies(characters, labels, tags)
    network = built_to_fit(
        lambda: build_chart_parser(sizes, vocabularies), tensors, num_layers=sizes.num_layers
    )
    model = ConstituencyModel(sizes, vocabularies, network)
    return save_constituency_model(folder, model, halved=False)


def _check_hparams(hparams: Mapping[str, Any], needed: Sequence[str]) -> None:
    if missing := [name for name in needed if name not in hparams]:
        raise ValueError(f"its hparams lack {', '.join(missing)}; {_REMEDY}")


def _entries(vocabulary: Mapping[str, int]) -> list[str]:
    """Returns a vocabulary's entries by their ids.

    Raises:
        ValueError: the ids are not 0, 1, 2, ….
    """
    entries = sorted(vocabulary, key=lambda entry: vocabulary[entry])
    if [vocabulary[entry] for entry in entries] != list(range(len(entries))):
        raise ValueError("a vocabulary whose ids are not 0, 1, 2, … cannot be taken over")
    return entries
