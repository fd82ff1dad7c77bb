"""Drawings of sentences: arcs over words, trees of phrases, and a page of them.

In: tokens, heads, relations, constituents. Out: SVG and one HTML page that holds all that it
shows: no script, no address, no font of its own. All text is a corpus' own and is escaped;
characters that cannot be seen are written out.
"""
