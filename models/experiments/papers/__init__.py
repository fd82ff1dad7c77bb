"""What is declared: the tables of each paper, a file a paper, and sweeps."""
