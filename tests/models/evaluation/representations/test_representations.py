"""How the views of a batch become features: pooling, components, length, projection, words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from models.evaluation.linear_maps import (
    principal_components,
    projected_in_place,
    random_projection,
)
from models.evaluation.representation import (
    REPRESENTATIONS,
    Representation,
    described,
    representation_named,
)

Matrix = npt.NDArray[np.float32]
POOLINGS = ("last", "max", "mean", "min")


def vectors(rows: int, width: int, *, seed: int = 0) -> Matrix:
    found: Matrix = np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)
    return found


def views(*names: str, rows: int = 6, width: int = 4) -> dict[str, Matrix]:
    keys = [f"{name}.{pooling}" for name in names for pooling in POOLINGS]
    return {key: vectors(rows, width, seed=i) for i, key in enumerate(keys)}


def unit(matrix: Matrix) -> Matrix:
    scaled: Matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return scaled


def without_first(matrix: Matrix) -> Matrix:
    """By the definition: numpy's singular value decomposition of the vectors as they are."""
    first = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)[2][0]
    removed: Matrix = (matrix - np.outer(matrix @ first, first)).astype(np.float32)
    return removed


@pytest.mark.parametrize("shape", [(20, 5), (5, 20)])
def test_components_are_right_singular_vectors(shape: tuple[int, int]) -> None:
    matrix = vectors(*shape)

    found = principal_components(matrix, 3)

    expected = np.linalg.svd(matrix)[2][:3]
    np.testing.assert_allclose(np.abs(np.sum(found * expected, axis=1)), 1, atol=1e-5)


@pytest.mark.parametrize("shape", [(200, 5), (5, 200)])
def test_power_iteration_finds_a_direction_that_stands_out(shape: tuple[int, int]) -> None:
    matrix = vectors(*shape) + 3

    estimated = principal_components(matrix, 2, method="power_iteration")

    assert abs(float(estimated[0] @ principal_components(matrix, 1)[0])) > 1 - 1e-5
    np.testing.assert_allclose(estimated @ estimated.T, np.eye(2), atol=1e-5)


def test_plain_is_the_last_states_side_by_side() -> None:
    batch = views("0-DEP", "1-CONST")

    features = REPRESENTATIONS["plain"].apply(batch, "split")

    expected = np.concatenate([batch["0-DEP.last"], batch["1-CONST.last"]], axis=1)
    np.testing.assert_array_equal(features, expected)
    assert features.dtype == np.float32


def test_multi_view_supervised_is_table_2_of_the_paper() -> None:
    batch = views("0-SEQ", "1-BOW")

    features = REPRESENTATIONS["multi-view"].apply(batch, "nested_folds")

    f = np.concatenate([batch[f"0-SEQ.{p}"] for p in ("max", "mean", "min", "last")], axis=1)
    g = np.concatenate([batch[f"1-BOW.{p}"] for p in ("max", "mean", "min")], axis=1)
    parts = [unit(without_first(f)), unit(without_first(g))]
    np.testing.assert_allclose(features, np.concatenate(parts, axis=1), atol=1e-5)


def test_multi_view_unsupervised_is_the_average_of_means() -> None:
    batch = views("0-SEQ", "1-BOW")

    features = REPRESENTATIONS["multi-view"].apply(batch, "similarity")

    parts = [unit(without_first(batch[f"{view}.mean"])) for view in ("0-SEQ", "1-BOW")]
    np.testing.assert_allclose(features, (parts[0] + parts[1]) / 2, atol=1e-5)


def test_components_of_a_given_set_are_the_same_for_every_batch() -> None:
    representation = representation_named("multi-view", components_from="train")
    everything = views("0-SEQ", rows=10)
    components = representation.fit(everything, "split")

    def part(start: int, stop: int) -> Matrix:
        batch = {key: matrix[start:stop] for key, matrix in everything.items()}
        return representation.apply(batch, "split", components=components)

    whole = representation.apply(everything, "split", components=components)
    np.testing.assert_allclose(np.concatenate([part(0, 3), part(3, 10)]), whole, atol=1e-6)


def test_the_mean_of_a_bag_stands_for_its_last_state() -> None:
    words = {"words.mean": vectors(3, 4)}

    np.testing.assert_array_equal(
        REPRESENTATIONS["plain"].apply(words, "split"), words["words.mean"]
    )


def test_an_encoder_without_states_gives_its_matrix_for_any_pooling() -> None:
    matrix = {"0-encoder.last": vectors(5, 4)}

    features = representation_named("multi-view", remove_components=0, normalise=False).apply(
        matrix, "split"
    )

    np.testing.assert_array_equal(features, matrix["0-encoder.last"])


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        ((), ["0-SEQ", "1-LIN", "2-INV"]),
        (("SEQ",), ["0-SEQ"]),
        (("2-INV",), ["2-INV"]),
        (("INV", "SEQ"), ["0-SEQ", "2-INV"]),
    ],
)
def test_views_are_chosen_by_name_or_place(wanted: tuple[str, ...], taken: list[str]) -> None:
    representation = representation_named("plain", views=wanted)

    found = representation.keys(views("0-SEQ", "1-LIN", "2-INV"), "split")

    assert list(found) == taken


