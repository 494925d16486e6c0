"""Coding, programming problems with hidden tests: the environment, the reading of actions, and its short view.

Problem families and importers are in `rlanything_task_pools.coding`, the sandbox and the judging of programs in
`rlanything_verifiers.coding`.
"""
