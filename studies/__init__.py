"""Studies: many runs that differ in one setting at a time, on paired seeds and tasks, and their joint reports.

`plan` reads a study file, `runner` runs its jobs in their own processes, `results` reads the numbers back from
the run folders, and `report` writes the tables, the figures and the page. `statistics` is pure.
"""
