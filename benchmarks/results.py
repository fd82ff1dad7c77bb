"""Published results: figures in ``docs/results/*.json``, and the pages that are made from them.

    python -m benchmarks.results                  # writes the pages, their index, README's table
    python -m benchmarks.results --run FOLDER     # first reads the default run's report there

A result is one JSON object:

- ``order``: the place in the index and in README's table;
- ``title``, ``date``, ``machine``, ``versions`` (a library: its version), ``seeds``;
- ``runs``: each a ``command`` and its ``commit``, or a ``note`` instead of either;
- ``inputs``: what the figures depend on and may change, as `todays_inputs` names it;
- ``headlines``: ``what`` and ``figure`` of the rows in README's table;
- ``parts``: paragraphs of Markdown, and tables of ``columns`` and ``rows``.

A cell is text, a number, a ``mean`` with its ``deviation`` over seeds, or a ``score`` or signed
``difference`` with the bounds ``low`` and ``high`` of its interval, if it has one. Numbers appear
as the file has them. `test_results_pages.py` fails where a page differs from its data.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.report import REPOSITORY
from models.config.training_config import TRAINING_VERSION
from models.embedded.embed import EMBEDDING_VERSION
from models.evaluation.derived.held_out.config import PROBING_VERSION
from models.evaluation.protocols.config import PROTOCOL_VERSION
from models.words.expansion import EXPANSION_VERSION
from pipeline.base.atomic_files import write_text_atomically
from pipeline.base.digest import digest_of, sha256_of_file
from pipeline.base.machine import processor
from pipeline.parsers.adapters.folder_files import checksum_of_parser_folder
from pipeline.parsing.parse_shard import PARSING_VERSION
from pipeline.text.boundaries import BOUNDARY_VERSION
from pipeline.text.tokenization import TOKENIZATION_VERSION
from pipeline.vectors.import_vectors import IMPORT_VERSION
from pipeline.vocabulary.count_shard import COUNTING_VERSION

RESULTS = REPOSITORY / "docs" / "results"
README = REPOSITORY / "README.md"
DEFAULT_RUN = RESULTS / "default-run.json"
BEGIN, END = "<!-- figures: python -m benchmarks.results -->", "<!-- end of figures -->"
COMMAND = "python -m benchmarks.results"
RUN_ALL = "luigi --module tasks RunAll --local-scheduler"

VERSIONS = {
    "training_version": TRAINING_VERSION,
    "protocol_version": PROTOCOL_VERSION,
    "probing_version": PROBING_VERSION,
    "parsing_version": PARSING_VERSION,
    "tokenization_version": TOKENIZATION_VERSION,
    "boundary_version": BOUNDARY_VERSION,
    "import_version": IMPORT_VERSION,
    "counting_version": COUNTING_VERSION,
    "expansion_version": EXPANSION_VERSION,
    "embedding_version": EMBEDDING_VERSION,
}
"""Raised in the code when the same input gives other figures."""


def todays_inputs() -> dict[str, str]:
    """Returns the checksums of what ships and today's versions."""
    data = Path("data")
    parsers = sorted((REPOSITORY / data / "parsers").iterdir())
    vectors = sorted((REPOSITORY / data / "vectors").glob("*/vectors.safetensors"))
    models = sorted((REPOSITORY / data / "models").iterdir())
    return {
        **{str(data / "parsers" / p.name): checksum_of_parser_folder(p) for p in parsers},
        **{str(data / "vectors" / v.parent.name): sha256_of_file(v) for v in vectors},
        **{str(data / "models" / m.name): digest_of_model(m) for m in models},
        **{name: str(version) for name, version in VERSIONS.items()},
    }


def digest_of_model(model: Path) -> str:
    """Returns a digest of a model's folder: its settings, weights and words, not its card."""
    files = [
        path for path in model.rglob("*") if path.suffix in {".json", ".parquet", ".safetensors"}
    ]
    return digest_of({path.relative_to(model).as_posix(): sha256_of_file(path) for path in files})


def read_results(folder: Path = RESULTS) -> dict[Path, dict[str, Any]]:
    """Returns each result by its file, in order; figures are as written: 73.0 stays ``73.0``."""
    found = {
        path: json.loads(path.read_text(encoding="utf-8"), parse_float=str)
        for path in folder.glob("*.json")
    }
    return dict(sorted(found.items(), key=lambda item: (item[1]["order"], item[0])))


def pages(
    results: Mapping[Path, Mapping[str, Any]], today: Mapping[str, str], readme: str
) -> dict[Path, str]:
    """Returns the text of every page that is made from the results, README among them."""
    made = {path.with_suffix(".md"): page(path.name, r, today) for path, r in results.items()}
    made[RESULTS / "README.md"] = index_page(results, today)
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{README}: the lines {BEGIN!r} and {END!r} must stand around its figures")
    made[README] = f"{before}{BEGIN}\n\n{headline_table(results, today)}\n\n{END}{after}"
    return made


