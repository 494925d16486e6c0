"""Typed tools for TRL: its own schemas, its own trainer, and the episodes that they play."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted_desktop import SCRIPTED
from scripted_trainer import trained
from tool_moves import alfworld_move
from transformers.utils import get_json_schema

from rlanything_envs.adapters.rows import task_rows
from rlanything_envs.adapters.trl import OVER, tool_class, tool_environment
from rlanything_envs.alfworld.tools import TOOLS as ALFWORLD
from rlanything_envs.coding.tools import toolset
from rlanything_envs.conversation import ACT
from rlanything_envs.osworld.tools import TOOLS as OSWORLD
from rlanything_envs.tools import Toolset
from rlanything_task_pools import get_domain

ENV_ID = "RLAnything/AlfWorld-v0"


@pytest.mark.parametrize("tools", [ALFWORLD, toolset(8, "verbs"), OSWORLD, ACT])
def test_trl_sees_the_declared_schemas(tools: Toolset) -> None:
    instance = tool_class(tools).__new__(tool_class(tools))
    for tool in tools.values():
        seen = get_json_schema(getattr(instance, tool.name))["function"]
        assert (seen["name"], seen["description"]) == (tool.name, tool.description)
        ours, theirs = tool.parameters, seen["parameters"]
        assert theirs.get("required", []) == ours.get("required", [])
        assert list(theirs["properties"]) == list(ours["properties"])
        for name, schema in theirs["properties"].items():
            assert schema.items() <= {**ours["properties"][name], "items": {"type": "string"}}.items()


def test_trl_finds_the_tools_and_nothing_else() -> None:
    public = {name for name in dir(tool_class(ALFWORLD)) if not name.startswith("_")}
    assert public == {"reset", "get_reward", *ALFWORLD}
    assert tool_class(ALFWORLD) is tool_class(ALFWORLD)


def test_an_episode_by_calls() -> None:
    with tool_environment("RLAnything/Coding-v0", max_turns=4) as factory:
        env: Any = factory()
        task = get_domain("coding").generate(0)
        assert "RUN" not in env.reset(task=task.to_json())
        assert "there is no parameter 'program'. Call submit(code: string" in env.submit(program="x")
        assert env.turn.info["turns_left"] == 3
        assert "No action was taken: the argument 'code' is missing" in env.submit()
        assert env.submit(code=task.proof[0]).endswith(OVER)
        assert env.get_reward() == 1.0
        assert env.give_up() == OVER


def test_results_with_the_screen() -> None:
    arguments: dict[str, Any] = {**SCRIPTED, "observation": ["screenshot", "text"], "screen": (640, 480)}
    with tool_environment("RLAnything/OSWorld-v0", **arguments) as factory:
        env: Any = factory()
        for content in (env.reset(seed=0), env.press(key="down"), env.press(key="up", button="left")):
            image, text = content
            assert (text["type"], image["type"], image["image"].size) == ("text", "image", (640, 480))
        assert "no parameter 'button'" in text["text"]


def test_the_trainer_plays_by_tools(tmp_path: Path) -> None:
    task = get_domain("alfworld").generate(0)
    moves = [alfworld_move(command) for command in task.proof]
    calls = [("go_to", {}), *((move.tool, move.arguments) for move in moves)]

    def answer(place: int, text: str) -> tuple[str, dict[str, Any]] | None:
        played = text.count("<call>")
        return None if OVER in text or (played == 0 and place % 2) else calls[played]

    with tool_environment(ENV_ID) as factory:
        batch = trained(answer, factory, task_rows([task], "Play."), 2, tmp_path)
    assert (batch["log"]["reward"], batch["log"]["tools/failure_frequency"]) == (0.5, 0)
    winner = batch["texts"][int(batch["advantages"].argmax())]
    assert winner.count("<call>") == len(calls)
    assert "the argument 'receptacle' is missing" in winner
