"""Takes over parsers that supar or benepar saved: their weights and settings as a parser folder.

What a checkpoint holds may be inert, see `pipeline.parsers.torch_checkpoint_reader`: supar's
objects are read by their attributes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from benepar.integrations.nltk_plugin import guess_language
from torch import Tensor

from treeviews.pipeline.parsers.chart_model import (
    BENEPAR_PARTS,
    BENEPAR_SIZES,
    ChartDescription,
    ChartModelConfig,
    ChartVocabularies,
    build_chart_parser,
)
from treeviews.pipeline.parsers.dependency_model import (
    SUPAR_SIZES,
    DependencyDescription,
    DependencyModel,
    DependencyVocabulary,
    NetworkSizes,
    build_network,
)
from treeviews.pipeline.parsers.parser_folder import ParserModel, save_model
from treeviews.pipeline.parsers.transformer_chart import TransformerChartDescription
from treeviews.pipeline.parsers.transformer_dependency import (
    NETWORK_ARGUMENTS,
    TRANSFORMER_ENCODER,
    SubwordRules,
    TransformerDependencyDescription,
    described,
)
from treeviews.pipeline.parsers.transformer_folder import (
    find_transformer,
    load_strictly,
    write_transformer_parser,
)

BIAFFINE_DEPENDENCY = "biaffine-dependency"
"""supar's name of the one class of parser that can be taken over."""

_PRETRAINED = "pretrained.weight"


def convert_supar_checkpoint(content: Mapping[str, Any], folder: Path, *, transformer: str) -> str:
    """Writes the parser folder of a checkpoint and returns its checksum.

    Args:
        content: what ``supar.Parser.save`` wrote.
        transformer: a folder or hub's name with the configuration and tokenizer of the transformer
            inside; empty where the checkpoint says it rightly or has none.

    Raises:
        ValueError: a parser that cannot be taken over, or the transformer's files are missing.
    """
    if content["name"] != BIAFFINE_DEPENDENCY:
        raise ValueError(
            f"supar's {content['name']!r} parser: only {BIAFFINE_DEPENDENCY!r} can be taken over"
        )
    args, tensors = _arguments(vars(content["args"])), dict(content["state_dict"])
    if content["pretrained"] is not None:
        tensors[_PRETRAINED] = content["pretrained"]
    if args["encoder"] == "lstm":
        model = plain_model(args, tensors, content["transform"])
        return save_model(model, folder, halved=False)
    return _convert_with_transformer(args, tensors, content["transform"], folder, transformer)


def _arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of supar's network.

    Raises:
        ValueError: it reads what is not here.
    """
    args = {name: given.get(name, default) for name, default in NETWORK_ARGUMENTS.items()}
    features = [args["feat"]] if isinstance(args["feat"], str) else list(args["feat"] or [])
    args["feat"] = [] if args["encoder"] == TRANSFORMER_ENCODER else features
    if (args["encoder"], args["feat"]) not in (("lstm", ["char"]), (TRANSFORMER_ENCODER, [])):
        raise ValueError(
            f"encoder={args['encoder']!r}, feat={features!r} cannot be taken over: only "
            f"encoder='lstm' with feat='char', or encoder='bert', as tokens come without tags, "
            f"lemmas or other vectors"
        )
    return args


def _fields(transform: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Returns supar's fields of tokens by name (``words``, ``chars``), and the relations."""
    fields = {field.name: field for field in transform.FORM if field is not None}
    return fields, tuple(transform.DEPREL.vocab.itos)


