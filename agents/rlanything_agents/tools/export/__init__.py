"""Rollouts of a run as a data set: for fine-tuning, for preferences, for whoever wants to look at them in a table."""

from rlanything_agents.tools.export.kinds import KINDS
from rlanything_agents.tools.export.run import FORMATS, SPLITS, RolloutExportError, export_run

__all__ = ["FORMATS", "KINDS", "SPLITS", "RolloutExportError", "export_run"]
