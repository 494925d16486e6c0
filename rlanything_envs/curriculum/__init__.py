"""The curriculum: tasks that adapt to the agent that plays them."""

from rlanything_envs.curriculum.acceptance import (
    Acceptance,
    Decision,
    PaperAcceptance,
    ReferenceAcceptance,
    Tally,
    Trial,
    get_acceptance,
)
from rlanything_envs.curriculum.adaptive import AdaptiveDifficulty
from rlanything_envs.curriculum.curriculum import Assignment, Curriculum
from rlanything_envs.curriculum.rewriter import Request, Rewriter, Rewriting, ScriptedRewriter, get_rewriter

__all__ = [
    "Acceptance",
    "AdaptiveDifficulty",
    "Assignment",
    "Curriculum",
    "Decision",
    "PaperAcceptance",
    "ReferenceAcceptance",
    "Request",
    "Rewriter",
    "Rewriting",
    "ScriptedRewriter",
    "Tally",
    "Trial",
    "get_acceptance",
    "get_rewriter",
]
