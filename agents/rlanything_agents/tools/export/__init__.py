"""Rollouts of a run as a data set, for fine-tuning, preference learning and analysis. A run folder comes in; a folder
with Parquet, JSON Lines or Hugging Face files and a card, or with logs of Inspect AI, goes out.

- `run`: the export; `kinds`: what a row can be; `tables`: files written in batches; `card`: the README.
- `inspect_logs`: logs of Inspect AI.
"""

from rlanything_agents.tools.export.inspect_logs import export_logs
from rlanything_agents.tools.export.kinds import KINDS
from rlanything_agents.tools.export.run import FORMATS, SPLITS, RolloutExportError, export_run

__all__ = ["FORMATS", "KINDS", "SPLITS", "RolloutExportError", "export_logs", "export_run"]
