"""What a run shows while it works: on a terminal lines that stay in place, in a log few and short.

`stages` knows how far each stage is, `channel` brings what forked workers report, `screen` and
`log_lines` show it, and `shown_run` holds these together for the time of a run.
"""
