"""ALFWorld, household tasks in text: the environment, its vectorised form, its short view and its rendering.

Task generation and rewriting are in `rlanything_task_pools.alfworld`, the native engine and the check of the goal in
`rlanything_verifiers.alfworld`.
"""
