"""The command line that looks at shards."""
