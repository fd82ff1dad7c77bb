"""The papers' tables: which trainings and baselines stand beside which published figures.

In: a declaration of rows and columns, results, ``data/published``. Out: one table of cells as plain
data, and its exports. One mechanism for every table and for sweeps.
"""
