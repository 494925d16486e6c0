"""The conformance suite, on environments of another maker: right ones pass, and each promise can be broken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import pytest
from parrots import Parrot

from rlanything_envs import Conversation
from rlanything_envs.testing import ConformanceError, check_text_env


@pytest.fixture
def parrot() -> Iterator[Any]:
    """Makes a parrot with a flaw."""
    made = []

    def make(flaw: str = "", entry_point: Any = "parrots:Parrot", **arguments: Any) -> Any:
        name = f"Parrot{len(made)}-v0"
        gym.register(name, entry_point=entry_point, kwargs={"flaw": flaw, **arguments} if flaw or arguments else {})
        made.append(name)
        return gym.make(name)

    yield make
    for name in made:
        del gym.registry[name]


@pytest.mark.parametrize("harmless", ["", "numpy", "domain", "commands"])
def test_what_is_right_passes(parrot: Any, harmless: str) -> None:
    check_text_env(parrot(harmless))


def test_what_passes_can_be_talked_to(parrot: Any) -> None:
    with Conversation(parrot()) as conversation:
        assert conversation.start(seed=0).text.startswith("hello")
        turns = [conversation.answer("a"), conversation.answer("b"), conversation.answer("c")]
        assert [turn.reward for turn in turns] == [0, 0, 1]
        assert turns[-1].won


FLAWS = {
    "space": ("Gymnasium's checker objects", "check_env"),
    "no-task": ("info lacks ['task_id']", "every reset and step"),
    "nameless": ("info['task_id'] is 7", "same on every machine"),
    "odd": ("info['outcome'] is 'won'", "then 1 or -1"),
    "odd-command": ("info['command'] is 'fine' after the action ''", "'unreadable' into info['command']"),
    "early-command": ("info['command'] is 'ok' before the first action", "None into that of a reset"),
    "lenient": ("info['command'] is 'ok' after the action ''", "'unreadable' into info['command']"),
    "early": ("a running episode has the reward 0 and the outcome 1", "until the end"),
    "early-reward": ("a running episode has the reward 0.5", "until the end"),
    "silent": ("a terminated episode has no outcome", "to 1 or -1"),
    "paid-error": ("that the machinery ended has the reward 1", "InfrastructureError"),
    "shared": ("a list is returned twice, ['look']", "anew in every call"),
    "any-action": ("the action None is not in the action space and must be refused", "raise TypeError"),
    "crash": ("breaks the environment (AttributeError", "raise TypeError"),
    "ends": ("a refused action ends the episode", "before anything else happens"),
    "forgets": ("cannot be played again", "options="),
    "other-task": ("asked for the task parrot-0123456789abcdef", "options="),
    "hash": ("plays seed 7 differently", "np_random"),
    "address": ("Gymnasium's checker objects: Deterministic", "check_env"),
    "close": ("Gymnasium's checker objects: Calling `env.close()` on the closed", "check_env"),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_each_promise_can_be_broken(parrot: Any, flaw: str) -> None:
    with pytest.raises(ConformanceError) as found:
        check_text_env(parrot(flaw))
    words, remedy = FLAWS[flaw]
    assert words in found.value.flaw
    assert remedy in found.value.remedy
    assert str(found.value) == f"{found.value.flaw}: {found.value.remedy}"


@pytest.mark.parametrize("flaw", ["nan", "text"])
def test_a_reward_is_a_finite_number(parrot: Any, flaw: str) -> None:
    with pytest.raises(ConformanceError, match=r"the reward is|Gymnasium's checker"):
        check_text_env(parrot(flaw))


def test_it_speaks_in_text(parrot: Any) -> None:
    with pytest.raises(ConformanceError, match=r"of the type ndarray has no text: return a str"):
        check_text_env(parrot(entry_point="parrots:Wordless"))


def test_it_comes_from_make() -> None:
    with pytest.raises(ConformanceError, match=r"no spec: make it with gymnasium\.make"):
        check_text_env(Parrot())


@pytest.mark.parametrize("thing", [{1, 2}, object(), (1, 2)])
def test_it_can_be_made_elsewhere(parrot: Any, thing: Any) -> None:
    with pytest.raises(ConformanceError, match=r"the spec .*string entry point"):
        check_text_env(parrot(thing=thing))


def test_its_entry_point_is_a_text(parrot: Any) -> None:
    with pytest.raises(ConformanceError, match=r"the spec .*string entry point"):
        check_text_env(parrot(entry_point=Parrot))


def test_other_processes_find_it(parrot: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    env = parrot()
    monkeypatch.setattr("sys.path", [])
    with pytest.raises(ConformanceError, match=r"(?s)fails in another process.*can be imported"):
        check_text_env(env)


def broken(env: gym.Env[Any, Any]) -> None:
    env.unwrapped.broken = True  # type: ignore[attr-defined]


@pytest.mark.parametrize(("flaw", "words"), [("", "shows as OSError"), ("unmasked", "gives the reward 0.0")])
def test_a_broken_engine_is_no_reward(parrot: Any, flaw: str, words: str) -> None:
    with pytest.raises(ConformanceError, match=words):
        check_text_env(parrot(flaw), break_engine=broken)
