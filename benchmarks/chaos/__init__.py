"""A campaign that kills, fills, damages and deceives the system, and counts what it survives."""
