"""What is said before a run of how much of its text is held out, and of how much there is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.config.held_out import HoldOut
from tasks import RunAll, SplitSentences, TrainEncoders
from tasks.preflight.checks import preflight
from tasks.preflight.findings import Findings
from tests.support.luigi_builds import build
from tests.support.stories import story

TRAINED, HELD_OUT = ("a.txt", "b.txt", "d.txt"), ("c.txt", "e.txt", "f.txt")
"""On which side documents of these names are by the default seed."""
BYTES_PER_SENTENCE = 80
FEW = {"min_train": 3, "min_dev": 1, "min_test": 1}

Ask = Callable[..., Findings]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Writes files of so many sentences, and returns what is found of a run on them."""

    def asked(sizes: dict[str, int], task: Any = RunAll, **parameters: Any) -> Findings:
        folder = tmp_path / "text"
        folder.mkdir(exist_ok=True)
        for seed, (name, num_sentences) in enumerate(sizes.items()):
            (folder / name).write_text(story(seed, num_sentences), encoding="utf-8")
        given = {"source": "files", "paths": str(folder), "work_folder": tmp_path / "work"}
        return preflight([task(**(given | parameters))])

    return asked


def bytes_of(tmp_path: Path, *names: str) -> int:
    return sum((tmp_path / "text" / name).stat().st_size for name in names)


def test_names_are_on_the_sides_that_these_tests_take_them_to_be() -> None:
    assert not any(map(HoldOut().takes, TRAINED))
    assert all(map(HoldOut().takes, HELD_OUT))


def test_text_that_is_enough_but_of_which_little_is_held_out_is_told(
    ask: Ask, tmp_path: Path
) -> None:
    found = ask({"a.txt": 3000, "b.txt": 300, "c.txt": 100})
    of_held_out = bytes_of(tmp_path, "c.txt")
    share = 100 * of_held_out / bytes_of(tmp_path, "a.txt", "b.txt", "c.txt")
    told = " ".join(found.warnings)
    num_held_out = of_held_out / BYTES_PER_SENTENCE
    assert f"388 held-out sentences or so, where there are some {num_held_out:.0f}," in told
    assert f"some {share:.3g} % of the text is held out" in told
    assert "asks for 30 %" in told
    assert "--held-out-unit block, another --held-out-seed" in told
    assert found.refusals == []


def test_text_of_which_much_is_held_out_leaves_few_steps(ask: Ask, tmp_path: Path) -> None:
    found = ask({"a.txt": 100, "c.txt": 3000}, TrainEncoders, changes={"batch_size": 50})
    left = bytes_of(tmp_path, "a.txt") / BYTES_PER_SENTENCE
    assert any(f"some {left:.0f} sentences to train on give" in one for one in found.warnings)
    assert any("% of the text is held out" in one for one in found.warnings)


def test_text_of_which_nothing_is_held_out_is_refused(ask: Ask) -> None:
    (refusal,) = ask(dict.fromkeys(TRAINED, 2000)).refusals
    assert "too few for any probing task" in refusal
    assert "where there are hardly any" in refusal
    assert "--held-out-unit block" in refusal
    assert ask(dict.fromkeys(TRAINED, 2000), held_out_unit="block").refusals == []


def test_text_all_of_which_is_held_out_is_refused(ask: Ask) -> None:
    (refusal,) = ask(dict.fromkeys(HELD_OUT, 2000), TrainEncoders).refusals
    assert "none is left to train on" in refusal


def test_a_share_near_what_was_asked_for_is_not_told(ask: Ask) -> None:
    found = ask({"a.txt": 1000, "b.txt": 1000, "c.txt": 1000}, probing_changes=FEW)
    assert not any("of the text is held out" in one for one in found.warnings)
    uneven = ask({"b.txt": 6000}, probing_changes=FEW)
    assert any("of the text is held out" in one for one in uneven.warnings)


def test_a_limit_takes_the_first_documents(ask: Ask) -> None:
    found = ask({"a.txt": 3000, "c.txt": 3000}, TrainEncoders, limit=500)
    assert any("some 500 sentences to train on" in one for one in found.warnings)


@pytest.mark.slow
def test_sentences_that_are_cut_are_counted_by_their_documents(ask: Ask, tmp_path: Path) -> None:
    ask({"a.txt": 100, "b.txt": 150, "c.txt": 300})
    text = {"source": "files", "paths": str(tmp_path / "text")}
    assert build(SplitSentences(**text, work_folder=tmp_path / "work"))
    warnings = ask({}).warnings
    told = " ".join(warnings)
    assert "the text has 550 sentences: " in told
    assert "388 held-out sentences or so, where there are 300," in told
    assert any(one.startswith("250 sentences to train on give") for one in warnings)
    assert any(one.startswith(f"{100 * 300 / 550:.3g} % of the text is held") for one in warnings)


def test_blocks_of_sentences_that_are_cut_are_counted(ask: Ask, tmp_path: Path) -> None:
    ask({"a.txt": 600})
    text = {"source": "files", "paths": str(tmp_path / "text")}
    assert build(SplitSentences(**text, work_folder=tmp_path / "work"))
    hold_out = HoldOut(unit="block")
    blocks = [hold_out.takes(hold_out.unit_of("a.txt", n)) for n in range(600)]
    warnings = ask({}, TrainEncoders, held_out_unit="block").warnings
    trained = blocks.count(False)
    assert any(one.startswith(f"{trained} sentences to train on give") for one in warnings)


def test_documents_that_are_not_known_before_are_held_out_as_asked_for(
    ask: Ask, tmp_path: Path
) -> None:
    ask({})
    lines = [json.dumps({"text": story(n, 10)}) for n in range(100)]
    (tmp_path / "text" / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    found = ask({}, TrainEncoders)
    left = round(0.7 * (bytes_of(tmp_path, "a.jsonl") // BYTES_PER_SENTENCE))
    assert any(f"some {left} sentences to train on" in one for one in found.warnings)


def test_files_that_are_empty_are_told_as_such(ask: Ask, tmp_path: Path) -> None:
    for name in ("a.txt", "c.txt"):
        (tmp_path / "text").mkdir(exist_ok=True)
        (tmp_path / "text" / name).touch()
    for task in (RunAll, TrainEncoders, SplitSentences):
        (refusal,) = ask({}, task).refusals
        assert "a.txt and 1 more: empty, so there is no text" in refusal
    (refusal,) = ask({}, paths=str(tmp_path / "text" / "a.txt")).refusals
    assert "a.txt: empty, so there is no text" in refusal


def test_two_sentences_are_hardly_any(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    for name in ("a.txt", "c.txt"):
        (tmp_path / "text" / name).write_text("It rains.\n", encoding="utf-8")
    (refusal,) = ask({}).refusals
    assert "the text has hardly any sentences (20 bytes): too few" in refusal
