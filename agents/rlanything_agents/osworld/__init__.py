"""Desktops for agents: a small model that reads the accessibility tree, vision-language models, and an oracle."""

from rlanything_agents.osworld.dialect import OSWorldDialect
from rlanything_agents.osworld.oracle import Oracle, Played, play_oracle

__all__ = ["DIALECT", "OSWorldDialect", "Oracle", "Played", "play_oracle"]

DIALECT = OSWorldDialect()
