"""Several training processes of one run: the first is the leader, the others follow.

The leading process is the run: only it has the task pool, the run folder, workers, engines and output, and its loop is
that of a single process. The others have the two models and their trainers, wait, and take part in the updates.

- ``launch``: rank, size and strategy from the launcher's environment; ``channel``: messages between the processes;
- ``packing``: samples as a few tensors; ``sharding``: weights and optimizer state of a sharded (FSDP2) model.
"""
