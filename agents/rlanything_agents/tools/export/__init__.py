"""Rollouts of a run as a data set, for fine-tuning, preference learning and analysis. A run folder comes in; a folder
with Parquet or JSON Lines and a card, or with logs of Inspect AI, goes out.

- `run`: the export and its card; `kinds`: what a row can be.
- `inspect_logs`: logs of Inspect AI.
"""

from rlanything_agents.tools.export.inspect_logs import export_logs
from rlanything_agents.tools.export.kinds import KINDS
from rlanything_agents.tools.export.run import FORMATS, SPLITS, export_run

__all__ = ["FORMATS", "KINDS", "SPLITS", "export_logs", "export_run"]
