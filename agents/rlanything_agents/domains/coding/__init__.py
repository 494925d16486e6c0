"""Coding for agents: small-model dialect, and the reward model that writes unit tests."""
