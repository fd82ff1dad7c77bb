"""The constituency parser: benepar's chart model on a cheap path."""
