"""OSWorld, tasks on a desktop: the environment, its action spaces, set-up steps, recording and short view.

Desktops themselves (sandbox, container, virtual machine) are in `rlanything_envs.osworld.desktop`, task
files and generated tasks in `rlanything_task_pools.osworld`, evaluators in `rlanything_verifiers.osworld`.
"""
