"""Views: the texts that an agent reads and writes in a domain, in full or in the few words of a short view.

The full view keeps the environment's own texts, for pretrained models. A short view is a wrapper that shortens
observations and reads short answers, for small models and small budgets.

```python
from rlanything_envs.views import get_view, make_env

env, view = make_env("RLAnything/AlfWorld-v0", "short"), get_view("RLAnything/AlfWorld-v0", "short")
observation, info = env.reset(seed=0)
answer = view.write("find apple", info["admissible_commands"][0])
observation, reward, terminated, truncated, info = env.step(answer)
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import load_env_creator

from rlanything_envs.llm.choices import Form
from rlanything_envs.registration import REGISTRATIONS, text_arguments
from rlanything_envs.spaces import Unicode
from rlanything_envs.thoughts import split_thought
from rlanything_task_pools import UnknownName

__all__ = ["ShortWrapper", "View", "get_view", "make_env"]

MAX_OBSERVATION_LENGTH = 32_768
"""Longest short observation in code points; in practice it has at most some hundred words."""


@dataclass(frozen=True)
class View:
    """Texts of one environment as an agent reads and writes them.

    Attributes:
        name: ``full`` or ``short``.
        read: Splits an answer into a thought and the action for ``env.step``; never raises. An answer that it cannot
            read becomes the action unchanged, so that the environment's own message explains the fault.
        write: Joins a thought and an action to an answer, as demonstrations contain it;
            ``read(write(thought, action)) == (thought, action)``.
        manual: Instructions at the beginning of the first user message; empty where the observations suffice.
        words: The closed vocabulary of its observations, answers and judgements; empty where the vocabulary is open. A
            word may hold a blank (``go to``). The colon that ends a thought is not a word.
        arguments: Arguments of the environment that the view needs.
        wrapper: Class that wraps the environment; None where the view needs no wrapper.
        brief: Shortens an action of ``read`` to what a memory of the turn should hold; empty where the message after
            the action names it.
    """

    name: str
    read: Callable[[str], tuple[str, str]]
    write: Callable[[str, str], str]
    manual: str = ""
    words: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    wrapper: Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]] | None = None
    brief: Callable[[str], str] = str


def get_view(env_id: str, name: str) -> View:
    """A view of a registered environment.

    Every environment whose observations are texts has a full view, made from its class: ``manual``, ``read_answer`` and
    ``brief_action``, where it has them. A short view is listed in the table of `rlanything_envs.registration`; an
    environment of another package names its own as ``short_view = "package.module:NAME"``.

    Args:
        env_id: As `gymnasium.make` takes it.
        name: ``full`` or ``short``.

    Raises:
        UnknownName: The environment has no view of that name.
        gymnasium.error.Error: There is no such environment.
    """
    module, _, plain = env_id.rpartition(":")
    if module:
        import_module(module)
    entry_point = gym.spec(plain).entry_point
    made_by = load_env_creator(entry_point) if isinstance(entry_point, str) else entry_point
    place = next((row.short for row in REGISTRATIONS if row.id == plain), None) or getattr(made_by, "short_view", None)
    if name == "full":
        return _full(plain, made_by)
    if name == "short" and place:
        package, _, attribute = place.partition(":")
        view: View = getattr(import_module(package), attribute)
        return view
    there = "'full' and 'short'" if place else "'full' alone"
    raise UnknownName(f"{plain} has no view {name!r}: choose one of those it has, {there}")


def make_env(env_id: str, view: str = "full", **arguments: Any) -> gym.Env[Any, Any]:
    """An environment in one of its views.

    Args:
        env_id: As `gymnasium.make` takes it.
        view: ``full`` or ``short``.
        arguments: Arguments of `gymnasium.make`; they take precedence over those of the view.

    Raises:
        UnknownName: The environment has no view of that name.
        gymnasium.error.Error: There is no such environment.
    """
    chosen = get_view(env_id, view)
    env = gym.make(env_id, **{**chosen.arguments, **arguments})
    return env if chosen.wrapper is None else chosen.wrapper(env)


class ShortWrapper(gym.Wrapper[str, str, Any, Any], gym.utils.RecordConstructorArgs):
    """Base class of the wrappers of short views.

    ``info`` gets ``choices``, the form of the next answer (`rlanything_envs.llm.choices`), while the episode runs; and
    ``message``, the environment's own message of this turn, unshortened.

    Args:
        env: The environment.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        self.observation_space = Unicode(MAX_OBSERVATION_LENGTH)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode."""
        seen, info = self.env.reset(seed=seed, options=options)
        text, message = self.opening(seen, info)
        return text, {**info, "message": message, "choices": self.choices(info)}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a whole answer, or an action alone."""
        given = self.action_of(action) if isinstance(action, str) else action
        seen, reward, terminated, truncated, info = self.env.step(given)
        text, message = self.later(seen, info)
        info = {**info, "message": message}
        if not (terminated or truncated):
            info["choices"] = self.choices(info)
        return text, float(reward), terminated, truncated, info

    def action_of(self, answer: str) -> Any:
        """The environment's action for an answer."""
        raise NotImplementedError

    def opening(self, seen: Any, info: Mapping[str, Any]) -> tuple[str, str]:
        """The first observation in short, and the environment's own message."""
        raise NotImplementedError

    def later(self, seen: Any, info: Mapping[str, Any]) -> tuple[str, str]:
        """A later observation in short, and the environment's own message."""
        raise NotImplementedError

    def choices(self, info: Mapping[str, Any]) -> Form:
        """The form of the next answer."""
        raise NotImplementedError


def _full(env_id: str, made_by: Any) -> View:
    reader: Callable[[str], str] | None = getattr(made_by, "read_answer", None)
    return View(
        name="full",
        read=split_thought if reader is None else partial(_read, reader),
        write=_write_tagged if reader is None else _write_marked,
        manual=str(getattr(made_by, "manual", "")),
        arguments=text_arguments(env_id),
        brief=getattr(made_by, "brief_action", str),
    )


def _read(reader: Callable[[str], str], text: str) -> tuple[str, str]:
    """Thought and action of an answer; all text before the action is the thought, marked as one or not."""
    thought, answer = split_thought(text)
    action = reader(answer)
    # Last occurrence of the action, searched in the reversed text: `rfind` can take quadratic time, `find` does not.
    behind = answer[::-1].find(action[::-1]) if action else 0
    prose = answer[: len(answer) - behind - len(action)] if behind >= 0 else answer
    return "\n".join(part for part in (thought, _without_mark(prose)) if part), action


_SPACE = " \t\r\n\f\v*_`\"'"
_AROUND = f"{_SPACE}>#-"
"""Characters that may surround the mark of an action."""


def _without_mark(prose: str) -> str:
    """The prose before an action without its mark, ``Action:`` or ``<action>``."""
    prose = prose.rstrip(_SPACE)
    if prose.endswith(":") and (bare := prose[:-1].rstrip(_SPACE))[-6:].lower() == "action":
        prose = bare[:-6]
    elif prose[-8:].lower() == "<action>":
        prose = prose[:-8]
    return prose.rstrip(_AROUND)


def _write_marked(thought: str, action: str) -> str:
    return f"{thought}\nAction: {action}" if thought else f"Action: {action}"


def _write_tagged(thought: str, action: str) -> str:
    return f"<think>{thought}</think>\n{action}" if thought else action
