"""A narrower network that begins with the strongest units of a wider one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from pipeline.parser_training.__main__ import main
from pipeline.parser_training.dependency.narrower import narrowed
from pipeline.parsers.dependency.model import (
    DependencyModel,
    NetworkSizes,
    load_dependency_model,
    save_dependency_model,
)
from pipeline.parsers.dependency.supar_adapter import SuparDependencyParser
from pipeline.trees.parses import DependencyParse
from tests.support import random_dependency_parsers
from tests.support.dependency_examples import treebank, write_conllu

SIZES = replace(random_dependency_parsers.SIZES, lstm_layers=2)
SENTENCES = [sentence.tokens for sentence in treebank()]


def random_model(seed: int = 1, sizes: NetworkSizes = SIZES) -> DependencyModel:
    return random_dependency_parsers.random_model(seed, sizes=sizes)


def widened(model: DependencyModel, *, lstm: int, arc: int, relation: int) -> DependencyModel:
    """Returns the same parser with units, here and there, that nothing reads."""
    own = model.sizes
    sizes = replace(
        own,
        lstm_hidden=own.lstm_hidden + lstm,
        arc_mlp=own.arc_mlp + arc,
        relation_mlp=own.relation_mlp + relation,
    )
    wide = random_model(seed=2, sizes=sizes)
    state, narrow = wide.network.state_dict(), model.network.state_dict()

    def places(num_units: int, added: int) -> torch.Tensor:
        return torch.randperm(num_units + added)[:num_units].sort().values

    for name in state:
        if not name.startswith(("encoder.", "arc_", "rel_")):
            state[name] = narrow[name]
    before = torch.arange(own.word_embedding + own.character_features)
    for layer in range(own.lstm_layers):
        ahead = []
        for direction, cells in enumerate(("f_cells", "b_cells")):
            units = places(own.lstm_hidden, lstm)
            gates = torch.cat([gate * sizes.lstm_hidden + units for gate in range(4)])
            cell = f"encoder.{cells}.{layer}"
            for bias in ("bias_ih", "bias_hh"):
                state[f"{cell}.{bias}"][gates] = narrow[f"{cell}.{bias}"]
            for matrix, columns in (("weight_ih", before), ("weight_hh", units)):
                unread = torch.ones(state[f"{cell}.{matrix}"].shape[1], dtype=torch.bool)
                unread[columns] = False
                state[f"{cell}.{matrix}"][:, unread] = 0
                state[f"{cell}.{matrix}"][gates[:, None], columns] = narrow[f"{cell}.{matrix}"]
            ahead.append(direction * sizes.lstm_hidden + units)
        before = torch.cat(ahead)
    for pair, num_units, added in (("arc", own.arc_mlp, arc), ("rel", own.relation_mlp, relation)):
        rows = []
        for side in ("d", "h"):
            units = places(num_units, added)
            weight, bias = (f"{pair}_mlp_{side}.linear.{name}" for name in ("weight", "bias"))
            state[weight][:] = 0.5
            state[weight][units] = 0
            state[weight][units[:, None], before] = narrow[weight]
            state[bias][units] = narrow[bias]
            rows.append(units)
        product = state[f"{pair}_attn.weight"]
        dependents, heads = (
            torch.cat((units, torch.arange(num_units + added, size)))
            for units, size in zip(rows, product.shape[1:], strict=True)
        )
        product[:] = 0
        product[:, dependents[:, None], heads] = narrow[f"{pair}_attn.weight"]
    wide.network.load_state_dict(state)
    return wide


def test_units_that_nothing_reads_are_those_that_go() -> None:
    model = random_model()
    wide = widened(model, lstm=3, arc=2, relation=4)
    assert wide.network.state_dict()["encoder.f_cells.0.weight_hh"].shape == (44, 11)
    trees = SuparDependencyParser(model, name="x").parse(SENTENCES)
    assert SuparDependencyParser(wide, name="x").parse(SENTENCES) == trees
    again = narrowed(wide, SIZES)
    for name, tensor in model.network.state_dict().items():
        assert torch.equal(again.network.state_dict()[name], tensor), name


def test_equal_sizes_leave_the_weights_alone() -> None:
    model = random_model()
    unchanged = narrowed(model, SIZES).network.state_dict()
    assert all(torch.equal(unchanged[n], t) for n, t in model.network.state_dict().items())


@pytest.mark.parametrize(
    ("name", "weight", "shape"),
    [
        ("lstm_hidden", "encoder.b_cells.1.weight_ih", (12, 6)),
        ("arc_mlp", "arc_attn.weight", (1, 4, 3)),
        ("relation_mlp", "rel_mlp_h.linear.weight", (3, 16)),
    ],
)
def test_one_size_alone_may_become_smaller(name: str, weight: str, shape: tuple[int, ...]) -> None:
    narrow = narrowed(random_model(), replace(SIZES, **{name: 3}))
    assert narrow.network.state_dict()[weight].shape == shape
    trees = SuparDependencyParser(narrow, name="x").parse(SENTENCES)
    assert all(isinstance(tree, DependencyParse) for tree in trees)


def kept_rows(model: DependencyModel, sizes: NetworkSizes, weight: str) -> list[float]:
    """Returns the first value of each row of a weight that is left."""
    rows: list[float] = narrowed(model, sizes).network.state_dict()[weight][:, 0].tolist()
    return rows


def test_units_that_their_own_layer_alone_reads_stay() -> None:
    model = random_model()
    state = model.network.state_dict()
    for cells in ("f_cells", "b_cells"):
        state[f"encoder.{cells}.1.weight_ih"][:] = 0
        state[f"encoder.{cells}.0.weight_hh"][:] = 0
        state[f"encoder.{cells}.0.weight_hh"][:, [2, 5, 6]] = 0.1
    own = state["encoder.f_cells.0.weight_ih"][:8, 0]
    left = kept_rows(model, replace(SIZES, lstm_hidden=3), "encoder.f_cells.0.weight_ih")
    assert left[:3] == own[[2, 5, 6]].tolist()


def test_hidden_units_are_told_apart_by_what_goes_in_too() -> None:
    model = random_model()
    state = model.network.state_dict()
    state["arc_attn.weight"][:] = 1
    state["arc_mlp_d.linear.weight"][:] = 0.1
    state["arc_mlp_d.linear.weight"][[1, 4]] = torch.tensor([[0.2], [0.3]])
    left = kept_rows(model, replace(SIZES, arc_mlp=2), "arc_mlp_d.linear.weight")
    assert left == pytest.approx([0.2, 0.3])
    state["arc_attn.weight"][:, 6] = 100  # one that is read more
    left = kept_rows(model, replace(SIZES, arc_mlp=2), "arc_mlp_d.linear.weight")
    assert left == pytest.approx([0.3, 0.1])


def test_the_command_writes_a_parser_that_a_training_goes_on_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wide, narrow = tmp_path / "wide", tmp_path / "narrow"
    save_dependency_model(random_model(), wide)
    assert main(["narrower", str(narrow), "--parser", str(wide), "--lstm-hidden", "4"]) == 0
    model, checksum = load_dependency_model(narrow)
    assert model.sizes == replace(SIZES, lstm_hidden=4)
    told = capsys.readouterr().out
    assert f"checksum {checksum}; train it before you use it" in told
    options = told.splitlines()[1].split()
    assert options == ["--initial", str(narrow)]
    file = str(write_conllu(treebank(), tmp_path / "t.conllu"))
    training = [str(tmp_path / "out"), *options, "--train", file, "--dev", file]
    training += ["--threads", str(torch.get_num_threads()), "--num-epochs", "1"]
    assert main(["dependency", *training]) == 0


@pytest.mark.parametrize(
    ("option", "told"),
    [
        (["--lstm-hidden", "9"], "lstm_hidden must be at most 8, that of the parser, got 9"),
        (["--arc-mlp", "0"], "arc_mlp must be at least 1, got 0"),
        ([], "wide: has --lstm-hidden 8 --arc-mlp 7 --relation-mlp 5; give less of one of these"),
        (["--arc-mlp", "7"], "give less of one of these"),
        (["--parser", "constituency"], "a parser of kind 'benepar-chart'"),
        (["--parser", "none"], "none/parser.json: no such file"),
        (["--parser", "dependncy"], "the training tasks write them; did you mean dependency?"),
    ],
)
def test_mistakes_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str], told: str
) -> None:
    save_dependency_model(random_model(), tmp_path / "wide")
    arguments = [str(tmp_path / "out"), "--parser", str(tmp_path / "wide")]
    assert main(["narrower", *arguments, *option]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_is_there_is_never_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_dependency_model(random_model(), tmp_path / "wide")
    arguments = [str(tmp_path / "wide"), "--parser", str(tmp_path / "wide"), "--arc-mlp", "3"]
    assert main(["narrower", *arguments]) == 2
    assert "wide: is there already; give a folder that is new or empty" in capsys.readouterr().err
    assert load_dependency_model(tmp_path / "wide")[0].sizes == SIZES


def test_other_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="lstm_layers must be exactly 2, that of the parser"):
        narrowed(random_model(), replace(SIZES, lstm_layers=1))
