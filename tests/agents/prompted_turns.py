"""Episodes of turns with prompts of their own, and what samples of them teach."""

from collections.abc import Sequence

from rlanything_agents.rollout.trajectory import PromptedTurn, Trajectory
from rlanything_agents.training.samples import Sample


def episode_of(*turns: PromptedTurn) -> Trajectory:
    """A solved episode, without its texts."""
    return Trajectory("t", "", "", (), 1, "", 1.0, [], [], [], [], [], turns)


def assert_learnt_once(samples: Sequence[Sample], turns: Sequence[PromptedTurn]) -> None:
    """Each token of each answer is learnt once, after its own prompt; turn number k has the advantage 1 + k."""
    learnt = [
        (sample.advantages[t], (sample.prompt_ids + sample.completion_ids)[: len(sample.prompt_ids) + t + 1])
        for sample in samples
        for t, weight in enumerate(sample.weights)
        if weight
    ]
    assert learnt == [
        (1.0 + number, turn.prompt_ids + turn.token_ids[: t + 1])
        for number, turn in enumerate(turns)
        for t in range(len(turn.token_ids))
    ]
