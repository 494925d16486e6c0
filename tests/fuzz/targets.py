"""Every reader of untrusted content, in one table."""

from __future__ import annotations

import fuzz_answers
import fuzz_desktops
import fuzz_runs
import fuzz_tasks
from fuzz_table import Target

__all__ = ["TARGETS"]

TARGETS: tuple[Target, ...] = (*fuzz_tasks.TARGETS, *fuzz_answers.TARGETS, *fuzz_desktops.TARGETS, *fuzz_runs.TARGETS)
