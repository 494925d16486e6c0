"""Episodes: tasks and a policy go in, trajectories come out, in groups of one task; in this process or on workers."""
