"""Tools around runs, for people and scripts. Run folders, pools, agents and environments come in; pages, tables, data
sets and findings go out. Nothing of a run imports a tool.

- `cli/`: the ``rlanything`` command. `view/`: runs in a browser. `export/`: rollouts as data sets.
- `benchmark/`: any agent on pinned panels of tasks. `audit/`: tasks that are solved without the work.
- `play/`: tasks on the terminal.
- `doctor/`: checks of a machine or a run. `planning/`: memory and time of a run before it starts.
"""
