"""The curriculum: success rates of a task pool decide which tasks are rewritten harder or easier.

`Curriculum` draws groups of episodes and acts on their outcomes, `CurriculumSource` is the same for a trainer of any
make and `AdaptiveDifficulty` as a Gymnasium wrapper. Rewriters, acceptance rules and critiques are its exchangeable
parts. The tasks themselves, their storage and the proof that a rewrite is solvable are in `rlanything_task_pools`;
training is in `rlanything_agents`.
"""

from rlanything_envs.curriculum.acceptance import (
    Acceptance,
    AlwaysAcceptance,
    Decision,
    PaperAcceptance,
    RecommendedAcceptance,
    ReferenceAcceptance,
    Tally,
    Trial,
    TrialRole,
    get_acceptance,
)
from rlanything_envs.curriculum.adaptive import AdaptiveDifficulty, StepJudge
from rlanything_envs.curriculum.critique import Critique, blamed_actions, task_critique
from rlanything_envs.curriculum.curriculum import Assignment, Curriculum, rewrite_direction
from rlanything_envs.curriculum.llm_rewriter import LLMRewriter
from rlanything_envs.curriculum.monitor import CurriculumMonitor, CurriculumRow, curriculum_metrics
from rlanything_envs.curriculum.open_groups import Group
from rlanything_envs.curriculum.rewriter import (
    FreshRewriter,
    Request,
    Rewriter,
    Rewriting,
    ScriptedRewriter,
    get_rewriter,
)
from rlanything_envs.curriculum.source import CurriculumSource
from rlanything_envs.curriculum.summary import (
    JudgedEpisode,
    JudgedStep,
    LLMSummariser,
    ScriptedSummariser,
    Summariser,
    Summary,
)

__all__ = [
    "Acceptance",
    "AdaptiveDifficulty",
    "AlwaysAcceptance",
    "Assignment",
    "Critique",
    "Curriculum",
    "CurriculumMonitor",
    "CurriculumRow",
    "CurriculumSource",
    "Decision",
    "FreshRewriter",
    "Group",
    "JudgedEpisode",
    "JudgedStep",
    "LLMRewriter",
    "LLMSummariser",
    "PaperAcceptance",
    "RecommendedAcceptance",
    "ReferenceAcceptance",
    "Request",
    "Rewriter",
    "Rewriting",
    "ScriptedRewriter",
    "ScriptedSummariser",
    "StepJudge",
    "Summariser",
    "Summary",
    "Tally",
    "Trial",
    "TrialRole",
    "blamed_actions",
    "curriculum_metrics",
    "get_acceptance",
    "get_rewriter",
    "rewrite_direction",
    "task_critique",
]
