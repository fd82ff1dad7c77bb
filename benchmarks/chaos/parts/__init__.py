"""The parts of the campaign: a module each, with what it tries (its docstring) and `trials`."""
