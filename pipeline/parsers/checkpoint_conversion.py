"""Takes over parsers that supar or benepar saved: their weights and settings as a parser folder.

What a checkpoint holds may be inert, see `pipeline.parsers.torch_checkpoint_reader`: supar's
objects are read by their attributes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from benepar.integrations.nltk_plugin import guess_language
from torch import Tensor

from treeviews.pipeline.parsers.chart_model import (
    BENEPAR_PARTS,
    BENEPAR_SIZES,
    ChartModelConfig,
    ChartVocabularies,
    ConstituencyModel,
    build_chart_parser,
    save_constituency_model,
)
from treeviews.pipeline.parsers.dependency_model import (
    SPECIALS,
    SUPAR_SIZES,
    DependencyModel,
    DependencyVocabulary,
    NetworkSizes,
    build_network,
    save_dependency_model,
)
from treeviews.pipeline.parsers.parser_files import TRANSFORMER_CONSTITUENCY, TRANSFORMER_DEPENDENCY
from treeviews.pipeline.parsers.parser_folder import built_to_fit
from treeviews.pipeline.parsers.transformer_chart import TransformerChartDescription
from treeviews.pipeline.parsers.transformer_dependency import (
    NETWORK_ARGUMENTS,
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
_PRETRAINED_PROJECTION = "embed_proj."


@dataclass(frozen=True)
class _SuparParser:
    """What determines the answers of supar's parser."""

    args: dict[str, Any]
    tensors: dict[str, Tensor]
    fields: dict[str, Any]
    """Of the tokens, by name: ``words``, ``chars``, ``bert``."""
    relations: list[str]


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
    tensors = dict(content["state_dict"])
    if content["pretrained"] is not None:
        tensors[_PRETRAINED] = content["pretrained"]
    parser = _read(vars(content["args"]), tensors, content["transform"])
    if parser.args["encoder"] == "bert" or "bert" in parser.args["feat"]:
        return _convert_with_transformer(parser, folder, transformer)
    return save_dependency_model(_plain_model(parser), folder, halved=False)


def _read(args: Mapping[str, Any], tensors: Mapping[str, Tensor], transform: Any) -> _SuparParser:
    known = {name: args.get(name, default) for name, default in NETWORK_ARGUMENTS.items()}
    features = [known["feat"]] if isinstance(known["feat"], str) else list(known["feat"] or [])
    known["feat"] = [] if known["encoder"] == "bert" else features
    if known["encoder"] not in {"lstm", "bert"} or set(known["feat"]) - {"char", "bert"}:
        raise ValueError(
            f"encoder={known['encoder']!r}, feat={features!r} cannot be taken over: only "
            f"encoder='lstm' with feat of 'char' and 'bert', or encoder='bert', as tokens come "
            f"without tags, lemmas or other vectors"
        )
    return _SuparParser(
        args=known,
        tensors={name: tensor.detach().cpu() for name, tensor in tensors.items()},
        fields={field.name: field for field in transform.FORM if field is not None},
        relations=list(transform.DEPREL.vocab.itos),
    )


def _plain_model(parser: _SuparParser) -> DependencyModel:
    """Returns the model of a parser over words and characters."""
    args = parser.args
    if args["feat"] != ["char"]:
        raise ValueError(f"encoder='lstm' with feat={args['feat']!r} cannot be taken over")
    vocabulary = _vocabulary(parser)
    tensors, word_embedding = _with_one_word_table(parser)
    scale = args["n_arc_mlp"] ** args["scale"]
    theirs = {name: args[argument] for name, argument in SUPAR_SIZES.items()}
    sizes = NetworkSizes(**theirs).changed(word_embedding=word_embedding)
    network = build_network(sizes, vocabulary)
    tensors["arc_attn.weight"] = tensors["arc_attn.weight"] / scale
    load_strictly(network, tensors, what="the network of supar's arguments")
    return DependencyModel(network.eval(), sizes, vocabulary)


