"""What every room builds on: whole files, digests, locks, refusals, jobs, configurations.

In: nothing of the house. Out: `write_json_atomically` and its like, `digest_of`, `Refusal`,
`Settings` (fields that carry their range), jobs in processes of their own, and `bundled`, which
knows where `data/` is.
"""
