"""The report of a run, tables of encoders, and the papers' tables.

In: summaries and manifests of the stages, results of the evaluation. Out: Markdown for people, JSON
for programs, curves as SVG.
"""
