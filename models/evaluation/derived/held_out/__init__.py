"""What derived tasks are drawn from: settings, held-out rows, their constituents, a stable order."""
