"""Where text comes from, one small file a source."""
