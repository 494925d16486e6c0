"""Updates: samples go in, a model with other weights and `UpdateStats` come out. GRPO on TRL, the same in plain
PyTorch, imitation, and several processes.
"""
