"""The report of a run, and the tables of encoders.

In: summaries and manifests of the stages, results of the evaluation. Out: Markdown for people, JSON
for programs, curves as SVG.
"""
