"""Tables of experiments as Luigi tasks: one base class, a root a table, and all of them at once."""
