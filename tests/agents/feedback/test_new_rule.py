"""A new credit rule: one function in a new file, and one line that names it."""

import sys
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from rlanything_agents.config import RunConfig
from rlanything_agents.config.feedback import CREDITS
from rlanything_agents.feedback import FeedbackConfig, group_feedback

LAST = '''
def last(worth, gamma):
    """The last vote is what every step is worth, discounted by how far off it is."""
    return worth[-1:] * gamma ** np.arange(len(worth))[::-1]
'''


def test_a_rule_is_a_function_and_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "last_credit.py").write_text(f"import numpy as np\n\n{LAST}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(CREDITS, "last", "last_credit:last")
    run = RunConfig.model_validate(
        {"name": "x", "feedback": {"credit": "last", "gamma": 0.5, "lam": 2.0, "policy_band": None, "silent": "return"}}
    )
    assert RunConfig.model_validate(run.model_dump(mode="json")).feedback == run.feedback
    votes = [np.array([[1.0], [-1.0], [1.0]]), np.array([[-1.0]])]
    group = group_feedback([1, -1], votes, run.feedback)
    assert group.rewards[0].tolist() == [1.5, 2.0, 3.0], "the outcome, and 2 times 1/4, 1/2 and 1"
    assert group.rewards[1].tolist() == [-3.0]
    assert group.policy[0][0] > 0 > group.policy[1][0]
    sys.modules.pop("last_credit")


def test_an_unknown_rule_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValidationError, match="no credit rule 'luck': choose one of vote, return, gigpo"):
        FeedbackConfig(credit="luck")
