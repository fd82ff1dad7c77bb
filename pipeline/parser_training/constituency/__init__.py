"""Training of benepar's chart model: files of bracketed trees to what the loop of epochs trains."""
