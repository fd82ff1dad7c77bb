"""Why stages would run: what changed against the nearest finished ones, in words."""
