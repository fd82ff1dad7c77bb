"""DEP by the package pytorch-tree-lstm 0.1.3 (module ``treelstm``) from PyPI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.references.base import Reference, rows_of
from treeviews.models.corpus.sentence_block import SentenceBlock


def treelstm_module() -> Any:
    """Returns the package's module.

    Raises:
        ModuleNotFoundError: it is not installed; says how to install it.
    """
    try:
        import treelstm
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "the package pytorch-tree-lstm is what DEP is compared with; install it with "
            "`pip install pytorch-tree-lstm==0.1.3` (the extra `bench`)"
        ) from error
    return treelstm


class PyTorchTreeLSTM(Reference):
    """The package's Child-Sum Tree-LSTM over the batch as one forest, its orders made once."""

    label = "pytorch-tree-lstm 0.1.3"

    def __init__(self, block: SentenceBlock, *, word_size: int, hidden_size: int) -> None:
        """Raises:
        ModuleNotFoundError: the package is not installed; see `treelstm_module`.
        """
        treelstm = treelstm_module()
        super().__init__(block)
        self.tree_lstm = treelstm.TreeLSTM(word_size, hidden_size)
        assert block.heads is not None
        heads = block.heads.astype(np.int64)
        starts = np.repeat(block.offsets[:-1], block.lengths)
        children = np.flatnonzero(heads)
        edges = np.stack([(starts + heads - 1)[children], children], axis=1)
        # The package adds up runs of equal parents and writes them to the level's nodes in
        # ascending order, so edges in any other order give wrong states without a word.
        edges = edges[np.argsort(edges[:, 0], kind="stable")]
        orders = treelstm.calculate_evaluation_orders(edges, len(heads))
        self._nodes, self._edges = (torch.from_numpy(order) for order in orders)
        self._adjacency = torch.from_numpy(edges)
        self._roots = torch.from_numpy(np.flatnonzero(heads == 0))

    def forward(self, word_vectors: Tensor) -> Tensor:
        """Returns the roots' states, [B, H]."""
        features = word_vectors.index_select(0, self.word_of_token)
        hidden, _ = self.tree_lstm(features, self._nodes, self._adjacency, self._edges)
        roots: Tensor = hidden[self._roots]
        return roots

    def named_as_here(self, encoder: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns our weights under the package's names."""
        hidden_size = encoder["cell.child.weight"].shape[0]
        gates = rows_of("cell.word", encoder, slice(0, 3 * hidden_size))
        forget = rows_of("cell.word", encoder, slice(3 * hidden_size, None))
        return {
            "tree_lstm.W_iou.weight": gates["weight"],
            "tree_lstm.W_iou.bias": gates["bias"],
            "tree_lstm.W_f.weight": forget["weight"],
            "tree_lstm.W_f.bias": forget["bias"],
            "tree_lstm.U_iou.weight": encoder["cell.child_sum.weight"],
            "tree_lstm.U_f.weight": encoder["cell.child.weight"],
        }
