"""The sandbox: runs untrusted programs on inputs, under limits, in processes without files, network or other rights.

It knows no expected outputs and gives no verdicts; these are in `rlanything_verifiers.coding`.
"""

from .errors import SandboxError, SandboxUnsupported, UnsafeSandbox
from .interaction import Interaction
from .limits import Limits
from .pool import Sandbox, default_sandbox
from .run import Run, Status
from .tier import Tier, available_tiers

__all__ = [
    "Interaction",
    "Limits",
    "Run",
    "Sandbox",
    "SandboxError",
    "SandboxUnsupported",
    "Status",
    "Tier",
    "UnsafeSandbox",
    "available_tiers",
    "default_sandbox",
]
