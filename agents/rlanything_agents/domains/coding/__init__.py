"""Coding for agents: what its models imitate in the short view, and its reward model of unit tests."""
