"""Checks of a run before it starts, behind ``rlanything train --dry-run``. A configuration comes in; findings go out.
Only the pilot reads weights.

- `checks`: everything that would stop the run; `memory`: bytes of each phase, from the shapes of the models;
- `pilot`: how long it takes, from a few short episodes.
"""
