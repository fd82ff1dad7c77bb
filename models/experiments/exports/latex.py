r"""A table as LaTeX with the rules of booktabs; any text stays text.

A document needs ``\usepackage{booktabs}`` and, for UTF-8 before 2018, ``inputenc``; before 2020
``textcomp``, too. No command needs another font encoding than LaTeX's own (OT1). The notes stand
above the table as comments, since a caption has no room for all.
"""

from __future__ import annotations

from models.experiments.exports.grid import Grid, GridRow, grid
from models.experiments.result_table import ResultTable
from pipeline.base.foreign_text import printable

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "`": r"\textasciigrave{}",
    "±": r"$\pm$",
    "−": r"$-$",
    "×": r"$\times$",
    "–": "--",
    "—": "---",
    "…": r"\dots{}",
}


def escaped_latex(text: object) -> str:
    """Returns text that LaTeX prints as it is, on one line: no command, comment, cell or formula.

    A bracket that begins a cell is kept from being taken for an option of the line's end.
    """
    line = " ".join(printable(text, keep_lines=True).split())
    escaped = "".join(_SPECIAL.get(character, character) for character in line)
    return f"{{}}{escaped}" if escaped.startswith(("[", "*")) else escaped


def latex(table: ResultTable) -> str:
    """Returns a ``table*`` with caption and label."""
    shown = grid(table)
    width = len(shown.header)
    columns = "".join(
        "l" if place < shown.num_text_columns or place in shown.further_text else "r"
        for place in range(width)
    )
    lines = [
        r"% needs \usepackage{booktabs}",
        *(f"% {_comment(note)}" for note in table.notes),
        r"\begin{table*}",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        _line(shown.header),
        r"\midrule",
        *_body(shown, width),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{escaped_latex(table.title)}.}}",
        rf"\label{{tab:{table.name}}}",
        r"\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def _body(shown: Grid, width: int) -> list[str]:
    lines: list[str] = []
    for place, row in enumerate(shown.rows):
        if row.heading:
            lines += ([r"\midrule"] if place else []) + [_heading(row, width)]
        else:
            after_heading = place > 0 and bool(shown.rows[place - 1].heading)
            if row.begins and place and not after_heading:
                lines.append(r"\addlinespace")
            lines.append(_line(row.cells))
    return lines


def _heading(row: GridRow, width: int) -> str:
    return rf"\multicolumn{{{width}}}{{@{{}}l}}{{\textit{{{escaped_latex(row.heading)}}}}} \\"


def _line(cells: tuple[str, ...]) -> str:
    return " & ".join(map(escaped_latex, cells)) + r" \\"


def _comment(note: str) -> str:
    return " ".join(printable(note, keep_lines=True).split())
