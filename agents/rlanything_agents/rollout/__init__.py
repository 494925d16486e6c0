"""Rollouts: tasks and a policy go in, trajectories come out, in groups of one task, from this process or from workers.

- ``rollout``: many episodes in lock step; ``concurrent``: each at its own pace; ``turns``: answers of the policy;
- ``episode``: one episode in progress; ``renderer``: messages to token ids;
- ``trajectory``: a finished episode; ``group``: all episodes of one task in an iteration;
- ``queries``: judge queries, overlapped with the rollouts;
- ``workers``: rollouts and judge queries in this process or on Ray; ``copies``: models of other processes;
- ``environments``, ``tasks``, ``screens``: environments and tasks of a configuration, pictures of screens.
"""
