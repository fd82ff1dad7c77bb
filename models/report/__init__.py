"""The report of one run: Markdown for people, JSON for programs, PNG plots."""
