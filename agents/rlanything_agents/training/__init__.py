"""Updates: samples go in, new weights of a model and `UpdateStats` come out.

- ``samples``: rows of training data from trajectories, and batches of them; ``update``: interface of a trainer;
- ``errors``: the error of a sample or an update;
- ``trainer``: GRPO on TRL, with ``padded`` (inputs of a forward pass and their log-probabilities), ``grpo_settings``,
  ``aggregation`` (weights and divisor of each loss), ``mismatch`` (correction of what sampler and trainer differ in),
  ``constrained`` (softmax over allowed tokens), ``shared_prompts`` (several completions after one prompt) and
  ``tallies`` (statistics of an update);
- ``plain``: the same update in plain PyTorch, the reference of the tests;
- ``tinker``: the same update at the Tinker service;
- ``learner``: a model with its trainer and checkpoints;
- ``imitation``: supervised fine-tuning; ``ranks``: several training processes.
"""
