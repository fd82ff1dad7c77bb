"""Folds that hold each class in equal shares, the same as scikit-learn's and so SentEval's.

Legend: n items.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]


def stratified_folds(labels: IntArray, num_folds: int, *, seed: int) -> IntArray:
    """Returns the fold [n] in which each item is held out.

    The folds are those of ``StratifiedKFold(num_folds, shuffle=True, random_state=seed)`` in
    scikit-learn 0.22 and later: dealt out to the items in the order of their classes, the classes
    in the order in which they first appear, every class has its share in each fold, and which of
    its items go where is then shuffled within the class.

    Raises:
        ValueError: fewer than two folds, or no class has as many items as there are folds.
    """
    _, first_place, of_item = np.unique(labels, return_index=True, return_inverse=True)
    sizes = np.bincount(of_item)
    if num_folds < 2 or sizes.max(initial=0) < num_folds:
        raise ValueError(
            f"{num_folds} folds need at least 2 and a class of as many items; the largest class "
            f"has {sizes.max(initial=0)}"
        )
    random = np.random.RandomState(seed)
    folds = np.empty(len(labels), dtype=np.int64)
    dealt = 0
    for class_number in np.argsort(first_place):
        size = int(sizes[class_number])
        of_class = np.sort((dealt + np.arange(size)) % num_folds)
        random.shuffle(of_class)
        folds[of_item == class_number] = of_class
        dealt += size
    return folds
