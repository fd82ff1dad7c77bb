"""Linear classifiers on top of fixed sentence representations."""