def page(name: str, result: Mapping[str, Any], today: Mapping[str, str]) -> str:
    """Returns a result's page."""
    warning = stale_line(result, today)
    parts = [
        f"# {result['title']}",
        f"<!-- Made from {name} by `{COMMAND}`; change the data, not this page. -->",
        *([f"> {warning}"] if warning else []),
        *(_part(part) for part in result["parts"]),
        "## How it was measured",
        _provenance(result),
        *(_run(run) for run in result["runs"]),
    ]
    return "\n\n".join(parts) + "\n"


def stale_inputs(result: Mapping[str, Any], today: Mapping[str, str]) -> list[str]:
    """Returns the names of the inputs that have changed since the result was measured."""
    return [name for name, was in result["inputs"].items() if today.get(name) != str(was)]


def stale_line(result: Mapping[str, Any], today: Mapping[str, str]) -> str:
    """Returns the line that marks a result whose inputs have changed, else an empty one."""
    changed = stale_inputs(result, today)
    if not changed:
        return ""
    was = ", ".join(f"{name} {_short(result['inputs'][name])}" for name in changed)
    now = ", ".join(_short(today.get(name, "none")) for name in changed)
    again = next((run["command"] for run in result["runs"] if "command" in run), "the same command")
    command = " ".join(again.replace("\\\n", " ").split())
    return (
        f"**Out of date.** Measured with {was}, which the repository no longer has (now {now}); "
        f"measure again with `{command}`."
    )


def index_page(results: Mapping[Path, Mapping[str, Any]], today: Mapping[str, str]) -> str:
    """Returns the list of all results."""
    rows = [
        [
            f"[{result['title']}]({path.stem}.md)",
            result["date"],
            ", ".join(stale_inputs(result, today)) or "nothing",
        ]
        for path, result in results.items()
    ]
    text = (
        f"Each page is made from the JSON file of the same name by `{COMMAND}`. The last column "
        "names the inputs that have changed since a result was measured."
    )
    table = _table({"columns": ["result", "measured", "changed since"], "rows": rows})
    return "\n\n".join(["# Results", _wrapped(text), table]) + "\n"


def headline_table(results: Mapping[Path, Mapping[str, Any]], today: Mapping[str, str]) -> str:
    """Returns README's table: one row a headline, with the date and a link to its page."""
    rows = []
    for path, result in results.items():
        note = ", out of date" if stale_inputs(result, today) else ""
        link = f"[{result['date']}](docs/results/{path.stem}.md){note}"
        rows += [[line["what"], line["figure"], link] for line in result["headlines"]]
    return _table({"columns": ["what", "figure", "measured"], "rows": rows})


SIGNS = "▲▼"
"""Of a figure that differs from a report's baseline; a result has the differences themselves."""


def result_of_run(folder: Path, machine: str) -> dict[str, Any]:
    """Returns the result that a default run's report holds: its scores and what led to them.

    Args:
        folder: of the report, with ``report.md`` and ``report.json``.
        machine: where it ran.

    Raises:
        ValueError: the report has no table of differences between rows.
    """
    facts = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    written = datetime.fromtimestamp((folder / "report.json").stat().st_mtime, UTC)
    text = (folder / "report.md").read_text(encoding="utf-8")
    parts, (compared, gain) = _scores_of(text, folder)
    return {
        "order": 1,
        "title": "The default run",
        "date": f"{written:%Y-%m-%d}",
        "machine": machine,
        "versions": facts["versions"],
        "seeds": sorted({int(seed) for seed in re.findall(r"\bseed (\d+)", _told_of_scores(text))}),
        "inputs": _inputs_of_run(facts),
        "headlines": [
            _effect(facts["effect_of_training"]),
            {"what": f"{compared}, points of accuracy [95 %]", "figure": gain},
        ],
        "runs": [{"command": facts["command"] or RUN_ALL, "commit": facts["commit"]}],
        "parts": parts,
    }


def _scores_of(text: str, folder: Path) -> tuple[list[Any], tuple[str, Any]]:
    """Returns a report's part on scores, and the name and figure of its first difference.

    That is how the report begins, and its section on probing up to the table of differences.
    """
    parts: list[Any] = []
    paragraphs = _told_of_scores(text).split("\n\n")[1:]
    for before, paragraph in pairwise(["", *paragraphs]):
        if paragraph.startswith(("![", "```", *SIGNS)) or before.startswith("!["):
            continue
        table = _table_of(paragraph)
        parts.append(table or paragraph)
        for row in table["rows"] if table else []:
            found = [
                cell
                for cell in row
                if isinstance(cell, dict) and {"difference", "low"} <= cell.keys()
            ]
            if found:
                return parts, (row[0], found[0])
    raise ValueError(f"{folder}: report.md has no table of differences with their intervals")


def _told_of_scores(text: str) -> str:
    """Returns how a report begins, and its section on probing."""
    opening, *sections = text.strip().split("\n\n## ")
    scores = (f"## {one}" for one in sections if one.startswith("Probing\n"))
    return "\n\n".join([opening, *scores])


