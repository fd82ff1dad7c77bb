"""Recipes beyond gold trees: trees that parsers make, and a parser over a transformer.

The cards of the bundled parsers say which of them were made with what.
"""
