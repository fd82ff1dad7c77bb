"""Takes over a parser that supar itself built, trained or saved.

Command line::

    python -m pipeline.parsers.dependency.supar_conversion CHECKPOINT FOLDER --sha256 HEX

turns a checkpoint of supar into a parser folder, which from then on loads without running code.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from pipeline.digest import sha256_of_file
from pipeline.parsers.dependency.model import DependencyModel, save_dependency_model
from pipeline.parsers.dependency.network import BiaffineNetwork, NetworkSizes, build_network
from pipeline.parsers.dependency.vocabulary import DependencyVocabulary

_PRETRAINED = "pretrained.weight"


def from_supar(parser: Any) -> DependencyModel:
    """Returns a copy of a ``supar.BiaffineDependencyParser`` that gives the same answers.

    Pretrained word vectors as wide as the trained ones are added to them once, here, where supar
    adds the two at each prediction.

    Args:
        parser: in memory. Where it comes from a file, supar has already run that file's pickle:
            load only files that you trust.

    Raises:
        ValueError: another class of parser, or features other than words and characters.
    """
    args = parser.model.args
    if type(parser.model) is not BiaffineNetwork:
        raise ValueError(f"{type(parser.model).__name__} is no BiaffineDependencyModel")
    if args.encoder != "lstm" or list(args.feat) != ["char"] or args.get("scale", 0):
        raise ValueError(
            f"only encoder='lstm', feat=['char'], scale=0 can be taken over, this parser has "
            f"encoder={args.encoder!r}, feat={args.feat!r}, scale={args.get('scale', 0)!r}"
        )
    if args.n_embed != args.n_pretrained:
        raise ValueError(
            f"pretrained vectors of {args.n_pretrained} dimensions beside trained ones of "
            f"{args.n_embed} cannot be taken over; they must be equally wide"
        )
    words, _, characters = parser.transform.FORM[:3]
    vocabulary = DependencyVocabulary(
        words=list(words.vocab.itos),
        characters=list(characters.vocab.itos),
        relations=list(parser.transform.DEPREL.vocab.itos),
        max_word_characters=characters.fix_len,
    )
    sizes = NetworkSizes(
        word_embedding=args.n_embed,
        character_embedding=args.n_char_embed,
        character_hidden=args.n_char_hidden,
        character_features=args.n_feat_embed,
        lstm_hidden=args.n_lstm_hidden,
        lstm_layers=args.n_lstm_layers,
        arc_mlp=args.n_arc_mlp,
        relation_mlp=args.n_rel_mlp,
    )
    network = build_network(sizes, vocabulary)
    network.load_state_dict(_folded(parser.model.state_dict(), vocabulary.unknown_word_id))
    return DependencyModel(network.eval(), sizes, vocabulary)


def load_supar_checkpoint(path: Path, *, sha256: str) -> DependencyModel:
    """Returns the model of a file that ``supar.Parser.save`` wrote.

    Such a file is a pickle and holds bytecode: reading it runs whatever it contains, and under
    another Python version than it was saved with it may crash the interpreter.

    Args:
        path: the checkpoint.
        sha256: of the file that you trust; nothing is read from any other.

    Raises:
        ValueError: the file is missing or has another sha256, or ``from_supar`` refuses it.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file; name a checkpoint that supar saved")
    actual = sha256_of_file(path)
    if actual != sha256.lower():
        raise ValueError(f"{path}: sha256 {actual} differs from the given {sha256}; not read")
    # supar's own Parser.load leaves weights_only at its default, which torch >= 2.6 turned round.
    state = torch.load(path, map_location="cpu", weights_only=False)
    args = state["args"].update({"device": "cpu"})
    network = BiaffineNetwork(**args).load_pretrained(state["pretrained"])
    network.load_state_dict(state["state_dict"], strict=False)
    return from_supar(SimpleNamespace(model=network, transform=state["transform"]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Converts as the arguments say; returns the exit status, 2 for a user's mistake."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.parsers.dependency.supar_conversion", description=__doc__
    )
    parser.add_argument("checkpoint", type=Path, help="file that supar saved")
    parser.add_argument("folder", type=Path, help="parser folder to write")
    parser.add_argument("--sha256", required=True, help="of the checkpoint that you trust")
    options = parser.parse_args(arguments)
    try:
        model = load_supar_checkpoint(options.checkpoint, sha256=options.sha256)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(save_dependency_model(model, options.folder))
    return 0


def _folded(state: dict[str, Tensor], unknown_word_id: int) -> dict[str, Tensor]:
    """Returns the state with pretrained vectors, if any, added into the word embedding."""
    state = {name: tensor.detach().cpu() for name, tensor in state.items()}
    pretrained = state.pop(_PRETRAINED, None)
    if pretrained is not None:
        trained = state["word_embed.weight"]
        # Words known from the vectors alone share the trained vector of the unknown word.
        rows = torch.arange(len(pretrained))
        rows[len(trained) :] = unknown_word_id
        state["word_embed.weight"] = trained[rows] + pretrained
    return state


if __name__ == "__main__":
    raise SystemExit(main())
