"""Report of a run. Its summary, metrics rows, rewrites and example episodes come in; ``report.html`` goes out, one file
with results, curves, alarms, rewritten tasks and episodes.

- `page`: renders the template; `charts`: the curves as SVG.
"""

from rlanything_agents.runs.report.page import write_report

__all__ = ["write_report"]
