"""The transformer inside a parser: its configuration, tokenizer and weights as one folder.

A checkpoint of supar or benepar holds the transformer's weights but only names its configuration
and tokenizer, which a hub has. Beside a converted parser all three stand as transformers'
``save_pretrained`` writes them, so the parser loads without a hub.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, AutoTokenizer, PreTrainedTokenizerBase

from treeviews.pipeline.base.inside import inside
from treeviews.pipeline.base.json_files import read_object
from treeviews.pipeline.base.refusal import shortened
from treeviews.pipeline.parsers.parser_files import TRANSFORMER_FOLDER
from treeviews.pipeline.parsers.parser_folder import (
    DescriptionT,
    NetworkDescription,
    ParserModel,
    read_parser_folder,
    write_parser_folder,
)

MAX_SUBWORDS = 2048
"""Of a sentence where the transformer itself knows no limit; bounds the memory that it takes."""

_CONFIG, _TOKENIZER_CONFIG = "config.json", "tokenizer_config.json"
_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_PICKLES = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pkl", ".h5", ".msgpack"})

_OF_TRANSFORMER = re.compile(r"(encoder\.bert|pretrained_model)\.")
"""How the names of a transformer's weights begin in supar's network and in benepar's."""
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
        return _pretrained(source)
    except Exception as error:  # hub, network, files or libraries: transformers raises them all
        raise ValueError(
            f"the checkpoint needs the configuration and tokenizer of the transformer {source!r}, "
            f"and neither a folder nor a hub has both ({reason_of(error)}); save "
            f"them where the hub can be reached, with AutoTokenizer and AutoConfig"
            f".from_pretrained({named!r}).save_pretrained(FOLDER), and give --transformer FOLDER"
        ) from error


def _pretrained(source: str | Path) -> tuple[Any, PreTrainedTokenizerBase]:
    kinds = AutoConfig, AutoTokenizer
    config, tokenizer = (kind.from_pretrained(source, trust_remote_code=False) for kind in kinds)
    return config, tokenizer


def write_transformer_parser(
    folder: Path,
    description: NetworkDescription,
    tensors: Mapping[str, Tensor],
    *,
    transformer: Any,
    tokenizer: PreTrainedTokenizerBase,
) -> str:
    """Writes the folder of a parser with a transformer inside and returns its checksum.

    Args:
        tensors: of the whole parser, by the library's names.
        transformer: its configuration.

    Raises:
        ValueError: the transformer's weights do not fit its configuration.
    """
    inside = {
        name[match.end() :]: tensor
        for name, tensor in tensors.items()
        if (match := _OF_TRANSFORMER.match(name))
    }
    outside = {n: t for n, t in tensors.items() if not _OF_TRANSFORMER.match(n)}
    # Not in the configuration's precision, which may be less than that of the weights.
    model = AutoModel.from_config(transformer, torch_dtype=torch.float32)
    load_strictly(model, inside, what=f"a {type(model).__name__} of the given configuration")
    subfolder = folder / TRANSFORMER_FOLDER
    subfolder.mkdir(parents=True, exist_ok=True)
    (subfolder / _WEIGHTS).touch()
    mode = (subfolder / _WEIGHTS).stat().st_mode
    model.save_pretrained(subfolder)
    for file in subfolder.glob("*.safetensors"):  # which safetensors makes for their owner alone
        file.chmod(mode)
    tokenizer.save_pretrained(str(subfolder))
    return write_parser_folder(
        folder, description, outside, halved=False, subfolder=TRANSFORMER_FOLDER
    )