def _effect(effect: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the headline of what training changed, rounded as the report rounds."""
    points = {bound: round(effect["difference"][bound], 1) for bound in ("value", "low", "high")}
    return {
        "what": f"default run, effect of training: {effect['on']}, trained − untrained, points "
        "[95 %]",
        "figure": {"difference": points["value"], "low": points["low"], "high": points["high"]},
    }


def _inputs_of_run(facts: Mapping[str, Any]) -> dict[str, str]:
    """Returns checksums and versions that a run's report names, where they are known today.

    A default run takes the bundled vectors and encoders, which its report does not name.
    """
    ready = [f"data/models/{row['name']}" for row in facts["rows"]]
    today = todays_inputs()
    found = {name: today[name] for name in ("data/vectors/english", *ready) if name in today} | {
        f"data/parsers/{parser['name']}": parser["checksum"].partition("-")[0]
        for parser in facts["parsers"]
    }
    settings = json.dumps(facts["config"])
    for name in VERSIONS:
        values = re.findall(rf'"{name}": (\d+)', settings)
        found |= {name: values[0]} if values else {}
    return found


def _table_of(paragraph: str) -> dict[str, Any] | None:
    lines = paragraph.strip().split("\n")
    if len(lines) < 3 or not all(line.startswith("|") for line in lines):
        return None
    cells = [
        [cell.strip().rstrip(f" {SIGNS}") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines
    ]
    return {"columns": cells[0], "rows": [list(map(cell_of, row)) for row in cells[2:]]}


def cell_of(text: str) -> Any:
    """Returns the figure that a cell of Markdown shows, or the text where it is none."""
    number = r"([-+]?\d+(?:\.\d+)?)"
    plain = text.replace("−", "-")
    if re.fullmatch(r"-?\d{1,3}(,\d{3})*|-?\d+", plain):
        return int(plain.replace(",", ""))
    if re.fullmatch(number, plain):
        return {"difference": float(plain)} if plain.startswith("+") else float(plain)
    if found := re.fullmatch(rf"{number} ± {number}", plain):
        return {"mean": float(found[1]), "deviation": float(found[2])}
    if found := re.fullmatch(rf"{number} \[{number}, {number}\]", plain):
        name = "difference" if plain[0] in "+-" else "score"
        return {name: float(found[1]), "low": float(found[2]), "high": float(found[3])}
    return text


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Writes a result, a row of a table on a line of its own."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    rows = [row for part in result["parts"] if isinstance(part, dict) for row in part["rows"]]
    for row in rows:
        spread = textwrap.indent(json.dumps(row, indent=1, ensure_ascii=False), " " * 4).strip()
        text = text.replace(spread, json.dumps(row, ensure_ascii=False), 1)
    write_text_atomically(path, text + "\n")


def _part(part: str | Mapping[str, Any]) -> str:
    return _wrapped(part) if isinstance(part, str) else _table(part)


def _wrapped(text: str) -> str:
    """Returns a paragraph in lines of at most 100 characters; headings and pictures as they are."""
    if text.startswith(("#", "![", "- ")):
        return text
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _table(part: Mapping[str, Any]) -> str:
    rows = [[_cell(cell) for cell in row] for row in part["rows"]]
    columns = part["columns"]
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"table row {row} does not fit the columns {columns}")
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(cell: Any) -> str:
    """Returns a cell as the page shows it."""
    if isinstance(cell, Mapping):
        if "mean" in cell:
            return f"{cell['mean']} ± {cell['deviation']}"
        if "difference" in cell:
            value, *bounds = map(_signed, cell.values())
            return f"{value} [{', '.join(bounds)}]" if bounds else value
        return f"{cell['score']} [{cell['low']}, {cell['high']}]"
    if isinstance(cell, int):
        return f"{cell:,}"
    return "" if cell is None else str(cell)


def _signed(value: Any) -> str:
    text = str(value)
    return text.replace("-", "−") if text.startswith("-") else f"+{text}"


def _provenance(result: Mapping[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    inputs = ", ".join(f"{name} {_short(value)}" for name, value in result["inputs"].items())
    facts = {
        "Measured": result["date"],
        "Machine": result["machine"],
        "Versions": versions,
        "Seeds": ", ".join(map(str, result["seeds"])),
        "Inputs": inputs,
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)


def _run(run: Mapping[str, str]) -> str:
    said = run.get("note", "")
    if "commit" in run:
        said = (
            f"{said.rstrip(':')}, commit {run['commit']}:" if said else f"Commit {run['commit']}:"
        )
    command = [f"```\n{run['command']}\n```"] if "command" in run else []
    return "\n\n".join([*([_wrapped(said)] if said else []), *command])


def _short(value: Any) -> str:
    return str(value)[:12]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--run", type=Path, help="folder of a default run's report")
    parser.add_argument("--machine", default=processor(), help="where that run was made")
    options = parser.parse_args(arguments)
    if options.run is not None:
        try:
            write_result(DEFAULT_RUN, result_of_run(options.run, options.machine))
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr)
            return 2
    readme = README.read_text(encoding="utf-8")
    for path, text in pages(read_results(), todays_inputs(), readme).items():
        write_text_atomically(path, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
