"""Training of benepar's chart model, and trees that dependencies guide."""
