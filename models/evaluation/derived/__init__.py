"""Probing tasks in the sense of Conneau et al. 2018, built from held-out parsed documents."""
