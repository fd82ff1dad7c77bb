"""Held-out sentences: settings, rows with their parses, and the sentences that tasks alter."""
