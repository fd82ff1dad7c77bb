"""What the encoders' level loops do to states element by element, apart from matrix products."""
