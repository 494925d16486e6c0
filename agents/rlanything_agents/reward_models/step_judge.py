r"""The generative reward model: it reads a step and writes a reason and a score, ``... \boxed{1}`` or ``\boxed{-1}``.

Its votes are sampled text, so that they can be wrong, differ from one another, and be learnt from.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from rlanything_agents.models.thoughts import split_thought
from rlanything_agents.rollout.dialect import StepDialect
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.training.samples import Sample
from rlanything_envs.llm.errors import ServiceLost
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, TextGenerator

if TYPE_CHECKING:
    from rlanything_agents.rollout.queries import Answer

__all__ = ["GenerativeRewardModel", "StepVotes", "Vote", "parse_score"]

_SCORE = re.compile(r"\\boxed\{(1|-1)\}\s*\Z")
_BOX = re.compile(r"\\boxed\{")


@lru_cache(maxsize=4096)  # short judgements repeat
def parse_score(text: str) -> int:
    r"""The score of a judgement: 1 or -1 from a text that ends in its only ``\boxed{...}``; 0 for any other text.

    What a judge thinks before it judges, up to ``</think>``, is not read; a thought that does not end has no score.
    """
    text = split_thought(text)[1]
    found = _SCORE.search(text)
    return int(found[1]) if found and len(_BOX.findall(text)) == 1 else 0


@dataclass(frozen=True, slots=True)
class Vote:
    """One sampled judgement of one step.

    Attributes:
        text: What the judge wrote.
        score: 1, -1, or 0 where the text has no score.
        token_ids: Its tokens, end of sequence included where it came.
        logprobs: Log-probability of each token at temperature 1.
    """

    text: str
    score: int
    token_ids: list[int]
    logprobs: list[float]


@dataclass(frozen=True, slots=True)
class StepVotes:
    """All votes on one step, and the prompt they answer.

    Attributes:
        prompt_ids: What the judge read.
        votes: What it said; none where it was not asked, or where it could not be heard.
        error: Why it could not be heard: the machinery failed, which says nothing about the step.
    """

    prompt_ids: list[int]
    votes: tuple[Vote, ...]
    error: str = ""

    @property
    def scores(self) -> tuple[int, ...]:
        """The score of each vote."""
        return tuple(vote.score for vote in self.votes)

    def samples(self, advantages: Sequence[float]) -> list[Sample]:
        """The votes as training data, one row each; votes of advantage 0 are left out.

        Args:
            advantages: One per vote.
        """
        return [
            Sample(
                prompt_ids=self.prompt_ids,
                completion_ids=vote.token_ids,
                weights=[1.0 / len(vote.token_ids)] * len(vote.token_ids),
                advantages=[advantage] * len(vote.token_ids),
                logprobs=vote.logprobs,
            )
            for vote, advantage in zip(self.votes, advantages, strict=True)
            if advantage
        ]


class GenerativeRewardModel:
    """Judges every step of a trajectory several times over.

    Args:
        generator: Writes the judgements; it must be trainable if the judge is to learn.
        dialect: Writes the prompts.
        max_tokens: Most tokens of a judgement.
    """

    def __init__(self, generator: TextGenerator, dialect: StepDialect, max_tokens: int = 4) -> None:
        self.generator = generator
        self.dialect = dialect
        self.max_tokens = max_tokens

    def judge(
        self, trajectories: Sequence[Trajectory], *, votes: int, seed: int, temperature: float = 1.0
    ) -> list[list[StepVotes]]:
        """Votes on every step of every trajectory, in order.

        Args:
            trajectories: What to judge; their outcome is not shown to the judge.
            votes: Samples per step.
            seed: Seed of the sampling.
            temperature: Of the sampling.

        Raises:
            ValueError: The generator hides the ids it sampled.
            ServiceLost: It failed on every one of several steps.
        """
        params = self.params(votes=votes, seed=seed, temperature=temperature)
        prompts = [prompt for trajectory in trajectories for prompt in self.questions(trajectory)]
        answers = self.generator.generate(list(prompts), params)
        steps = iter(self.votes(list(zip(prompts, answers, strict=True))))
        return [[next(steps) for _ in trajectory.steps] for trajectory in trajectories]

    def questions(self, trajectory: Trajectory) -> list[list[int]]:
        """What it reads: a prompt for each step."""
        return self.dialect.judge_prompts(trajectory.opening, trajectory.steps)

    def params(self, *, votes: int, seed: int, temperature: float = 1.0) -> SamplingParams:
        """How it is asked; see `judge`."""
        return SamplingParams(self.max_tokens, temperature=temperature, n=votes, seed=seed)

    @staticmethod
    def votes(answers: Sequence[Answer]) -> list[StepVotes]:
        """The votes on each step, from the answers to its prompt.

        Raises:
            ValueError: The generator hides the ids it sampled.
            ServiceLost: It failed on every one of several steps.
        """
        judged = [_step_votes(prompt, completions) for prompt, completions in answers]
        if len(judged) > 1 and all(step.error for step in judged):
            raise ServiceLost(f"the reward model's generator judged none of {len(judged)} steps: {judged[-1].error}")
        return judged


def _step_votes(prompt: Prompt, completions: Sequence[Completion]) -> StepVotes:
    ids, votes = cast(list[int], prompt), []
    for completion in completions:
        if completion.finish_reason == "error" or completion.token_ids == []:
            return StepVotes(ids, (), completion.error or "the generator does not say why")
        if completion.token_ids is None or completion.logprobs is None:
            raise ValueError("the judge's generator must return token ids and log-probabilities")
        votes.append(Vote(completion.text, parse_score(completion.text), completion.token_ids, completion.logprobs))
    return StepVotes(ids, tuple(votes))
