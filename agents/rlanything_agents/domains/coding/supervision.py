"""What training knows of coding."""

from __future__ import annotations

from rlanything_agents.config import RunConfig
from rlanything_agents.domains.coding.lessons import CodingLessons
from rlanything_agents.domains.coding.short_tests import ShortTests
from rlanything_agents.reward_models.judge_model import JudgeModel
from rlanything_agents.reward_models.unit_test_reviewer import UnitTestReviewer
from rlanything_agents.reward_models.unit_tests import ChatTests

__all__ = ["SUPERVISION", "CodingSupervision"]


class CodingSupervision:
    """A reward model that writes unit tests, and programs and tests to imitate in the short view."""

    @property
    def lessons(self) -> CodingLessons:
        """Programs and tests, right and wrong ones."""
        return CodingLessons()

    def reviewer(self, config: RunConfig, model: JudgeModel) -> UnitTestReviewer:
        """The reward model writes unit tests, short ones in the short view."""
        return UnitTestReviewer(config, model, ShortTests() if config.view == "short" else ChatTests())


SUPERVISION = CodingSupervision()
"""Shared: it has no state of its own."""
