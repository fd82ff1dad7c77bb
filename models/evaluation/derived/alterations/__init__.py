"""Sentences that some probing tasks alter: by kind, which are altered, how, and which stay."""
