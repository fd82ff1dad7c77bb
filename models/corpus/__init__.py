"""Reads parsed shards as flat arrays."""
