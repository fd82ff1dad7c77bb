"""What is known of runs: the graph of one, why it would run, and the records of those that ran."""
