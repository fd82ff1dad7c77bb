"""A narrower network that begins with the strongest units of a wider one.

A small parser that learns from a trained one need not begin from nothing: of each layer it takes
the strongest units (Li et al. 2017, "Pruning filters for efficient ConvNets", section 3.1). Differs
from them in what is measured: the square root of the summed squares of a unit's outgoing weights,
times the same of its incoming ones before a biaffine product, where they take the sum of a filter's
own weights. A training has to follow: the units that are gone did something.
Legend: U units of a layer, K of them kept, W weights of a unit.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from pipeline.base.bundled import parser_folder
from pipeline.parser_training.epochs.training import as_options
from pipeline.parsers.dependency.model import (
    DependencyModel,
    NetworkSizes,
    build_network,
    load_dependency_model,
    save_dependency_model,
)

NARROWED_SIZES = ("lstm_hidden", "arc_mlp", "relation_mlp")
"""Those that may become smaller."""

_CELLS = ("f_cells", "b_cells")
_SIDES = ("d", "h")
"""Of an arc: the dependent, the head. So go axes 1 and 2 of supar's biaffine weights, too."""


def narrowed(model: DependencyModel, sizes: NetworkSizes) -> DependencyModel:
    """Returns a parser of ``sizes`` that has the strongest units of another.

    Args:
        sizes: those of the model but for `NARROWED_SIZES`, none of which is larger.

    Raises:
        ValueError: they are not.
    """
    for name, own in model.sizes.to_dict().items():
        wanted = getattr(sizes, name)
        if wanted > own or (wanted != own and name not in NARROWED_SIZES):
            bound = "at most" if name in NARROWED_SIZES else "exactly"
            raise ValueError(f"{name} must be {bound} {own}, that of the parser, got {wanted}")
    state = {name: tensor.detach().clone() for name, tensor in model.network.state_dict().items()}
    for layer in range(sizes.lstm_layers):
        _narrow_layer(state, layer, sizes.lstm_hidden, is_last=layer + 1 == sizes.lstm_layers)
    for pair, kept in (("arc", sizes.arc_mlp), ("rel", sizes.relation_mlp)):
        _narrow_mlps(state, pair, kept)
    network = build_network(sizes, model.vocabulary)
    network.load_state_dict(state)
    return DependencyModel(network.eval(), sizes, model.vocabulary)


def _narrow_layer(state: dict[str, Tensor], layer: int, kept: int, *, is_last: bool) -> None:
    """Narrows both directions of an LSTM layer, and what reads them."""
    if is_last:
        readers = [f"{pair}_mlp_{side}.linear.weight" for pair in ("arc", "rel") for side in _SIDES]
    else:
        readers = [f"encoder.{cells}.{layer + 1}.weight_ih" for cells in _CELLS]
    read = torch.cat([state[reader] for reader in readers])
    width = read.shape[1] // 2
    columns = []
    for direction, cells in enumerate(_CELLS):
        cell = f"encoder.{cells}.{layer}"
        own = torch.cat(
            [read[:, direction * width : (direction + 1) * width], state[f"{cell}.weight_hh"]]
        )
        units = _strongest(own, kept)
        columns.append(direction * width + units)
        gates = torch.cat([gate * width + units for gate in range(4)])
        state[f"{cell}.weight_hh"] = state[f"{cell}.weight_hh"][gates][:, units]
        for name in ("weight_ih", "bias_ih", "bias_hh"):
            state[f"{cell}.{name}"] = state[f"{cell}.{name}"][gates]
    for reader in readers:
        state[reader] = state[reader][:, torch.cat(columns)]


def _narrow_mlps(state: dict[str, Tensor], pair: str, kept: int) -> None:
    """Narrows the layers before a biaffine product, and the product, which keeps its bias."""
    product = f"{pair}_attn.weight"
    for axis, side in enumerate(_SIDES, start=1):
        layer = f"{pair}_mlp_{side}.linear"
        num_units = len(state[f"{layer}.bias"])
        by_unit = state[product].transpose(axis, 2)[..., :num_units].flatten(0, 1)
        # A unit of a leaky ReLU is as strong as what goes in times what goes out.
        incoming = state[f"{layer}.weight"].norm(dim=1)
        units = _strongest(by_unit * incoming, kept)
        for name in ("weight", "bias"):
            state[f"{layer}.{name}"] = state[f"{layer}.{name}"][units]
        bias = torch.arange(num_units, state[product].shape[axis])
        state[product] = state[product].index_select(axis, torch.cat((units, bias)))


def _strongest(weights_WU: Tensor, kept: int) -> Tensor:
    """Returns int64 ``[K]``: the units with the largest weights, in their order."""
    order: Tensor = weights_WU.norm(dim=0).topk(kept).indices.sort().values
    return order


def write_narrower_parser(arguments: Sequence[str] | None = None) -> str:
    """Writes a parser folder as the command line's arguments say; returns how to go on.

    Raises:
        ValueError: no size is smaller, or one larger, than the parser's; the folder to write is
            not new; or the parser is damaged or of another kind.
    """
    options = _arguments(arguments)
    out: Path = options.out
    given = {n: v for n in NARROWED_SIZES if (v := getattr(options, n)) is not None}
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise ValueError(f"{out}: is there already; give a folder that is new or empty")
    model, _ = load_dependency_model(options.parser)
    sizes = replace(model.sizes, **given)
    if sizes == model.sizes:
        own = as_options({name: getattr(sizes, name) for name in NARROWED_SIZES})
        raise ValueError(f"{options.parser}: has {own}; give less of one of these")
    narrower = narrowed(model, sizes)
    checksum = save_dependency_model(narrower, out)
    kept, all_of_it = (sum(p.numel() for p in m.network.parameters()) for m in (narrower, model))
    return (
        f"{kept:,} of {all_of_it:,} weights, checksum {checksum}; train it before you use it:\n"
        f"--initial {out}"
    )


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m pipeline.parser_training narrower", description=__doc__
    )
    add = parser.add_argument
    add("out", type=Path, help="folder of the narrower parser")
    help_text = "the parser: folder, or name of one that ships"
    add("--parser", type=parser_folder, required=True, help=help_text)
    for name in NARROWED_SIZES:
        add("--" + name.replace("_", "-"), type=int, help="units that stay; default: all")
    return parser.parse_args(arguments)
