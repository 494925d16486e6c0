"""Supervision of coding."""

from __future__ import annotations

from rlanything_agents.config import RunConfig
from rlanything_agents.domains.coding.lessons import CodingLessons
from rlanything_agents.domains.coding.short_tests import ShortTests
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.unit_test_reviewer import UnitTestReviewer
from rlanything_agents.reward_models.unit_tests import ChatTests

__all__ = ["SUPERVISION", "CodingSupervision"]


class CodingSupervision:
    """A reward model that writes unit tests, and demonstrations of programs and tests in the short view."""

    @property
    def lessons(self) -> CodingLessons:
        """Demonstrations of programs and unit tests, a share of them wrong."""
        return CodingLessons()

    def reviewer(self, config: RunConfig, model: JudgeModel) -> UnitTestReviewer:
        """Reviewer of a reward model that writes unit tests; in the words of the short view, where the run has it."""
        chat = ChatTests(config.judge.constrained and model.config.thinking is None)
        return UnitTestReviewer(config, model, ShortTests() if config.view == "short" else chat)


SUPERVISION = CodingSupervision()
"""The one instance; it has no state."""
