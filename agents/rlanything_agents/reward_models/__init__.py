"""Reward models that write text: they judge steps, or write unit tests. Trajectories go in, votes, advantages and
samples come out.
"""
