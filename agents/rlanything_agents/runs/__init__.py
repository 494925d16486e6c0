"""A run from beginning to end: warm start, evaluation, closed loop, evaluation, report. A configuration and a folder
come in; metrics, episodes, checkpoints, a summary and a report go out, all of them in that folder.

- `train`: the stages of a run in order; `preflight`: checks before the heavy imports; `parts`: the objects that all
  stages share; `learners`: the two models with their trainers and engines.
- `loop`: one iteration of the closed loop; `background`, `rewriting`: the rewriter of tasks, in the background or not.
- `warm_start`, `evaluate`, `summary`, `report/`: the stages around the loop, and their results.
- `folder`, `checkpoints`, `manifest`, `storage`, `stored/`: files of a run, written atomically and read without trust.
- `monitors/`, `tracking`, `progress`, `stopping`: alarms, experiment trackers, progress bars, resumable ends.
- `lead`, `follow`: a run that several training processes share.
"""
