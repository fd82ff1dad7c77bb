"""Looking at shards from the command line: ``python -m pipeline.inspect``."""
