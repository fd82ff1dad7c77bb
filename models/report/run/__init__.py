"""The report of a run: its sections, its figures, and the files that it is written to.

In: summaries and manifests of the stages, results of the evaluation. Out: ``report.html`` to look
at, ``report.md`` to read anywhere, ``report.json`` for programs, and the drawings of both.
"""
