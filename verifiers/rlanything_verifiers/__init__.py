"""Verifiers: the ALFWorld engine and planner, the sandbox and judge of programs, and evaluators of desktops.

The package is independent of tasks, environments and training, which are in `rlanything_task_pools`, `rlanything_envs`
and `rlanything_agents`.
"""
