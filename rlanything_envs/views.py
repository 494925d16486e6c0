"""How an agent reads and writes a domain: in full, or in the few words of a short view.

The full view of an environment is what it says and reads itself, for models that know the world. A short view is a
wrapper that makes observations brief and reads brief answers, for small models and small budgets.

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

__all__ = ["ShortWrapper", "UnknownView", "View", "get_view", "make_env"]

MAX_OBSERVATION_LENGTH = 32_768
"""In code points; a short observation has at most some hundred words."""


class UnknownView(LookupError):
    """The environment has no view of that name."""


@dataclass(frozen=True)
class View:
    """How an agent reads and writes one environment.

    Attributes:
        name: ``full`` or ``short``.
        read: Takes an answer apart into a thought and the action for ``env.step``; no text makes it fail. What it
            cannot read becomes the action as it is, so that the environment says what is wrong with it.
        write: The answer that has a thought and an action, as a demonstration gives it;
            ``read(write(thought, action)) == (thought, action)``.
        manual: How to act, the beginning of the first user message; empty where the observations say it all.
        words: All words of its observations and answers and of what is said about them, where these are a closed
            vocabulary; empty where they are not. A word may hold a blank (``go to``). A colon that ends a thought is
            no word.
        arguments: Arguments of the environment that the view needs.
        wrapper: What the environment is wrapped in.
    """

    name: str
    read: Callable[[str], tuple[str, str]]
    write: Callable[[str, str], str]
    manual: str = ""
    words: tuple[str, ...] = ()
    arguments: Mapping[str, Any] = field(default_factory=dict)
    wrapper: Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]] | None = None


def get_view(env_id: str, name: str) -> View:
    """A view of a registered environment.

    Every environment whose observations are texts has a full view, made from its class: ``manual`` and ``read_answer``,
    where it has them. A short view stands in the table of `rlanything_envs.registration`; the class of another maker
    names its own as ``short_view = "package.module:NAME"``.

    Args:
        env_id: As `gymnasium.make` takes it.
        name: ``full`` or ``short``.

    Raises:
        UnknownView: There is none of that name.
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
    raise UnknownView(f"{plain} has no view {name!r}: choose one of those it has, {there}")


def make_env(env_id: str, view: str = "full", **arguments: Any) -> gym.Env[Any, Any]:
    """An environment in one of its views.

    Args:
        env_id: As `gymnasium.make` takes it.
        view: ``full`` or ``short``.
        arguments: Of `gymnasium.make`; they win over those of the view.

    Raises:
        UnknownView: There is none of that name.
        gymnasium.error.Error: There is no such environment.
    """
    chosen = get_view(env_id, view)
    env = gym.make(env_id, **{**chosen.arguments, **arguments})
    return env if chosen.wrapper is None else chosen.wrapper(env)


class ShortWrapper(gym.Wrapper[str, str, Any, Any], gym.utils.RecordConstructorArgs):
    """What short views have in common.

    ``info`` gets ``choices``, the form of the next answer (`rlanything_envs.llm.choices`), while the episode runs; and
    ``message``, what the environment itself says in this turn.

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
        """What the environment is given for an answer."""
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
    )


def _read(reader: Callable[[str], str], text: str) -> tuple[str, str]:
    """What stands before the action is thought, whether or not it is marked as such."""
    thought, answer = split_thought(text)
    action = reader(answer)
    # The last place of the action, looked for from behind: `rfind` can take quadratic time, `find` does not.
    behind = answer[::-1].find(action[::-1]) if action else 0
    prose = answer[: len(answer) - behind - len(action)] if behind >= 0 else answer
    return "\n".join(part for part in (thought, _without_mark(prose)) if part), action


_SPACE = " \t\r\n\f\v*_`\"'"
_AROUND = f"{_SPACE}>#-"
"""What stands around the mark of an action."""


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
