"""Supervision of desktops: an expert on the programs, heuristic and true step labels, short judge texts, an oracle.

`belief` is the state of a desktop as far as the short view reveals it, and `plan` the commands that remain; `expert`,
`heuristic` and `labels` follow the plan. `oracle` and `solution` type the keys that a generated task was made with, and
`guess` is random play.
"""
