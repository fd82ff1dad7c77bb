"""Correlations, resampling of items, tests and corrections; arrays in, no encoder and no file."""