def _convert_with_transformer(parser: _SuparParser, folder: Path, transformer: str) -> str:
    args, alone = parser.args, parser.args["encoder"] == "bert"
    config, tokenizer = find_transformer(transformer, str(args["bert"]))
    field = parser.fields["words" if alone else "bert"]
    if differing := len(tokenizer.get_vocab().items() ^ dict(field.vocab).items()):
        raise ValueError(
            f"the tokenizer has another vocabulary than the parser was trained with: {differing:,} "
            f"entries differ; give --transformer the files of {args['bert']!r}"
        )
    tensors = parser.tensors
    network = described(args)
    vocabulary = None
    if not alone:
        tensors, width = _with_one_word_table(parser)
        network |= {"n_embed": width, "n_pretrained": width}
        network["n_words"] = len(tensors["word_embed.weight"])
        vocabulary = _vocabulary(parser)
    ids: Mapping[str, int] = field.vocab
    rules = SubwordRules(
        pad_id=ids[field.pad],
        unknown_id=ids[field.unk],
        root_id=ids[field.bos],
        max_per_token=field.fix_len,
        space_before=field.fn is not None,
    )
    description = TransformerDependencyDescription(
        network=network,
        subwords=rules,
        relations=tuple(parser.relations),
        vocabulary=vocabulary,
    )
    return write_transformer_parser(
        folder,
        TRANSFORMER_DEPENDENCY,
        description.to_dict(),
        tensors,
        transformer=config,
        tokenizer=tokenizer,
    )


def _vocabulary(parser: _SuparParser) -> DependencyVocabulary:
    words, characters = parser.fields["words"], parser.fields.get("chars")
    return DependencyVocabulary(
        words=tuple(words.vocab.itos),
        characters=tuple(SPECIALS if characters is None else characters.vocab.itos),
        relations=tuple(parser.relations),
        max_word_characters=1 if characters is None else characters.fix_len,
    )


def _with_one_word_table(parser: _SuparParser) -> tuple[dict[str, Tensor], int]:
    """Returns the weights with pretrained vectors, if any, inside the word table, and its width.

    Pretrained vectors as wide as the trained ones are added to them, others are projected and stand
    beside them; words known from the vectors alone share the trained vector of the unknown word.
    """
    tensors = dict(parser.tensors)
    width, pretrained_width = parser.args["n_embed"], parser.args["n_pretrained"]
    pretrained = tensors.pop(_PRETRAINED, None)
    projection = {
        name.removeprefix(_PRETRAINED_PROJECTION): tensors.pop(name)
        for name in list(tensors)
        if name.startswith(_PRETRAINED_PROJECTION)
    }
    if pretrained is None:
        return tensors, width
    trained = tensors["word_embed.weight"]
    rows = torch.arange(len(pretrained))
    rows[len(trained) :] = parser.args["unk_index"]
    if width == pretrained_width:
        tensors["word_embed.weight"] = trained[rows] + pretrained
        return tensors, width
    if not projection:
        raise ValueError(f"pretrained vectors are not {pretrained_width} wide, as supar needs them")
    projected = F.linear(pretrained, projection["weight"], projection["bias"])
    tensors["word_embed.weight"] = torch.cat((trained[rows], projected), -1)
    return tensors, width + pretrained_width


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
            folder,
            TRANSFORMER_CONSTITUENCY,
            description.to_dict(),
            tensors,
            transformer=configuration,
            tokenizer=tokenizer,
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
    network = built_to_fit(
        lambda: build_chart_parser(sizes, vocabularies), tensors, num_layers=sizes.num_layers
    )
    model = ConstituencyModel(sizes, vocabularies, network)
    return save_constituency_model(folder, model, halved=False)


def _entries(vocabulary: Mapping[str, int]) -> tuple[str, ...]:
    """Returns a vocabulary's entries by their ids.

    Raises:
        ValueError: the ids are not 0, 1, 2, ….
    """
    entries = sorted(vocabulary, key=lambda entry: vocabulary[entry])
    if [vocabulary[entry] for entry in entries] != list(range(len(entries))):
        raise ValueError("a vocabulary whose ids are not 0, 1, 2, … cannot be taken over")
    return tuple(entries)
