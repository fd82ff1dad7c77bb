"""Sentences as each view sees them: the nearest neighbours of a few, and maps of tasks' sentences.

In: sentences and their vectors by several views. Out: one JSON file, which a report is made from.
"""
