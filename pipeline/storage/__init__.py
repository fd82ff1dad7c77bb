"""Shards where several machines reach them: a shared folder or an object store."""
