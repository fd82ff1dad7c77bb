"""Training of supar's biaffine dependency model, and joint trees of several of them."""
