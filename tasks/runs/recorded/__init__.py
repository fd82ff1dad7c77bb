"""What is done with runs that are recorded: listed, compared with one another, removed."""
