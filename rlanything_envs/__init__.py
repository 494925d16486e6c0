"""Gymnasium environments for language agents, and the curriculum that adapts their tasks.

Importing this package registers the environments (`rlanything_envs.registration`) and nothing heavy.
"""

from typing import TYPE_CHECKING, Any

from rlanything_envs.registration import register_all
from rlanything_envs.spaces import Unicode
from rlanything_envs.verdict import SettleOutcome, Verdict

if TYPE_CHECKING:
    from rlanything_envs.curriculum import AdaptiveDifficulty, Curriculum

__all__ = ["AdaptiveDifficulty", "Curriculum", "SettleOutcome", "Unicode", "Verdict"]

register_all()


def __getattr__(name: str) -> Any:
    # The curriculum brings the task pools along; whoever only plays does not wait for them.
    if name in ("AdaptiveDifficulty", "Curriculum"):
        from rlanything_envs import curriculum

        return getattr(curriculum, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
