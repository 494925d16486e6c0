"""Episodes as conversations: first messages carry the manual, answers may hold prose, failures are exceptions."""

import json
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_desktop import SCRIPTED

from rlanything_envs import Conversation
from rlanything_envs.alfworld.commands import MANUAL, read_answer
from rlanything_envs.errors import InfrastructureError, InvalidAction, SettingError
from rlanything_task_pools import Task, TaskFormatError, get_domain


@pytest.mark.parametrize(
    ("written", "command"),
    [
        ("look", "look"),
        ("I should look around.\nAction: go to fridge 1", "go to fridge 1"),
        ("Action: look\nNo, wait.\n**Action:** `open fridge 1`", "open fridge 1"),
        ("<think>Action: look</think>\nAction: inventory", "inventory"),
        ("I think so. <action>take apple 1 from fridge 1</action> Done.", "take apple 1 from fridge 1"),
        ("> move mug 1 to shelf 1", "move mug 1 to shelf 1"),
        ("", ""),
        ("Action:\n", ""),
    ],
)
def test_the_command_in_an_answer(written: str, command: str) -> None:
    assert read_answer(written) == command


@given(st.text(max_size=400))
def test_any_answer_is_read_as_one_line(written: str) -> None:
    assert "\n" not in read_answer(written)


@given(st.text(max_size=200), st.sampled_from(["go to fridge 1", "heat egg 2 with microwave 1"]))
def test_a_marked_command_is_found_behind_any_prose(prose: str, command: str) -> None:
    assert read_answer(f"{prose.replace('<', '')}\nAction: {command}") == command


def test_alfworld_is_won_by_answers_in_prose() -> None:
    task = get_domain("alfworld").generate(3)
    with Conversation("RLAnything/AlfWorld-v0") as conversation:
        turn = conversation.start(task)
        assert turn.text.startswith(MANUAL)
        assert turn.commands
        for command in task.proof:
            assert not turn.done
            turn = conversation.answer(f"Because of the task.\nAction: {command}")
        assert (turn.won, turn.reward, turn.terminated, turn.info["task_id"]) == (True, 1.0, True, task.id)


@pytest.mark.parametrize("form", [lambda task: task, Task.to_json, lambda task: json.loads(task.to_json())])
def test_a_task_is_named_in_any_form(form: Callable[[Task], Any]) -> None:
    task = get_domain("alfworld").generate(3)
    with Conversation("RLAnything/AlfWorld-v0") as conversation:
        assert conversation.start(form(task)).info["task_id"] == task.id
        with pytest.raises(TaskFormatError):
            conversation.start("{}")


def test_time_that_runs_out_is_a_loss() -> None:
    with Conversation("RLAnything/AlfWorld-v0", max_episode_steps=2) as conversation:
        conversation.start(seed=1)
        conversation.answer("look")
        turn = conversation.answer("look")
        assert (turn.truncated, turn.won, turn.info["outcome"]) == (True, False, -1)


def test_the_desktop_speaks_in_text() -> None:
    with Conversation("RLAnything/OSWorld-v0", **SCRIPTED) as conversation:
        assert "pyautogui" in conversation.start(seed=0).text
        assert conversation.answer("DONE").done


def test_a_failure_is_no_turn() -> None:
    class Broken(gym.Env[str, str]):
        def reset(self, *, seed: int | None = None, options: object = None) -> tuple[str, dict[str, object]]:
            return "hello", {"task_id": "t-1", "outcome": None}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, object]]:
            return "", 0.0, False, True, {"task_id": "t-1", "outcome": "error", "error": "the engine broke"}

    conversation = Conversation(Broken())
    assert conversation.start().text == "hello"
    with pytest.raises(InfrastructureError, match="t-1: the engine broke"):
        conversation.answer("look")


def test_what_is_no_text_is_refused() -> None:
    with Conversation(gym.make("CartPole-v1")) as conversation, pytest.raises(SettingError, match="has no text"):
        conversation.start(seed=0)
    with Conversation("RLAnything/AlfWorld-v0") as conversation:
        conversation.start(seed=0)
        with pytest.raises(InvalidAction):
            conversation.answer(3)  # type: ignore[arg-type]
