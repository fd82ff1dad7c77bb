"""What the trainings of both parsers share: steps, checkpoints, the folder of a run."""
