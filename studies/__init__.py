"""Studies: many runs that differ in one thing at a time, on paired seeds and tasks, and what they show together.

`plan` reads a study file, `runner` runs its jobs in processes of their own, `results` reads the numbers back from
the run folders, and `report` writes the tables, the figures and the page. `statistics` is pure.
"""
