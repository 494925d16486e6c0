"""Turns of a policy: prompts of episodes in, answers out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from rlanything_agents.config.seeds import seed_of
from rlanything_agents.rollout.episode import Episode
from rlanything_agents.rollout.renderer import Renderer
from rlanything_envs.errors import InfrastructureError
from rlanything_envs.llm.errors import RunMustStop
from rlanything_envs.llm.generator import Completion, SamplingParams, SeenPrompt, TextGenerator

__all__ = ["Policy", "Turns"]


@dataclass(frozen=True, slots=True)
class Policy:
    """Generator that samples the policy's turns, and renderer of its episodes.

    Attributes:
        engine: Generator of the answers; it must return sampled ids and log-probabilities.
        renderer: Renders messages to prompts, and parses answers to actions.
    """

    engine: TextGenerator
    renderer: Renderer


@dataclass(frozen=True, slots=True)
class Turns:
    """Sampler of the answers of a turn.

    Attributes:
        policy: Policy that answers.
        seed: Seed of the sampling.
        first: Number of the first of the episodes in the whole rollout.
        temperature: Temperature of the sampling; 0 takes the most probable token.
        top_p: Probability that the tokens to sample from reach together.
        stop: Texts that end an answer.
        constrained: Whether answers must have the form that the environment offers.
        deadline: Maximum seconds of an episode, or None.
    """

    policy: Policy
    seed: int
    first: int
    temperature: float
    top_p: float
    stop: tuple[str, ...]
    constrained: bool
    deadline: float | None = None

    def sample(self, episodes: Sequence[Episode], numbers: Sequence[int]) -> int:
        """Sample the answers of these episodes.

        An episode whose next turn would exceed the context is cut off and has failed. An episode whose answer the
        engine could not generate ends with an infrastructure failure; one whose time is up, with a failure of whoever
        took the time (`Episode.expire`).

        Args:
            episodes: Live episodes.
            numbers: Their numbers within this call of `rollout`.

        Returns:
            Number of answers that the engine failed to generate.

        Raises:
            RunMustStop: The engine failed on all of several answers.
            ValueError: The engine hides the ids it sampled.
        """
        renderer = self.policy.renderer
        live: list[tuple[Episode, list[int] | SeenPrompt, int]] = []
        now = time.monotonic()
        for episode, number in zip(episodes, numbers, strict=True):
            prompt = episode.prompt()
            if self.deadline is not None and now - episode.since > self.deadline:
                episode.expire(self.deadline)
            elif len(prompt) + renderer.limit > renderer.context:
                episode.cut(len(prompt))
            else:
                live.append((episode, prompt, self.first + number))
        if not live:
            return 0
        params = SamplingParams(
            renderer.limit,
            temperature=self.temperature,
            top_p=self.top_p,
            stop=self.stop,
            seeds=tuple(seed_of(self.seed, number, len(episode.steps)) for episode, _, number in live),
            choices=tuple(episode.info.get("choices") for episode, *_ in live) if self.constrained else (),
            keys=tuple(number for *_, number in live),
        )
        answers = self.policy.engine.generate([prompt for _, prompt, _ in live], params)
        failed = 0
        for (episode, prompt, _), (answer,) in zip(live, answers, strict=True):
            if error := _error(answer):
                episode.fail(InfrastructureError(f"the policy's turn was not written: {error}"))
                failed += 1
            elif answer.token_ids is None or answer.logprobs is None:
                raise ValueError("the policy's generator must return token ids and log-probabilities")
            else:
                episode.take(answer, prompt)
        if failed == len(live) > 1:
            raise RunMustStop(f"the policy's generator wrote none of {failed} turns: {_error(answers[-1][0])}")
        return failed


def _error(answer: Completion) -> str:
    if answer.finish_reason == "error":
        return answer.error or "the generator gives no reason"
    return "" if answer.token_ids or answer.token_ids is None else "no tokens"
