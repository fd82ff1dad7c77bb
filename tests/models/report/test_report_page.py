"""The report's page: order, text of others, the flow, the stages, papers' figures, marks."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.evaluation.protocols.outcome import Outcome
from models.evaluation.task_result import (
    AbsentResult,
    DataRecord,
    EncoderIdentity,
    Setup,
    result_path,
    scored,
    write_result,
)
from models.evaluation.tasks.declarations import task_named
from models.experiments.report_columns import published_columns
from models.report.evaluation_table import PublishedColumn
from models.report.html.page import html_page
from models.report.html.sections import Folded, Page, Section, Table
from models.report.probing_table import probing_table
from models.report.run.flow_section import count_corpus, flow_section
from models.report.run.inputs import CorpusCounts, ReportInputs, StageRecord
from models.report.run.probing_sections import listed, statement
from models.report.run.report import write_report
from models.report.run.sentences_section import maps_section
from models.report.run.stages_drawing import in_bytes, stages_section
from models.report.run.training_section import training_section
from models.report.significance import baselines_of, marks_against
from models.report.stage_graph import StageGraph, StageNode, State
from pipeline.shards.manifests import write_dataset_manifest
from pipeline.shards.schema import schema_for
from tests.support.evaluation_examples import answers
from tests.support.parsed_pages import parsed
from tests.support.report_examples import SUMMARY, report_inputs, row, usual_rows, with_rows
from tests.support.shard_files import sentence_rows, write_rows

HOSTILE = "<script>alert(1)</script></svg>\x1b[2J\u202e & <b>bold</b> ]]> -->"
SHOWN = "<script>alert(1)</script></svg>\\x1b[2J\\u202e & <b>bold</b> ]]> -->"
GRAPH = StageGraph(
    "report",
    (
        StageNode("split", "SplitSentences", "", Path("a"), "done", (), 2, 2, 5.5, 433_000),
        StageNode("train", "TrainEncoders", f"seed {HOSTILE}", Path("b"), "failed", ("split",)),
        StageNode("report", "WriteReport", "", Path("c"), "partial", ("train", "split")),
    ),
)


def shown_sentences(path: Path, words: str = HOSTILE) -> Path:
    """Writes what a run found near a sentence, and a map of two."""
    panel = {"view": words, "shares": [0.5, 0.25], "points": [[0.0, 1.0], [1.0, 0.0]]}
    task_map = {
        "task": "SentLen", "num_sentences": 2, "sentences": [words, "it is"], "classes": [0, 1],
        "class_names": [words, "5-7"], "is_ordered": False, "panels": [panel],
    }  # fmt: skip
    found = [{"view": words, "found": [[[words, 0.91], ["it is", 0.5]]]}]
    value = {"queries": [words], "num_searched": 2, "neighbourhoods": found, "maps": [task_map],
             "absent": ["TopConst"], "seconds": 1.0}  # fmt: skip
    path.write_text(json.dumps(value))
    return path


def hostile(inputs: ReportInputs, folder: Path) -> ReportInputs:
    """Returns inputs of which every text that others choose is hostile."""
    return replace(
        with_rows(inputs, folder, usual_rows(0.8)),
        corpus=f"files ({HOSTILE})",
        command=f"treeviews run --paths '{HOSTILE}'",
        config={"paths": HOSTILE},
        machine=HOSTILE,
        title=HOSTILE,
        versions={HOSTILE: HOSTILE},
        parsers=({"kind": "dependencies", "name": HOSTILE, "scores": {HOSTILE: HOSTILE}},),
        stages=(StageRecord(HOSTILE, 1, 1.0, {HOSTILE: 1}, left_out={HOSTILE: 2}),),
        counts=CorpusCounts(3, 12000, {HOSTILE: 7}, {HOSTILE: 2}),
        sentences=shown_sentences(folder / "sentences.json"),
        graph=GRAPH,
    )


def test_what_others_wrote_shows_as_itself(tmp_path: Path) -> None:
    page = write_report(tmp_path / "out", hostile(report_inputs(tmp_path), tmp_path))

    found = parsed(page.read_text(encoding="utf-8"))

    assert found.named("script") == []
    assert found.named("b") == []
    for element, attributes in found.elements:
        assert not any(name.startswith("on") for name in attributes), element
    assert found.text.count(SHOWN) > 25
    assert "\x1b" not in found.text
    assert "\u202e" not in found.text
    for drawing in (tmp_path / "out").glob("*.svg"):
        assert "<script>" not in drawing.read_text(encoding="utf-8"), drawing.name


def test_the_page_says_first_what_came_out(tmp_path: Path) -> None:
    given = hostile(report_inputs(tmp_path), tmp_path)
    path = write_report(tmp_path / "out", replace(given, title="A run"))

    page, text = path.read_text(encoding="utf-8"), parsed(path.read_text(encoding="utf-8")).text
    value = json.loads((tmp_path / "out" / "report.json").read_text())

    effect, verdict = value["headline"]
    assert effect.startswith("Training raises how often a held-out sentence picks its neighbour")
    assert "the trained model beats the same architecture" in verdict
    assert text.index(effect) < text.index(verdict) < text.index("What was run")
    titles = [
        "what-was-run", "from-documents-to-training", "training", "probing", "discourse",
        "nearest-neighbours", "map-of-sentences", "notes", "stages-of-the-run",
        "vectors-of-your-own-sentences", "the-same-tasks-for-any-encoder", "configuration",
    ]  # fmt: skip
    places = [page.index(f'<section id="{title}"') for title in titles]
    assert places == sorted(places)


def test_a_map_has_a_list_for_who_cannot_point(tmp_path: Path) -> None:
    path = shown_sentences(tmp_path / "sentences.json")
    value = json.loads(path.read_text())
    drawn = value["maps"][0]
    drawn["sentences"] = [f"{HOSTILE} {n}" for n in range(100)]
    drawn["classes"] = [n % 2 for n in range(100)]
    drawn["panels"] = []
    (folded,) = [part for part in maps_section(value).parts if isinstance(part, Folded)]
    (table,) = folded.parts
    assert isinstance(table, Table)
    classes = Counter(line[0] for line in table.rows if isinstance(line, tuple))
    assert classes == {HOSTILE: 18, "5-7": 18}
    page = parsed(html_page(Page("A map", [], [Section.of("Maps", folded)])))
    assert page.named("script") == []
    assert f"{SHOWN} 34" in page.text


def test_the_page_is_the_same_when_written_again(tmp_path: Path) -> None:
    given = hostile(report_inputs(tmp_path), tmp_path)
    first, second = (write_report(tmp_path / name, given).read_bytes() for name in "ab")
    assert first == second


def drawn(counts: CorpusCounts | None, **training: Any) -> tuple[str, str]:
    """Returns the description of the flow and its drawing."""
    section = flow_section(counts, {**SUMMARY, **training}, ())
    drawing = next(iter(section.drawings), None)
    return ("", "") if drawing is None else (drawing.description, drawing.body)


def test_every_sentence_goes_somewhere() -> None:
    counts = CorpusCounts(30, 12000, {"too_long": 7}, {"no_spanning_parse": 5})

    description, body = drawn(counts, skipped={"too_long": 90, "no_dependencies": 4})

    assert description.startswith("30 documents gave 12,000 sentences; 8,000 were trained on")
    for words in (
        "sentences and refused texts → sentences: 12,000",
        "sentences and refused texts → refused: too long: 7",
        "sentences → parsed twice: 11,995",
        "sentences → not parsed: no spanning parse: 5",
        "parsed twice → trained on: 8,000",
        "parsed twice → held out and measured: 3,000",
        "parsed twice → not used: too long for training: 90",
        "parsed twice → not used: other: 905",
    ):
        assert words in body, words


def test_views_without_trees_take_sentences_without_parses() -> None:
    counts = CorpusCounts(30, 12000, {}, {"parser_error": 5})
    _, body = drawn(counts, skipped={}, views=["SEQ", "SEQ"])
    assert "sentences → trained on: 8,000" in body
    assert "parsed" not in body
    _, body = drawn(counts, skipped={}, views=["SEQ", "DEP"])
    assert "parsed → trained on: 8,000" in body


def test_numbers_that_do_not_agree_are_not_drawn() -> None:
    section = flow_section(CorpusCounts(30, 11000, {}, {"parser_error": 5}), SUMMARY, ())
    assert section.drawings == []
    assert "the corpus has 10,995 that it could use" in str(section.parts[0])


def test_many_reasons_are_drawn_together() -> None:
    _, body = drawn(CorpusCounts(30, 12000, {f"reason {n}": n + 1 for n in range(9)}, {}))
    assert "refused: for other reasons: 10" in body
    assert "refused: reason 8: 9" in body


def test_nothing_is_drawn_of_a_corpus_that_is_not_known() -> None:
    assert drawn(None) == ("", "")


def test_stages_are_drawn_with_times_and_sizes() -> None:
    section = stages_section(GRAPH, asking="report")
    body = section.drawings[0].body
    for words in ("SplitSentences", "5.5 s · 433 kB · 2 parts", "node failed", "node asked"):
        assert words in body
    assert "unmade" not in body  # who draws counts as done
    assert "node unmade" in stages_section(GRAPH).drawings[0].body
    assert [in_bytes(n) for n in (0, 950, 4_321, 43_210, 5e12)] == [
        *("0 B", "950 B", "4.3 kB", "43 kB", "5.0 TB")
    ]


def test_alike_stages_are_one_box() -> None:
    def trained(seed: int, state: State = "done") -> StageNode:
        about, folder = f"seed {seed}", Path(f"m{seed}")
        return StageNode(
            f"t{seed}", "TrainEncoders", about, folder, state, ("s",), None, None, 2.0, 500
        )

    nodes = (
        StageNode("s", "SplitSentences", "", Path("s"), "done"),
        *(trained(0), trained(1), trained(2, "failed")),
        StageNode("e", "EvaluateEncoder", "", Path("e"), "partial", ("t0", "t1", "t2")),
    )
    body = stages_section(StageGraph("e", nodes), asking="e").drawings[0].body
    assert "TrainEncoders × 2</text>" in body and "seed 0; seed 1</text>" in body
    assert "4.0 s · 1.0 kB</text>" in body
    assert "TrainEncoders × 2: seed 0, 2.0 s · 500 B; seed 1, 2.0 s · 500 B</title>" in body
    assert ">TrainEncoders</text>" in body  # the one that failed stands by itself
    assert body.count('class="arrow"') == 4


def test_curves_are_of_every_seed() -> None:
    metrics = [
        [
            {"kind": "held_out", "step": 0, "accuracy": 0.1, "chance": 0.01, "loss": 5.0},
            *({"kind": "train", "step": s, "loss": 6 - s / 9, "in_batch_accuracy": 0.1,
               "chance": 0.01, "learning_rate": 0.1 * s * (1 + seed)} for s in range(1, 20)),
            {"kind": "held_out", "step": 19, "accuracy": 0.2 + seed, "chance": 0.01, "loss": 4.0},
        ]
        for seed in range(2)
    ]  # fmt: skip
    trainings = [SUMMARY, {**SUMMARY, "seed": 1}]

    loss, accuracy, rate = training_section(trainings, metrics).drawings

    assert "seed 0 from 10 to 20 %; seed 1 from 10 to 120 %" in accuracy.description
    assert "chance, 1 %" in accuracy.body
    for drawing in (loss, accuracy, rate):
        assert ">seed 1</text>" in drawing.body
    same = training_section(trainings, [metrics[0], metrics[0]]).drawings[2]
    assert ">all seeds</text>" in same.body


def test_marks_are_against_the_named_baseline() -> None:
    table = probing_table(usual_rows(0.8))

    against_random = marks_against(table, "random weights")
    assert against_random.baseline == "random weights (3 seeds)"
    assert against_random.of_task("pair", "tense") == "better"
    assert against_random.of_average("pair") == "better"
    assert against_random.of_task("random_weights_0", "tense") == ""

    against_english = marks_against(table, "english")
    assert against_english.baseline == "row english"
    assert against_english.of_average("random weights") == "worse"
    assert "row english" in against_english.note
    assert "majority_class" not in baselines_of(table)


@pytest.mark.parametrize("seeds", [1, 2])
def test_the_headline_names_the_tasks_that_the_marks_name(tmp_path: Path, seeds: int) -> None:
    trained = [row(f"pair_seed_{n}" if n else "pair", 0.69, seed=1) for n in range(seeds)]
    rows = [*trained, row("random_weights_0", 0.6, seed=2)]
    better = ["sentence_length"]  # by far; tense lies outside its interval, uncorrected
    wide = [row(one.name, 0.9, seed=1) for one in trained]
    rows[:seeds] = [
        replace(one, results={**one.results, better[0]: far.results[better[0]]})
        for one, far in zip(trained, wide, strict=True)
    ]
    table = probing_table(rows)
    tasks = {name: {"sizes": {"test": 300}} for name in table.tasks}

    said = statement(table, {"tasks": tasks, "absent": {}})

    marks = marks_against(table, "random weights")
    key = "pair" if seeds == 1 else "trained"
    for way in ("better", "worse"):
        marked = [name for name in table.tasks if marks.of_task(key, name) == way]
        assert f"{way} on {listed(marked)}" in said


def test_without_random_weights_marks_are_against_the_words() -> None:
    rows = [row("pair", 0.9), row("bag_of_words", 0.5, seed=1)]
    assert marks_against(probing_table(rows), "random weights").key == "bag_of_words"
    alone = marks_against(probing_table(rows[:1]), "random weights")
    assert (alone.baseline, alone.note, alone.of_task("pair", "tense")) == ("", "", "")


def test_an_unknown_baseline_is_refused(tmp_path: Path) -> None:
    given = with_rows(report_inputs(tmp_path), tmp_path, usual_rows(0.8))
    with pytest.raises(ValueError, match="baseline 'glove': no such row; choose among random w"):
        write_report(tmp_path / "out", replace(given, baseline="glove"))


def test_papers_figures_stand_beside_ours(tmp_path: Path) -> None:
    task = task_named("MR")
    predictions = answers(100, 0.7)
    outcome = Outcome(predictions, {"test": 100}, 8, 70.0)
    setup = Setup(EncoderIdentity("lengths", "d0"), {}, {"classifier": "logistic_regression"})
    found = scored(task, setup, DataRecord("d1", "s1"), outcome, seconds={})
    write_result(result_path(tmp_path / "mine", task), found)
    absent = AbsentResult(task_named("CR"), setup, "no such file")
    write_result(result_path(tmp_path / "mine", absent.task), absent)
    given = replace(
        with_rows(report_inputs(tmp_path), tmp_path, usual_rows(0.8)),
        senteval=(tmp_path / "mine",),
        published=(
            PublishedColumn(
                "A's", "A, table 1, of books", {("MR", "accuracy"): 80.7, ("CR", "accuracy"): 83.6}
            ),
        ),
    )

    text = write_report(tmp_path / "out", given).with_name("report.md").read_text()

    section = text.split("## Published beside measured")[1].split("\n## ")[0]
    assert "| task | score | lengths | A's |" in section
    assert " | 80.7 |" in section
    assert "| CR |  | absent | 83.6 |" in section
    assert "A's: A, table 1, of books." in section
    page = (tmp_path / "out" / "report.html").read_text().split('<section id="published-beside')[1]
    assert "table 1, of books" in page.split("<details")[0]  # paper shows it in every browser


def test_a_pair_of_views_has_its_figures_in_any_order() -> None:
    (ours,) = published_columns(["SEQ", "CONST"])
    (turned,) = published_columns(["CONST", "SEQ"])
    (best,) = published_columns(["BOW"])
    assert ours == turned
    assert ours.figures["MR", "accuracy"] == 79.8
    assert best.title == "DEP,CONST, published"
    assert best.figures["avg7", ""] == 86.0
    assert ("SICK-R", "mse") not in best.figures


def test_a_pair_of_the_second_table_has_its_average_alone() -> None:
    (found,) = published_columns(["SEQ", "SEQ"])
    assert found.title == "SEQ,SEQ, published"
    assert found.figures == {("avg7", ""): 84.9}


def test_documents_and_missing_parses_are_counted(tmp_path: Path) -> None:
    shards = [["a", "a", "b"], ["b", "b", "c"]]  # a document goes on in the next shard
    for number, names in enumerate(shards):
        rows = [sentence_rows([["it", "is"]], document=name)[0] for name in names]
        write_rows(tmp_path / "sentences", "sentences", number, rows, drops={"too_long": 1})
        for stage, refused in (("dependencies", [0]), ("constituents", [0, 2])):
            quarantine = [{"row": row, "reason": f"{stage}_{row}"} for row in refused]
            nulls = [dict.fromkeys(schema_for(stage).names)] * len(names)
            write_rows(tmp_path / stage, stage, number, nulls, quarantine=quarantine)
    stages = ("sentences", "dependencies", "constituents")
    for stage in stages:
        write_dataset_manifest(tmp_path / stage, stage, config={})

    folders = {stage: tmp_path / stage for stage in stages}

    reasons = {"dependencies_0": 2, "constituents_2": 2}  # each sentence once
    expected = CorpusCounts(3, 6, {"too_long": 2}, reasons)
    assert count_corpus(folders, ["DEP", "CONST"]) == expected
    of_one = replace(expected, unparsed={"dependencies_0": 2})
    assert count_corpus(folders, ["SEQ", "DEP"]) == of_one
    assert count_corpus(folders, ["SEQ", "SEQ"]).unparsed == {}