def plain_model(
    args: Mapping[str, Any], tensors: Mapping[str, Tensor], transform: Any
) -> DependencyModel:
    """Returns the model of supar's parser over words and characters.

    Pretrained vectors, where there are any, are added to the trained ones; words that are known
    from them alone share the trained vector of the unknown word.
    """
    fields, relations = _fields(transform)
    vocabulary = DependencyVocabulary(
        words=tuple(fields["words"].vocab.itos),
        characters=tuple(fields["chars"].vocab.itos),
        relations=relations,
        max_word_characters=fields["chars"].fix_len,
    )
    weights = dict(tensors)
    if (pretrained := weights.pop(_PRETRAINED, None)) is not None:
        if args["n_pretrained"] != args["n_embed"]:
            raise ValueError("pretrained vectors of another width than the trained ones")
        rows = torch.arange(len(pretrained))
        rows[len(weights["word_embed.weight"]) :] = args["unk_index"]
        weights["word_embed.weight"] = weights["word_embed.weight"][rows] + pretrained
    sizes = NetworkSizes(**{name: args[argument] for name, argument in SUPAR_SIZES.items()})
    description = DependencyDescription(sizes=sizes, vocabulary=vocabulary)
    network = build_network(description)
    scale = args["n_arc_mlp"] ** args["scale"]
    weights["arc_attn.weight"] = weights["arc_attn.weight"] / scale
    load_strictly(network, weights, what="the network of supar's arguments")
    return ParserModel(network.eval(), description)


def _convert_with_transformer(
    args: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    transform: Any,
    folder: Path,
    transformer: str,
) -> str:
    config, tokenizer = find_transformer(transformer, str(args["bert"]))
    fields, relations = _fields(transform)
    field = fields["words"]
    if differing := len(tokenizer.get_vocab().items() ^ dict(field.vocab).items()):
        raise ValueError(
            f"the tokenizer has another vocabulary than the parser was trained with: {differing:,} "
            f"entries differ; give --transformer the files of {args['bert']!r}"
        )
    ids: Mapping[str, int] = field.vocab
    rules = SubwordRules(
        pad_id=ids[field.pad],
        unknown_id=ids[field.unk],
        root_id=ids[field.bos],
        max_per_token=field.fix_len,
        space_before=field.fn is not None,
    )
    description = TransformerDependencyDescription(
        network=described(args), subwords=rules, relations=relations
    )
    return write_transformer_parser(
        folder, description, tensors, transformer=config, tokenizer=tokenizer
    )


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
    hparams = {"force_root_constituent": True, **config["hparams"]}
    labels, tags = _entries(config["label_vocab"]), _entries(config["tag_vocab"])
    if hparams["use_pretrained"]:
        description = TransformerChartDescription(
            hparams=hparams,
            labels=labels,
            tags=tags,
            language=guess_language(config["label_vocab"]) or "",
        )
        configuration, tokenizer = find_transformer(transformer, hparams["pretrained_model"])
        return write_transformer_parser(
            folder, description, tensors, transformer=configuration, tokenizer=tokenizer
        )
    if lacking := [name for name in BENEPAR_PARTS if not hparams[name]]:
        raise ValueError(
            f"a benepar parser without a transformer cannot be taken over without "
            f"{', '.join(lacking)}"
        )
    sizes = ChartModelConfig(**{ours: hparams[theirs] for ours, theirs in BENEPAR_SIZES.items()})
    vocabularies = ChartVocabularies(
        characters=_entries(config["char_vocab"]), labels=labels, tags=tags
    )
    described_chart = ChartDescription(model=sizes, vocabularies=vocabularies)
    network = build_chart_parser(described_chart)
    load_strictly(network, tensors, what="the network of benepar's settings")
    return save_model(ParserModel(network, described_chart), folder, halved=False)


def _entries(vocabulary: Mapping[str, int]) -> tuple[str, ...]:
    """Returns a vocabulary's entries by their ids.

    Raises:
        ValueError: the ids are not 0, 1, 2, ….
    """
    entries = sorted(vocabulary, key=lambda entry: vocabulary[entry])
    if [vocabulary[entry] for entry in entries] != list(range(len(entries))):
        raise ValueError("a vocabulary whose ids are not 0, 1, 2, … cannot be taken over")
    return tuple(entries)