@pytest.mark.parametrize("view", ["0-LIN", "1-BOW", "2-INV", "words"])
def test_views_without_order_have_a_mean_for_their_last_state(view: str) -> None:
    keys = REPRESENTATIONS["multi-view"].keys(views(view), "folds")
    assert keys == {view: (f"{view}.max", f"{view}.mean", f"{view}.min")}


def test_impossible_choices_are_found_from_widths_alone() -> None:
    widths = {"0-SEQ.mean": 8, "1-BOW.mean": 4, "words.mean": 4}
    representation = representation_named("multi-view", join_words=True)

    with pytest.raises(ValueError, match=r"different widths .*'0-SEQ': 8, '1-BOW': 4.*; give unsu"):
        representation.check(widths, "similarity")
    replace(representation, views=("BOW",)).check(widths, "similarity")
    replace(representation, unsupervised_combine="concatenate").check(widths, "similarity")


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("plain", {}, "plain"),
        ("multi-view", {"views": ["SEQ", "INV"]}, "multi-view, views SEQ+INV"),
        (
            "multi-view",
            {"views": ["INV"], "remove_components": 0, "normalise": False},
            "multi-view, views INV, remove_components 0, normalise false",
        ),
        ("plain", {"name": "z_de", "views": ["INV"]}, "z_de"),
    ],
)
def test_a_representation_is_described_by_what_differs_from_its_preset(
    name: str, changes: dict[str, Any], words: str
) -> None:
    assert described(representation_named(name, **changes).to_dict()) == words


def test_words_are_joined_after_projection() -> None:
    batch = {**views("0-DEP"), "words.mean": vectors(6, 3, seed=9)}
    representation = representation_named("plain", join_words=True, project_to_width=7)

    features = representation.apply(batch, "folds")

    projected = random_projection(batch["0-DEP.last"], 7, seed=0)
    np.testing.assert_array_equal(features[:, :7], projected)
    np.testing.assert_array_equal(features[:, 7:], batch["words.mean"])
    assert representation.word_poolings() == ("mean",)


def test_a_representation_survives_json() -> None:
    representation = representation_named("multi-view", project_to_width=5, join_words=True)

    assert Representation.from_dict(representation.to_dict()) == representation


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"remove_components": -1}, "remove_components must be at least 0"),
        ({"project_to_width": 0}, "project_to_width must be at least 1"),
        (
            {"supervised_pooling": ["sum"]},
            r"supervised_pooling must be a list of which each is one of last, max, mean",
        ),
        ({"supervised_pooling": []}, "must name one pooling or several"),
        ({"supervised_combine": "add"}, "supervised_combine must be one of concatenate"),
        ({"views": ["SEQ", "SEQ"]}, r"views must differ: \['SEQ', 'SEQ'\]"),
        ({"views": "SEQ"}, "views must be a list of which each is a string, got 'SEQ'"),
        ({"normalize": True}, "unknown representation settings"),
    ],
)
def test_impossible_settings_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        representation_named("plain", **changes)


def test_random_projection_is_seeded_and_keeps_to_the_glorot_bound() -> None:
    projected = random_projection(np.eye(6, dtype=np.float32), 10, seed=3)
    assert projected.shape == (6, 10)
    assert np.abs(projected).max() <= (6 / 16) ** 0.5
    assert (projected == random_projection(np.eye(6, dtype=np.float32), 10, seed=3)).all()
    assert (projected != random_projection(np.eye(6, dtype=np.float32), 10, seed=4)).any()


@pytest.mark.parametrize("width", [4, 24])
def test_a_random_projection_keeps_inner_products_in_expectation(width: int) -> None:
    vectors = np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32)
    # Entries within ±b have variance b²/3, and an inner product is a sum over the new width.
    factor = width * 2.0 / (6 + width)

    projected = [random_projection(vectors, width, seed=seed) for seed in range(3000)]

    mean = np.mean([one @ one.T for one in projected], axis=0) / factor
    np.testing.assert_allclose(mean, vectors @ vectors.T, atol=0.35)


def test_a_projection_in_place_has_its_inner_products_in_as_few_dimensions() -> None:
    vectors = np.random.default_rng(0).standard_normal((9, 6)).astype(np.float32)

    placed = projected_in_place(vectors, 40, seed=3)

    wide = random_projection(vectors, 40, seed=3)
    assert placed.shape == (9, 6)
    np.testing.assert_allclose(placed @ placed.T, wide @ wide.T, rtol=1e-4, atol=1e-4)
