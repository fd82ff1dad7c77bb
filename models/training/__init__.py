"""Trains a model on a parsed corpus: one loop, its files, its batches."""
