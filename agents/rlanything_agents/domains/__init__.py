"""Supervision of each domain: experts that demonstrate, heuristic and true step labels, short judge prompts. Tasks and
episodes come in; demonstrations, labels, prompts and reviewers go out. Nothing else needs the name of a domain.

- `supervision`: `StepSupervision`, the interface, and `get_supervision`, which finds that of a domain.
- `lessons`: demonstrations and labelled steps for the supervised warm start.
- `solutions`, `guesses`: a known solution of a task, and random play, as the upper and lower end of a benchmark.
- `cheats`: agents that must fail every task, for audits.
- `alfworld/`, `coding/`, `osworld/`: one folder per domain.
"""
