"""The graph of a run: each stage once, in order, with what of it is there."""

from __future__ import annotations

from pathlib import Path

import luigi

from tasks import EvaluateEncoder, RunAll, SplitSentences
from tasks.runs.graph import graph_of, identity_of, told_apart
from tests.support.luigi_builds import build
from tests.support.small_stages import Meal, Toast


def states(root: luigi.Task, failed: set[Path] | None = None) -> dict[str, str]:
    nodes = graph_of(root, failed or set()).nodes
    return {f"{node.name} {node.about}".strip(): node.state for node in nodes}


def test_each_stage_is_there_once_after_what_it_needs(tmp_path: Path) -> None:
    graph = graph_of(Meal(work_folder=tmp_path))

    names = [(node.name, node.about) for node in graph.nodes]
    assert names == [("Grain", "kind rye"), ("Grain", "kind wheat"), ("Bread", ""), ("Meal", "")]
    rye, wheat, bread, meal = graph.nodes
    assert bread.needs == (rye.id, wheat.id)
    assert meal.needs == (bread.id,)
    assert graph.root == meal.id
    assert meal.folder is None


def test_stages_of_one_name_are_told_apart_in_few_words() -> None:
    folder = "/a/long/path/to/senteval"
    data = {"senteval_data": folder, "work_folder": Path("work")}
    first = EvaluateEncoder(encoder="trained", preset="laptop", **data)
    other = EvaluateEncoder(encoder="random-0", preset="laptop", **data)
    third = EvaluateEncoder(encoder="random-0", preset="B-D", work_folder=Path("work"))

    apart = told_apart({"1": first, "2": other, "3": third})

    assert apart == {
        "1": "preset laptop, encoder trained",
        "2": "preset laptop, encoder random-0",
        "3": "preset B-D, encoder random-0",
    }
    assert told_apart({"2": other, "4": other.clone(senteval_data="")}) == {
        "2": "senteval data senteval",
        "4": "",
    }


def test_states_follow_what_is_on_disk(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path)
    bread = meal.requires()
    before = states(meal)
    build(bread.requires()["grains"][0])
    bread.write_config()
    begun = states(meal)
    build(meal)

    assert set(before.values()) == {"missing"}
    assert begun == {
        "Grain kind rye": "done",
        "Grain kind wheat": "missing",
        "Bread": "partial",
        "Meal": "partial",
    }
    assert set(states(meal).values()) == {"done"}


def test_what_a_stage_asks_for_later_is_a_stage_once_it_can_be_named(tmp_path: Path) -> None:
    toast = Toast(work_folder=tmp_path)
    before = states(toast)
    build(toast)

    assert "Grain kind oats" not in before
    assert states(toast)["Grain kind oats"] == "missing"


def test_a_folder_in_which_the_last_run_failed_is_failed_until_it_is_done(tmp_path: Path) -> None:
    meal = Meal(work_folder=tmp_path)
    bread = meal.requires()

    assert states(meal, {bread.folder})["Bread"] == "failed"
    build(meal)
    assert states(meal, {bread.folder})["Bread"] == "done"


def test_a_stage_says_its_parts_seconds_and_bytes(tmp_path: Path) -> None:
    bread = Meal(work_folder=tmp_path).requires()
    build(bread.requires()["grains"][0])
    bread.write_config()
    (bread.folder / "0.part").write_bytes(b"x" * 100)

    rye, _, of_bread, _ = graph_of(Meal(work_folder=tmp_path)).nodes

    assert rye.seconds == 2.5
    assert of_bread.seconds is None
    assert (of_bread.num_parts, of_bread.num_parts_done) == (4, 1)
    assert of_bread.num_bytes is not None and of_bread.num_bytes > 100


def test_a_lock_alone_begins_nothing(tmp_path: Path) -> None:
    bread = Meal(work_folder=tmp_path).requires()
    bread.folder.mkdir(parents=True)
    (bread.folder / "run.lock").touch()

    assert states(Meal(work_folder=tmp_path))["Bread"] == "missing"


def test_shards_are_parts_of_their_stage(tmp_path: Path) -> None:
    text = tmp_path / "story.txt"
    text.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    task = SplitSentences(work_folder=tmp_path / "work", source="files", paths=str(text))
    build(task)
    (node,) = graph_of(task).nodes
    assert (node.state, node.num_parts, node.num_parts_done) == ("done", 1, 1)

    (task.folder / "00000.parquet").unlink()
    (task.folder / "manifest.json").unlink()

    (node,) = graph_of(task).nodes
    assert (node.state, node.num_parts, node.num_parts_done) == ("partial", 1, 0)


def test_the_default_run_is_a_graph_without_jobs_of_shards(tmp_path: Path) -> None:
    text = tmp_path / "story.txt"
    text.write_text("The rain stopped. The children ran out.\n", encoding="utf-8")
    graph = graph_of(RunAll(work_folder=tmp_path / "work", source="files", paths=str(text)))

    names = [node.name for node in graph.nodes]
    assert names[0] == "SplitSentences"
    assert names[-2:] == ["WriteReport", "RunAll"]
    assert [node.about for node in graph.nodes if node.name == "TrainEncoders"] == [
        "seed 0",
        "seed 1",
        "seed 2",
    ]
    assert "ParseShard" not in names


def test_the_identity_of_what_only_asks_for_others_is_of_what_these_make(tmp_path: Path) -> None:
    here, there = Meal(work_folder=tmp_path / "a"), Meal(work_folder=tmp_path / "b")

    assert identity_of(here) == identity_of(there)
    assert identity_of(here) != identity_of(here.requires())
