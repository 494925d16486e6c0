"""The page of a run: what changed, how it went, and which tasks were made on the way."""

from rlanything_agents.runs.report.page import write_report

__all__ = ["write_report"]
