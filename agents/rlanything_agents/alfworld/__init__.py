"""ALFWorld as small models read and write it: words, transcripts, an expert, and ground truth for its steps."""

from rlanything_agents.alfworld.dialect import AlfWorldDialect

__all__ = ["DIALECT", "AlfWorldDialect"]

DIALECT = AlfWorldDialect()
