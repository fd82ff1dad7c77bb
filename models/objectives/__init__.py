"""What encoders are trained to do, one objective a file; see `models.objectives.base`."""
