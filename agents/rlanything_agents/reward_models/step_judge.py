r"""The generative reward model of steps: it reads a step, and writes a reason and a score, ``... \boxed{1}`` or
``\boxed{-1}``.

Votes are sampled text: they can be wrong, they differ from one another, and the model can be trained on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from rlanything_agents.feedback.forecast import BINS
from rlanything_agents.reward_models.forecasts import ForecastPrompts
from rlanything_agents.reward_models.step_prompts import StepPrompts, boxes_of
from rlanything_agents.rollout.queries import Answer, QueriesAtEnd, Query
from rlanything_agents.rollout.trajectory import Trajectory
from rlanything_agents.training.samples import Allowed, Sample, answer_sample
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.generator import Completion, Prompt, SamplingParams, SeenPrompt, TextGenerator
from rlanything_envs.message import Image

__all__ = ["StepJudge", "StepVotes", "Vote", "parse_score"]

_SCORES = {"1": 1, "+1": 1, "-1": -1}


@lru_cache(maxsize=4096)  # short judgements repeat
def parse_score(text: str) -> int | None:
    r"""Parse the score of a judgement: 1 or -1 where all of its boxes hold this number, else None.

    Text may follow a box (``\boxed{1}.``), and a box may be repeated. Boxes that differ, one that is cut off or holds
    anything else included, contradict each other: the text has no score, since no box is more than the others what the
    judge means (a judge that quotes its instruction writes both). A judge's thought, up to ``</think>``, is not read; a
    text whose thought does not end has no score. Linear in the length of the text.
    """
    scores = {_SCORES.get(inside) for inside in boxes_of(text)}
    return scores.pop() if len(scores) == 1 else None


@dataclass(frozen=True, slots=True)
class Vote:
    """One sampled judgement of one step.

    Attributes:
        text: The judge's answer.
        score: 1 or -1, or another number from a source that is no judge; None where the text has no score.
        token_ids: Tokens of the answer, with the end of sequence where it was sampled.
        logprobs: Log-probability of each token at temperature 1.
        allowed: See `rlanything_envs.llm.generator.Completion`.
        sampled: Chance that the text forecasts, where it is a forecast; its score is then that of all chances.
    """

    text: str
    score: float | None
    token_ids: list[int]
    logprobs: list[float]
    allowed: list[Allowed | None] | None = None
    sampled: float | None = None


@dataclass(frozen=True, slots=True)
class StepVotes:
    """All votes on one step, with their prompt.

    Attributes:
        prompt_ids: Tokens of the prompt.
        votes: Sampled judgements; none where the judge was not queried, or where the generator failed.
        error: Infrastructure error of the generator; empty without one. It is no judgement of the step.
        images: Images of the prompt.
    """

    prompt_ids: list[int]
    votes: tuple[Vote, ...]
    error: str = ""
    images: tuple[Image, ...] = ()

    @property
    def scores(self) -> tuple[float | None, ...]:
        """The score of each vote; None for one without."""
        return tuple(vote.score for vote in self.votes)

    def samples(self, advantages: Sequence[float]) -> list[Sample]:
        """The votes as training data, one row each; votes of advantage 0 are left out.

        Args:
            advantages: One per vote.
        """
        return [
            answer_sample(self.prompt_ids, vote.token_ids, vote.logprobs, vote.allowed, advantage, self.images)
            for vote, advantage in zip(self.votes, advantages, strict=True)
            if advantage
        ]


class StepJudge:
    """Samples several votes on every step of a trajectory.

    Args:
        generator: Samples the judgements; it must return token ids and log-probabilities.
        prompts: Prompts of the steps, and the form of the judgements.
        max_tokens: Maximum tokens of a judgement.
    """

    def __init__(self, generator: TextGenerator, prompts: StepPrompts, max_tokens: int) -> None:
        self.generator = generator
        self.prompts = prompts
        self.max_tokens = max_tokens

    def judge(
        self, trajectories: Sequence[Trajectory], *, votes: int, seed: int, temperature: float = 1.0
    ) -> list[list[StepVotes]]:
        """Votes on every step of every trajectory, in order.

        Args:
            trajectories: Episodes to judge; the judge does not see their outcomes.
            votes: Samples per step.
            seed: Seed of the sampling.
            temperature: Temperature of the sampling; 0 takes the most probable tokens, and one vote.

        Raises:
            ValueError: The generator returns no token ids or log-probabilities.
            RunMustStop: The generator failed on every one of several steps.
        """
        asking = QueriesAtEnd(self.generator, self.params(votes=votes, seed=seed, temperature=temperature))
        for trajectory in trajectories:
            asking.add(self.queries(trajectory))
        steps = iter(self.votes(asking.answers()))
        return [[next(steps) for _ in trajectory.steps] for trajectory in trajectories]

    def queries(self, trajectory: Trajectory) -> list[Query]:
        """One query per step."""
        return [Query(prompt, self.prompts.form) for prompt in self.prompts.prompts(trajectory)]

    def params(self, *, votes: int, seed: int, temperature: float = 1.0) -> SamplingParams:
        """Sampling parameters; see `judge`."""
        odds = len(BINS) if isinstance(self.prompts, ForecastPrompts) else 0
        return SamplingParams(self.max_tokens, temperature=temperature, n=votes, seed=seed, odds=odds)

    def votes(self, answers: Sequence[Answer]) -> list[StepVotes]:
        """Parse the votes on each step from the answers to its prompt.

        Raises:
            ValueError: The generator returns no token ids or log-probabilities.
            RunMustStop: The generator failed on every one of several steps.
        """
        judged = [self._step_votes(query.prompt, completions) for query, completions in answers]
        if len(judged) > 1 and all(step.error for step in judged):
            raise RunMustStop(f"the reward model's generator judged none of {len(judged)} steps: {judged[-1].error}")
        return judged

    def _read(self, completion: Completion) -> tuple[float | None, float | None]:
        """Score of an answer, and the chance that it forecasts, where it is a forecast."""
        if isinstance(self.prompts, ForecastPrompts):
            return self.prompts.read(completion)
        return parse_score(completion.text), None

    def _step_votes(self, prompt: Prompt, completions: Sequence[Completion]) -> StepVotes:
        ids, images = (prompt.ids, prompt.images) if isinstance(prompt, SeenPrompt) else (cast(list[int], prompt), ())
        votes = []
        for completion in completions:
            if completion.finish_reason == "error" or completion.token_ids == []:
                return StepVotes(ids, (), completion.error or "the generator does not say why")
            if completion.token_ids is None or completion.logprobs is None:
                raise ValueError("the judge's generator must return token ids and log-probabilities")
            score, sampled = self._read(completion)
            ids_, logprobs, allowed = completion.token_ids, completion.logprobs, completion.allowed
            votes.append(Vote(completion.text, score, ids_, logprobs, allowed, sampled))
        return StepVotes(ids, tuple(votes), images=images)
