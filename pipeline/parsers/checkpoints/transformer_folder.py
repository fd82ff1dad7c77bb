"""The transformer inside a parser: its configuration, tokenizer and weights as one folder.

A checkpoint of supar or benepar holds the transformer's weights but only names its configuration
and tokenizer, which a hub has. Beside a converted parser all three stand as transformers'
``save_pretrained`` writes them, so the parser loads without a hub.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedTokenizerBase

from pipeline.parsers.kinds import TRANSFORMER_FOLDER
from pipeline.parsers.parser_folder import write_parser_folder

MAX_SUBWORDS = 2048
"""Of a sentence where the transformer itself knows no limit; bounds the memory that it takes."""

_FORMER_BUFFERS = re.compile(
    r"(position_ids|attn\.(masked_)?bias|EncDecAttention\.relative_attention_bias\.weight)$"
)
"""What transformers stored once and now derives or never used."""


def find_transformer(given: str, named: str) -> tuple[Any, PreTrainedTokenizerBase]:
    """Returns the configuration and the tokenizer of a checkpoint's transformer.

    Args:
        given: where the user says they are, a folder or a hub's name; or empty.
        named: where the checkpoint says so, which may be a path of another machine.

    Raises:
        ValueError: neither is to be had; names the remedy.
    """
    source = given or named
    try:
        return AutoConfig.from_pretrained(source), AutoTokenizer.from_pretrained(source)
    except Exception as error:  # hub, network, files or libraries: transformers raises them all
        reason = str(error).partition("\n")[0][:200]
        raise ValueError(
            f"the checkpoint needs the configuration and tokenizer of the transformer {source!r}, "
            f"and neither a folder nor a hub has both ({type(error).__name__}: {reason}); save "
            f"them where the hub can be reached, with AutoTokenizer and AutoConfig"
            f".from_pretrained({named!r}).save_pretrained(FOLDER), and give --transformer FOLDER"
        ) from error


def write_transformer_parser(
    folder: Path,
    kind: str,
    description: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    *,
    prefix: str,
    transformer: Any,
    tokenizer: PreTrainedTokenizerBase,
) -> str:
    """Writes the folder of a parser with a transformer inside and returns its checksum.

    Args:
        kind: what can read it.
        description: JSON-serialisable; everything but weights and transformer.
        tensors: of the whole parser, by the library's names.
        prefix: how the names of the transformer's weights begin.
        transformer: its configuration.

    Raises:
        ValueError: the transformer's weights do not fit its configuration.
    """
    inside = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    outside = {n: t for n, t in tensors.items() if not n.startswith(prefix)}
    save_transformer(folder / TRANSFORMER_FOLDER, transformer, tokenizer, inside)
    return write_parser_folder(
        folder, kind, description, outside, halved=False, subfolder=TRANSFORMER_FOLDER
    )


def save_transformer(
    folder: Path, config: Any, tokenizer: PreTrainedTokenizerBase, tensors: Mapping[str, Tensor]
) -> None:
    """Writes a transformer with these weights.

    Args:
        tensors: by transformers' own names.

    Raises:
        ValueError: the weights are not those of a transformer of this configuration.
    """
    # Not in the configuration's precision, which may be less than that of the weights.
    model = AutoModel.from_config(config, torch_dtype=torch.float32)
    load_strictly(model, tensors, what=f"a {type(model).__name__} of the given configuration")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(str(folder))


def load_strictly(module: nn.Module, tensors: Mapping[str, Tensor], *, what: str) -> None:
    """Gives a module its weights: each of them, and no other but what transformers dropped.

    Raises:
        ValueError: a weight is missing, too many, or of another shape; names some.
    """
    try:
        missing, unexpected = module.load_state_dict(dict(tensors), strict=False)
    except RuntimeError as error:
        raise ValueError(f"the weights do not fit {what}: {error}") from error
    unexpected = [name for name in unexpected if not _FORMER_BUFFERS.search(name)]
    if missing or unexpected:
        raise ValueError(
            f"the weights do not fit {what}: {_some(missing)} missing, {_some(unexpected)} too many"
        )


def subword_limit(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> int:
    """Returns how many subwords, special ones included, a transformer takes at once."""
    limit = min(int(tokenizer.model_max_length), MAX_SUBWORDS)
    for name, module in model.named_modules():
        if name.endswith(("position_embeddings", "wpe")) and isinstance(module, nn.Embedding):
            # RoBERTa counts its positions from behind the padding's index.
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            limit = min(limit, module.num_embeddings - first)
    return limit


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:3])
    return f"{len(names)} ({shown}{', …' if len(names) > 3 else ''})" if names else "none"
