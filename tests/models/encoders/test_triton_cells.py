"""The Triton kernels against plain PyTorch and against the recursions over single nodes.

Without CUDA the kernels run on CPU tensors through Triton's interpreter, and the compiler alone is
asked whether they make code for a GPU.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.support.repository import REPOSITORY
from tests.support.tree_oracles import (
    Sentence,
    batch_of,
    child_sum_state,
    gru_state,
    nary_state,
    random_sentence,
)
from treeviews.models.encoders.cell_steps import Cells, cells_for
from treeviews.models.encoders.sentence_encoder import build_encoder

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

pytest.importorskip("triton", reason="the kernels need Triton, which is for Linux alone")


@pytest.fixture(scope="module")
def fused() -> Cells:
    """Returns the Triton implementation; what runs its kernels is settled when it is imported."""
    with pytest.MonkeyPatch.context() as patch:
        if DEVICE == "cpu":
            patch.setenv("TRITON_INTERPRET", "1")
        cells: Cells = importlib.import_module(
            "treeviews.models.encoders.triton_cells"
        ).FusedCells()
    return cells


class Buffers:
    """Makes random arguments of width H, the same ones for the same seed, and keeps them."""

    def __init__(self, H: int, dtype: torch.dtype) -> None:
        self.H = H
        self.made: list[Tensor] = []
        self._dtype = dtype
        self._generator = torch.Generator().manual_seed(H)

    def __call__(self, rows: int, widths: int = 1) -> Tensor:
        return self._make(rows, widths, self._dtype)

    def total(self, rows: int) -> Tensor:
        """Returns what many terms are added to: float32 if the others are bfloat16."""
        wide = torch.float32 if self._dtype == torch.bfloat16 else self._dtype
        return self._make(rows, 1, wide)

    def _make(self, rows: int, widths: int, dtype: torch.dtype) -> Tensor:
        # All values are bfloat16's, so that every type starts from the same.
        values = torch.rand(rows, widths * self.H, generator=self._generator).mul(2).sub(0.7)
        self.made.append(values.bfloat16().to(DEVICE, dtype))
        return self.made[-1]

    def index(self, length: int, below: int) -> Tensor:
        """Returns rows in no order, some of them several times."""
        return torch.randint(below, (length,), generator=self._generator).to(DEVICE)


def _pair_forward(c: Any, m: Buffers, n: int) -> None:
    """n nodes in rows 5 to 5 + n of n + 7, their children in rows 0 to 5."""
    gates, left, right = m(n, 5), m(3, 5), m(6, 5)
    children = m.index(n, 3), m.index(n, 6), m.index(n, 5), m.index(n, 5)
    hidden, memory, squashed = (m(n + 7) for _ in range(3))
    nodes = (states[5 : 5 + n] for states in (hidden, memory, squashed))
    c.pair_forward(gates, left, right, *children, memory, *nodes)


def _pair_backward(c: Any, m: Buffers, n: int) -> None:
    gates, children = m(n, 5), (m.index(n, 5), m.index(n, 5))
    memory, squashed, grad_memory = m(n + 7), m(n), m.total(n + 7)
    nodes = grad_memory[5 : 5 + n]
    c.pair_backward(gates, *children, memory, squashed, m.total(n), nodes, grad_memory)


def _edges(make: Buffers, n: int) -> tuple[Tensor, Tensor]:
    return make.index(n, below=5), make.index(n, below=4)


Step = Callable[[Any, Buffers, int], None]
STEPS: dict[str, Step] = {
    "lstm_forward": lambda c, m, n: c.lstm_forward(m(n, 3), m.total(n), m(n), m(n), m(n)),
    "lstm_forward of leaves": lambda c, m, n: c.lstm_forward(m(n, 3), None, m(n), m(n), m(n)),
    "lstm_backward": lambda c, m, n: c.lstm_backward(m(n, 3), m(n), m.total(n), m.total(n)),
    "forget_forward": lambda c, m, n: c.forget_forward(
        m(5), m(4), m(5), *_edges(m, n), m(n), m.total(4)
    ),
    "forget_forward in order": lambda c, m, n: c.forget_forward(
        m(n), m(4), m(n), None, m.index(n, below=4), m(n), m.total(4)
    ),
    "forget_backward": lambda c, m, n: c.forget_backward(
        m(n), m(5), *_edges(m, n), m.total(4), m.total(5), m.total(4), m.total(5)
    ),
    "forget_backward in order": lambda c, m, n: c.forget_backward(
        m(n), m(n), None, m.index(n, below=4), m.total(4), m.total(n), m.total(4), m.total(n)
    ),
    "pair_forward": _pair_forward,
    "pair_backward": _pair_backward,
    "gru_forward": lambda c, m, n: c.gru_forward(m(n, 4), m(n), m(n)),
    "gru_backward": lambda c, m, n: c.gru_backward(m(n, 4), m(n), m(n)),
    "add_rows": lambda c, m, n: c.add_rows(
        m.total(4), m.index(n, below=4), m(5), m.index(n, below=5)
    ),
    "add_rows in order": lambda c, m, n: c.add_rows(m.total(4), m.index(n, below=4), m(n), None),
}


def results(step: Step, cells: Cells, H: int, n: int, dtype: torch.dtype) -> list[Tensor]:
    make = Buffers(H, dtype)
    step(cells, make, n)
    return [buffer.double() for buffer in make.made]


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize(
    ("dtype", "tolerance", "H"),
    [
        *((torch.float32, 2e-6, H) for H in (1, 37, 300)),
        (torch.float64, 1e-14, 37),
        (torch.bfloat16, 2e-2, 300),
    ],
)
def test_step_equals_plain_pytorch(
    fused: Cells, step: Step, dtype: torch.dtype, tolerance: float, H: int
) -> None:
    reference = torch.float64 if dtype == torch.float64 else torch.float32

    found = results(step, fused, H, 6, dtype)
    expected = results(step, Cells(), H, 6, reference)

    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


ORACLES: dict[str, Callable[[Any, Sentence, Tensor], Tensor]] = {
    "SEQ": gru_state,
    "DEP": child_sum_state,
    "CONST": nary_state,
}
E, V = 3, 9


def use_cells(patch: pytest.MonkeyPatch, cells: Cells) -> None:
    for name in ("child_sum_tree_lstm", "nary_tree_lstm", "recurrent_encoders"):
        patch.setattr(f"treeviews.models.encoders.{name}.cells_for", lambda tensor: cells)


@pytest.mark.parametrize("view", ORACLES)
@pytest.mark.parametrize("lengths", [[1], [2, 1], [9, 1, 4, 7, 1, 6]], ids=str)
def test_encoders_equal_the_recursion(
    view: str, lengths: list[int], fused: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_cells(monkeypatch, fused)
    # Whoever still asks for those in plain PyTorch fails.
    monkeypatch.setattr("treeviews.models.encoders.cell_steps.Cells", None)
    torch.manual_seed(0)
    sentences = [random_sentence(Random(n), n, num_words=V) for n in lengths]
    encoder = build_encoder(view, word_size=E, hidden_size=7).double().to(DEVICE)
    for parameter in encoder.parameters():
        nn.init.normal_(parameter)
    vectors = torch.randn(V, E, dtype=torch.float64, device=DEVICE).requires_grad_()
    batch = batch_of(sentences).to(DEVICE)

    found = encoder(batch, vectors[batch.word_ids])
    expected = torch.stack([ORACLES[view](encoder, s, vectors[s.words]) for s in sentences])

    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    inputs = [vectors, *encoder.parameters()]
    weights = torch.randn_like(expected)
    torch.testing.assert_close(
        gradients((found * weights).sum(), inputs),
        gradients((expected * weights).sum(), inputs),
        rtol=1e-12,
        atol=1e-11,
    )


def gradients(loss: Tensor, inputs: list[Tensor]) -> list[Tensor]:
    found = torch.autograd.grad(loss, inputs, allow_unused=True)
    return [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, found, strict=True)]


@pytest.mark.slow
def test_kernels_compile_for_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    environment.pop("TRITON_INTERPRET", None)
    result = subprocess.run(
        [sys.executable, "-m", "tests.support.kernel_compilation"],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        env=environment,
        check=False,
    )

    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2 * (9 + 4)  # types, kernels, optional arguments


def test_tensors_in_main_memory_get_plain_pytorch() -> None:
    assert type(cells_for(torch.zeros(1))) is Cells


def test_encoders_need_no_triton() -> None:
    code = (
        "import sys; sys.modules['triton'] = None; import torch, treeviews.models.encoders; "
        "from treeviews.models.encoders.cell_steps import cells_for; "
        "print(type(cells_for(torch.zeros(1))).__name__)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert result.stdout.strip() == "Cells"