def read_transformer_parser(
    folder: Path,
    described: type[DescriptionT],
    build: Callable[[DescriptionT, Path], nn.Module],
) -> ParserModel[DescriptionT]:
    """Returns the model of a parser with a transformer inside.

    Asks no hub, and leaves torch's global generator as it was.

    Args:
        described: the kind of parser that is wanted.
        build: gives, of a description and the transformer's folder, a network whose transformer has
            its weights, while the others may be random.

    Raises:
        ValueError: a file is missing or damaged, holds another kind of parser, or weights and
            description do not fit together; names the file and the remedy.
    """
    description, tensors, checksum = read_parser_folder(folder, described)
    _, tokenizer = read_transformer(folder / TRANSFORMER_FOLDER)
    try:
        with torch.random.fork_rng(devices=[]):
            network = build(description, folder / TRANSFORMER_FOLDER)
        state = network.state_dict()
        own = {name: tensor for name, tensor in state.items() if _OF_TRANSFORMER.match(name)}
        load_strictly(network, {**own, **tensors}, what="the model of parser.json")
    except MemoryError:
        raise
    except Exception as error:  # of supar, benepar and transformers, for whatever the files say
        raise ValueError(
            f"{folder}: its files do not fit together ({reason_of(error)}); restore them together "
            f"or convert the checkpoint again"
        ) from error
    return ParserModel(network.eval(), description, checksum, tokenizer)


def reason_of(error: Exception) -> str:
    """Returns what kind of error a library raised, and the first line of what it said."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"


def read_transformer(
    folder: Path,
    *,
    remedy: str = "restore the parser's files together or convert the checkpoint again",
) -> tuple[Any, PreTrainedTokenizerBase]:
    """Returns the configuration and the tokenizer of a transformer's folder; checks it before.

    ``from_pretrained`` takes files from wherever their names lead, and libraries call it without
    saying that no code of the folder is to be run.

    Args:
        remedy: what a user does about a folder that is refused.

    Raises:
        ValueError: it names code of its own or a file outside, or has its weights in a pickle, or
            none. Names the file and the remedy.
    """
    for file in sorted(folder.rglob("*")):
        if file.suffix in _PICKLES:
            raise ValueError(f"{file}: a pickle, and weights are read from safetensors; {remedy}")
    if not any((folder / name).is_file() for name in (_WEIGHTS, _INDEX)):
        raise ValueError(f"{folder}: no transformer that can be read: no {_WEIGHTS}; {remedy}")
    for file in (folder / _CONFIG, folder / _TOKENIZER_CONFIG, folder / _INDEX):
        said = read_object(file, (), remedy=remedy) if file.is_file() else {}
        if "auto_map" in said:
            raise ValueError(f"{file}: names code of its own to be run (auto_map); {remedy}")
        files = said.get("weight_map")
        names = list(files.values()) if isinstance(files, dict) else []
        for name in [*names, *(value for key, value in said.items() if key.endswith("_file"))]:
            if name is not None:
                inside(folder, name)
    try:
        return _pretrained(folder)
    except Exception as error:  # of transformers, for whatever its files may say
        raise ValueError(
            f"{folder}: no transformer that can be read ({reason_of(error)}); {remedy}"
        ) from error


def load_strictly(module: nn.Module, tensors: Mapping[str, Tensor], *, what: str) -> None:
    """Gives a module its weights: each of them, and no other but what transformers dropped.

    Raises:
        ValueError: a weight is missing, too many, or of another shape; names some.
    """
    known = module.state_dict()
    kept = {n: t for n, t in tensors.items() if n in known or not _FORMER_BUFFERS.search(n)}
    try:
        module.load_state_dict(kept)
    except RuntimeError as error:
        raise ValueError(f"the weights do not fit {what}: {shortened(str(error))}") from None


def subword_limit(model: nn.Module, tokenizer: PreTrainedTokenizerBase) -> int:
    """Returns how many subwords, special ones included, a transformer takes at once."""
    limit = min(int(tokenizer.model_max_length), MAX_SUBWORDS)
    for name, module in model.named_modules():
        if name.endswith(("position_embeddings", "wpe")) and isinstance(module, nn.Embedding):
            # RoBERTa counts its positions from behind the padding's index.
            first = 0 if module.padding_idx is None else module.padding_idx + 1
            limit = min(limit, module.num_embeddings - first)
    return limit
