"""Gymnasium environments for language agents, and the curriculum that adapts their tasks.

Importing this package registers the environments (`rlanything_envs.registration`) and nothing heavy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rlanything_envs.registration import register_all
from rlanything_envs.spaces import Unicode
from rlanything_envs.verdict import Verdict

if TYPE_CHECKING:
    from rlanything_envs.conversation import Conversation, ToolConversation, Turn
    from rlanything_envs.curriculum import AdaptiveDifficulty, Curriculum, CurriculumSource

__all__ = [
    "AdaptiveDifficulty",
    "Conversation",
    "Curriculum",
    "CurriculumSource",
    "ToolConversation",
    "Turn",
    "Unicode",
    "Verdict",
]

register_all()


_LATE = {
    "AdaptiveDifficulty": "rlanything_envs.curriculum",
    "Curriculum": "rlanything_envs.curriculum",
    "CurriculumSource": "rlanything_envs.curriculum",
    "Conversation": "rlanything_envs.conversation",
    "ToolConversation": "rlanything_envs.conversation",
    "Turn": "rlanything_envs.conversation",
}
"""Names that are imported at their first use: their modules import the task pools, which an agent rarely needs."""


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
