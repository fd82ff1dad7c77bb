"""The dependency parser: supar's biaffine model on a cheap path."""
