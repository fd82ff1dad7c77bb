"""The splitting benchmark on a small text and treebank; no times are judged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import splitting
from benchmarks.splitting_treebanks import read_paragraphs

pytestmark = pytest.mark.usefixtures("machine_as_before")

TREEBANK = """\
# newdoc id = one
# newpar
# text = I don't.
1\tI\t_\t_\t_\t_\t0\troot\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
2\tdo\t_\t_\t_\t_\t1\tdep\t_\t_
3\tn't\t_\t_\t_\t_\t1\tdep\t_\t_
4\t.\t_\t_\t_\t_\t1\tdep\t_\t_

# text = You do.
1\tYou\t_\t_\t_\t_\t0\troot\t_\t_
2\tdo\t_\t_\t_\t_\t1\tdep\t_\tSpaceAfter=No
3\t.\t_\t_\t_\t_\t1\tdep\t_\t_

# newpar
# text = Both.
1\tBoth\t_\t_\t_\t_\t0\troot\t_\tSpaceAfter=No
2\t.\t_\t_\t_\t_\t1\tdep\t_\t_
"""


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_raw_text_of_a_treebank(tmp_path: Path) -> None:
    first, second = read_paragraphs(Path(write(tmp_path / "t.conllu", TREEBANK)))

    assert (first.text, second.text) == ("I don't. You do. ", "Both. ")
    assert [first.text[a:b] for a, b in first.sentences] == ["I don't.", "You do."]
    assert [first.text[a:b] for a, b in first.tokens] == ["I", "do", "n't", ".", "You", "do", "."]


@pytest.mark.slow
def test_the_last_line_has_every_figure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text").mkdir()
    for name in "ab":
        lines = (f"Dr. {name} has {number} cats. Really!" for number in range(40))
        write(tmp_path / "text" / f"{name}.txt", "\n\n".join(lines))
    treebank = write(tmp_path / "t.conllu", TREEBANK)
    monkeypatch.setattr(splitting, "SPLITTERS", {"spacy": splitting.SPLITTERS["spacy"]})
    given = ["--quick", "--text", str(tmp_path / "text"), "--treebank", f"small={treebank}"]

    assert splitting.main(given) == 0
    said = capsys.readouterr().out
    figures = json.loads(said.splitlines()[-1])
    assert figures["sentence_f1"] == {"small": 100.0} == figures["token_f1"]
    assert figures["best_other_f1"] == {"small": 100.0}
    assert figures["sentences"] == 160
    assert figures["absent"] == []
    for name in ("sentences_per_second", "in_memory_sentences_per_second", "vs_spacy_sentencizer"):
        assert figures[name] > 0
