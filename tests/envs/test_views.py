"""Views: the full one of every environment, the short ones of those that have one, and errors that name the choice."""

import json
import pickle
from typing import Any

import gymnasium as gym
import pytest
from coding_tasks import make_task
from hypothesis import given
from hypothesis import strategies as st
from scripted_desktop import SCRIPTED

from rlanything_envs import Unicode
from rlanything_envs.registration import REGISTRATIONS
from rlanything_envs.testing import check_text_env
from rlanything_envs.views import ShortWrapper, View, get_view, make_env
from rlanything_task_pools import UnknownName

IDS = [row.id for row in REGISTRATIONS]
SHORT = [row.id for row in REGISTRATIONS if row.short]
PROSE = st.lists(st.text("abcxyz", min_size=1, max_size=6), max_size=6).map(" ".join)


@pytest.mark.parametrize("env_id", IDS)
@given(thought=PROSE, action=PROSE)
def test_what_the_full_view_writes_it_reads(env_id: str, thought: str, action: str) -> None:
    view = get_view(env_id, "full")
    assert view.read(view.write(thought, action)) == (thought, action)


@pytest.mark.parametrize(
    ("answer", "thought", "action"),
    [
        ("It is cold.\nAction: open fridge 1", "It is cold.", "open fridge 1"),
        ("It is cold.\n> **Action:** `open fridge 1`", "It is cold.", "open fridge 1"),
        ("cold <action>look</action> done", "cold", "look"),
        ("<think>cold?</think>So.\nACTION : look", "cold?\nSo.", "look"),
        ("look", "", "look"),
        ("Action: look at this", "", "look at this"),
        ("I think of action\nlook", "I think of action", "look"),
        ("<think>endless", "endless", ""),
        ("", "", ""),
    ],
)
def test_what_stands_before_an_action_is_thought(answer: str, thought: str, action: str) -> None:
    assert get_view("RLAnything/AlfWorld-v0", "full").read(answer) == (thought, action)


@pytest.mark.parametrize("env_id", IDS)
def test_a_full_view_is_the_environment_itself(env_id: str) -> None:
    env = make_env(env_id, **(SCRIPTED if "OSWorld" in env_id else {}))
    assert isinstance(env.observation_space, Unicode)
    assert get_view(env_id, "full").manual == getattr(env.unwrapped, "manual", "")
    env.close()


@pytest.mark.parametrize("env_id", IDS)
def test_views_go_to_other_processes(env_id: str) -> None:
    for name in ("full", "short") if env_id in SHORT else ("full",):
        view = get_view(env_id, name)
        copy = pickle.loads(pickle.dumps(view))
        assert copy.read("<think>a</think> look") == view.read("<think>a</think> look")
        assert dict(copy.arguments) == dict(view.arguments)


@pytest.mark.parametrize("env_id", SHORT)
def test_a_short_view_has_a_closed_vocabulary(env_id: str) -> None:
    view = get_view(env_id, "short")
    assert view.name == "short"
    assert len(set(view.words)) == len(view.words) < 300
    env = make_env(env_id, "short")
    assert isinstance(env, ShortWrapper)
    env.close()


#: Without which an environment would spend its time on generated problems.
QUICK: dict[str, dict[str, Any]] = {
    "RLAnything/Coding-v0": {"tasks": [json.loads(make_task(text).to_json()) for text in ("Add.", "Sum.")]}
}


@pytest.mark.parametrize("env_id", [SHORT[0], *(pytest.param(env_id, marks=pytest.mark.slow) for env_id in SHORT[1:])])
def test_a_short_view_is_a_text_environment(env_id: str) -> None:
    check_text_env(make_env(env_id, "short", **QUICK.get(env_id, {})), steps=8)


def test_an_argument_of_the_caller_wins() -> None:
    assert make_env("RLAnything/AlfWorld-v0", "short", admissible="list").unwrapped.admissible == "list"


@pytest.mark.parametrize(("env_id", "there"), [(SHORT[0], "'full' and 'short'"), ("Mute-v0", "'full' alone")])
def test_an_unknown_view_is_an_error_that_names_those_there_are(
    env_id: str, there: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = gym.envs.registration.EnvSpec("Mute-v0", entry_point=Mute)
    monkeypatch.setitem(gym.registry, "Mute-v0", spec)
    for name in ("tiny", "short") if env_id == "Mute-v0" else ("tiny",):
        with pytest.raises(UnknownName, match=f"{env_id} has no view '{name}': .*{there}"):
            get_view(env_id, name)
        with pytest.raises(UnknownName):
            make_env(env_id, name)
    with pytest.raises(gym.error.Error):
        get_view("RLAnything/Nothing-v0", "full")


class Mute(gym.Env[str, str]):
    """An environment of another maker."""

    observation_space = action_space = Unicode(9)


class Loud(Mute):
    """One with a short view of its own."""

    short_view = f"{__name__}:LOUD"


LOUD = View("short", lambda text: ("", text.upper()), lambda thought, action: action.lower())


def test_environments_of_other_makers_have_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gym.registry, "Loud-v0", gym.envs.registration.EnvSpec("Loud-v0", entry_point=Loud))
    assert get_view("json:Loud-v0", "short").read("a") == LOUD.read("a") == ("", "A")
    full = get_view("Loud-v0", "full")
    assert (full.manual, full.words, dict(full.arguments)) == ("", (), {})
    assert full.read("<think>a</think> b") == ("a", "b")
    assert json.dumps(dict(full.arguments)) == "{}"
