"""Any domain whose environment speaks in text, for pretrained models that chat.

The counterpart of a small model's `Dialect`: the same methods, but prompts are chats rendered by the model's own
template, a turn is written whole and freely, and what reaches the environment is what it reads in the turn
(``read_answer``), as for every other agent that writes text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator
from transformers import PreTrainedTokenizerBase

from rlanything_agents.config import PretrainedConfig
from rlanything_agents.models.template import ChatTemplate
from rlanything_agents.models.thoughts import split_thought
from rlanything_agents.rollout.constraint import Constraint
from rlanything_agents.rollout.dialect import Dialect, Expert, Judgement, Step, StepDialect, UnknownDialect, get_dialect
from rlanything_envs.curriculum.prompting import plain, plain_lines, render
from rlanything_envs.registration import text_arguments
from rlanything_task_pools import get_domain

if TYPE_CHECKING:
    from rlanything_agents.config import RunConfig
    from rlanything_agents.domains.lessons import ExpertLessons, Lessons
    from rlanything_agents.reward_models.reviewer import Reviewer
    from rlanything_agents.runs.learners import Learners

__all__ = ["ChatDialect", "StepChatDialect", "chat_dialect"]

_PROMPTS = Path(__file__).parent / "prompts"
MAX_OPENING = 20_000
MAX_SAID = 2_000
"""Characters of what was written, and of a message, that a judge reads of the step it judges."""
MAX_EARLIER = 300
"""Characters of an earlier action, and of an earlier message, that it reads."""
HISTORY = 24
"""Earlier steps that it reads, where they fit."""

_MARK = re.compile(r"[\s>*_#`\"'-]*(?:action[*_]*\s*:|<action>)?[\s*_`\"']*\Z", re.IGNORECASE)


class ChatDialect:
    """A domain in the chats of one model.

    Args:
        small: The domain's dialect for small models, which knows the truth about its steps.
        env_id: The domain's environment.
        template: Of the model.
        config: Uses ``max_tokens``, ``context`` and ``thinking``.
    """

    def __init__(self, small: Dialect, env_id: str, template: ChatTemplate, config: PretrainedConfig) -> None:
        self.small, self.template = small, template
        self.context, self.turn_limit = config.context, config.max_tokens
        self.anew = config.thinking == "strip"
        """Whether each turn reads a chat rendered anew, instead of a transcript that only grows."""
        made_by = load_env_creator(str(gym.spec(env_id).entry_point))
        self.manual = str(getattr(made_by, "manual", ""))
        self._read_answer: Callable[[str], str] | None = getattr(made_by, "read_answer", None)
        self.environment: Mapping[str, Any] = text_arguments(env_id)

    @property
    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The model's own."""
        return self.template.tokenizer

    @property
    def end_id(self) -> int:
        """The id that closes a response."""
        return self.template.end_id

    def wrapped(self, env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
        """The environment as it is."""
        return env

    def opening(self, observation: str) -> list[int]:
        """How to act and the first message, as the user's."""
        return self.template.prompt([self._first(observation)])

    def message(self, observation: str) -> list[int]:
        """A later message as the user's, and the beginning of a response."""
        return self.template.between(observation)

    def chat(self, opening: str, turns: Sequence[tuple[Sequence[int], str]]) -> list[int]:
        """The whole chat rendered anew, without earlier thoughts, up to the next response.

        Args:
            opening: The first message.
            turns: Of each turn so far the ids of the response, and the message that answered it.
        """
        messages = [self._first(opening)]
        for ids, observation in turns:
            messages.append({"role": "assistant", "content": split_thought(self.template.decode(ids))[1]})
            messages.append({"role": "user", "content": observation})
        return self.template.prompt(messages)

    def constraint(self, info: Mapping[str, Any]) -> Constraint:
        """There is none.

        Raises:
            UnknownDialect: Always: these models write freely.
        """
        raise UnknownDialect("a pretrained model writes freely; constrained decoding is for small models")

    def read_turn(self, ids: Sequence[int]) -> tuple[str, str]:
        """What the model thought or said before it acted, and what the environment is given of the rest."""
        thought, answer = split_thought(self.template.decode(ids))
        if self._read_answer is None:
            return thought, answer
        action = self._read_answer(answer)
        said = answer[: answer.rfind(action)] if action and action in answer else answer
        return "\n".join(part for part in (thought, _MARK.sub("", said)) if part), action

    @property
    def lessons(self) -> Lessons:
        """None in this domain.

        Raises:
            UnknownDialect: Always.
        """
        raise UnknownDialect("a pretrained model of this domain has no lessons: leave `lessons` off")

    def reviewer(self, config: RunConfig, learners: Learners) -> Reviewer[Any]:
        """The domain's own kind of reward model."""
        return self.small.reviewer(config, learners)

    def _first(self, observation: str) -> dict[str, str]:
        text = render(_PROMPTS / "policy.j2", manual=self.manual, observation=observation)
        return {"role": "user", "content": text}


class StepChatDialect(ChatDialect):
    """A domain whose reward model judges steps."""

    small: StepDialect
    thought_slots = ()

    def thought(self, thought: str) -> tuple[int, ...]:
        """A thought as an expert's turn begins with it."""
        return tuple(self.template.encode(f"I think: {self.template.safe(thought)}.\n")) if thought else ()

    def command(self, action: str) -> tuple[int, ...]:
        """A command as the manual wants it."""
        return (*self.template.encode(f"Action: {self.template.safe(action)}"), self.end_id)

    def expert(self, seed: int) -> Expert:
        """The domain's."""
        return self.small.expert(seed)

    def judge_prompts(self, opening: str, steps: Sequence[Step]) -> list[list[int]]:
        """A chat for each step, with as many of the earlier steps as fit into the context.

        Raises:
            ValueError: Not even the step itself fits.
        """
        return [self._judge_prompt(opening, steps[: number + 1]) for number in range(len(steps))]

    def judgement(self, judgement: Judgement) -> list[int]:
        """A reason, and the score in its box."""
        text = f"{self.template.safe(judgement.reason)}. \\boxed{{{judgement.score}}}"
        return [*self.template.encode(text), self.end_id]

    def opinions(self, opening: str, steps: Sequence[Step]) -> list[Judgement]:
        """The domain's rule of thumb."""
        return self.small.opinions(opening, steps)

    def true_labels(self, payload: Mapping[str, Any], steps: Sequence[Step]) -> list[int]:
        """The domain's truth."""
        return self.small.true_labels(payload, steps)

    @property
    def lessons(self) -> ExpertLessons:
        """The domain's expert and rule of thumb, in chats."""
        from rlanything_agents.domains.lessons import ExpertLessons

        return ExpertLessons(self)

    def _judge_prompt(self, opening: str, steps: Sequence[Step]) -> list[int]:
        history = min(HISTORY, len(steps) - 1)
        while True:
            prompt = self.template.prompt([{"role": "user", "content": _judged(opening, steps, history)}])
            if len(prompt) + self.turn_limit <= self.context:
                return prompt
            if not history:
                raise ValueError(
                    f"reward_model: a prompt of {len(prompt)} tokens and a judgement of {self.turn_limit} do not fit "
                    f"into a context of {self.context}: raise reward_model.context, or lower its max_tokens"
                )
            history //= 2


def chat_dialect(domain: str, template: ChatTemplate, config: PretrainedConfig) -> ChatDialect:
    """The dialect of a domain for a pretrained model.

    Raises:
        UnknownDomain, UnknownDialect: The domain is not installed, or nothing is known of its steps.
    """
    small, env_id = get_dialect(domain), get_domain(domain).env_id
    kind = StepChatDialect if isinstance(small, StepDialect) else ChatDialect
    return kind(small, env_id, template, config)


def _judged(opening: str, steps: Sequence[Step], history: int) -> str:
    """What a judge reads of the last of these steps: the words of others are quoted."""
    *before, step = steps
    first = len(before) - history
    earlier = [
        {"action": plain(s.action, MAX_EARLIER), "observation": plain(s.observation, MAX_EARLIER)} for s in before
    ]
    return render(
        _PROMPTS / "judge.j2",
        opening=plain_lines(opening, MAX_OPENING),
        left_out=first,
        first=first + 1,
        earlier=earlier[first:],
        number=len(steps),
        thought=plain_lines(step.thought, MAX_SAID),
        action=plain_lines(step.action, MAX_SAID),
        observation=plain_lines(step.observation, MAX_SAID),
    )
