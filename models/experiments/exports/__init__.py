"""A table as Markdown, CSV and LaTeX."""
