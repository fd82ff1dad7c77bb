"""What a parser folder holds, and which kinds of parser there are; known without torch."""

from __future__ import annotations

WEIGHTS_NAME = "weights.safetensors"
DESCRIPTION_NAME = "parser.json"
PARSER_FILES = (WEIGHTS_NAME, DESCRIPTION_NAME)
"""Tell one parser from another: the description names further files with their sha256."""
TRANSFORMER_FOLDER = "transformer"
"""Where the transformer inside a parser stands in its folder, if there is one."""

STAGES = ("dependencies", "constituents")

PLAIN_DEPENDENCY = "supar-biaffine-dependency"
TRANSFORMER_DEPENDENCY = "supar-biaffine-dependency-transformer"
PLAIN_CONSTITUENCY = "benepar-chart"
TRANSFORMER_CONSTITUENCY = "benepar-chart-transformer"

TRANSFORMER_KINDS = frozenset({TRANSFORMER_DEPENDENCY, TRANSFORMER_CONSTITUENCY})
"""Those with a transformer inside."""

STAGE_OF_KIND = {
    PLAIN_DEPENDENCY: "dependencies",
    TRANSFORMER_DEPENDENCY: "dependencies",
    PLAIN_CONSTITUENCY: "constituents",
    TRANSFORMER_CONSTITUENCY: "constituents",
}
