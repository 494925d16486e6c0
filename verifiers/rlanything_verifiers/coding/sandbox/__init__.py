"""Untrusted programs: run on inputs under limits, in processes that can do nothing else."""

from .errors import SandboxError, UnsafeSandbox
from .limits import Limits, LimitsError
from .pool import Sandbox, default_sandbox
from .run import Run, Status
from .tier import Tier, available_tiers

__all__ = [
    "Limits",
    "LimitsError",
    "Run",
    "Sandbox",
    "SandboxError",
    "Status",
    "Tier",
    "UnsafeSandbox",
    "available_tiers",
    "default_sandbox",
]
