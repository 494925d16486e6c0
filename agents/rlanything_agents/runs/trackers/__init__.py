"""Where the curves of a run are shown besides its own report: Trackio, TensorBoard, Weights & Biases.

A tracker is one module of this package with a class ``Open``, of the protocol `Tracker`. `Tracking` feeds them all, and
no failure of theirs stops a run. Names of metrics are those of `rlanything_agents.runs.trackers.names`.
"""

from rlanything_agents.runs.trackers.names import named
from rlanything_agents.runs.trackers.tracker import TRACKERS, TrackedRun, Tracker, UnknownTracker, open_tracker
from rlanything_agents.runs.trackers.tracking import Tracking

__all__ = ["TRACKERS", "TrackedRun", "Tracker", "Tracking", "UnknownTracker", "named", "open_tracker"]
