"""Desktops for agents: a small model that reads the accessibility tree and an oracle."""
