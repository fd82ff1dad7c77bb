"""What derived tasks are drawn from: settings, held-out rows, constituents, a stable order."""
