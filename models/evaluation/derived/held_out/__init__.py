"""Held-out sentences: settings, and rows with their parses."""
