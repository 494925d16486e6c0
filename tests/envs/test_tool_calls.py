"""Typed tools: declarations, malformed calls, and episodes that are those of agents that write text."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from json_values import JSON
from scripted_desktop import KINDS, SCRIPTED
from tool_moves import Move, alfworld_move, desktop_moves

from rlanything_envs import Conversation, ToolConversation, Turn
from rlanything_envs.alfworld.tools import TOOLS as ALFWORLD
from rlanything_envs.coding.actions import read_action
from rlanything_envs.coding.tools import toolset
from rlanything_envs.conversation import ACT
from rlanything_envs.errors import SettingError
from rlanything_envs.osworld.tools import TOOLS as OSWORLD
from rlanything_envs.tools import MAX_CALL_LENGTH, ToolCallError, Toolset
from rlanything_task_pools import Task, get_domain

CODING = toolset(8, "verbs")
TOOLSETS = {"alfworld": ALFWORLD, "coding": CODING, "osworld": OSWORLD, "act": ACT}


# --- episodes: text against tools ---


@dataclass(frozen=True)
class Side:
    """An environment as text agents and tool agents make it."""

    env_id: str
    common: dict[str, Any]

    def play(self, task: Task, moves: Iterator[Move] | list[Move]) -> list[tuple[Turn, Turn]]:
        """The messages that both agents get for the same actions."""
        with Conversation(self.env_id, **self.common) as text, ToolConversation(self.env_id, **self.common) as tools:
            got = [(text.start(task), tools.start(task))]
            for move in moves:
                if got[-1][0].done:
                    break
                got.append((text.answer(move.text), tools.call(move.tool, move.arguments)))
            return got


def check(got: list[tuple[Turn, Turn]]) -> None:
    """The first messages differ in the instructions alone, and nothing else does."""
    (first, tool_first), *later = got
    for line in tool_first.text.splitlines():
        assert line in first.text
    for text, tool in later:
        assert (text.text, text.reward, text.terminated, text.truncated) == (
            *(tool.text, tool.reward, tool.terminated, tool.truncated),
        )
        assert text.info["outcome"] == tool.info["outcome"]
        assert text.info["command"] == tool.info["command"]
        assert tool.info["call_error"] is None


ALFWORLD_SIDE = Side("RLAnything/AlfWorld-v0", {"max_episode_steps": 40})


@pytest.mark.parametrize("seed", range(25))
def test_alfworld_experts(seed: int) -> None:
    task = get_domain("alfworld").generate(seed)
    got = ALFWORLD_SIDE.play(task, list(map(alfworld_move, task.proof)))
    check(got)
    assert got[-1][1].won


@pytest.mark.parametrize("seed", range(25))
def test_alfworld_random_players(seed: int) -> None:
    task, dice = get_domain("alfworld").generate(seed), random.Random(seed)
    with Conversation(ALFWORLD_SIDE.env_id, **ALFWORLD_SIDE.common) as text:
        turn, moves = text.start(task), []
        while not turn.done:
            move = alfworld_move(dice.choice(turn.commands or []))
            moves.append(move)
            turn = text.answer(move.text)
    got = ALFWORLD_SIDE.play(task, moves)
    check(got)
    assert len(got) == len(moves) + 1
    assert got[-1][1].done


def coding_move(verb: str, code: str, stdin: str = "") -> Move:
    fence = "`````"
    text = f"So:\n{verb}\n{fence}python\n{code}\n{fence}" + (f"\n```stdin\n{stdin}```" if stdin else "")
    return Move(text, verb.lower(), {"code": code, **({"stdin": stdin} if stdin else {})})


PROGRAMS = [
    'print(1)\n"""\n```python\nprint(2)\n```\n"""',
    "print('</think>')",
    "x = {\n'name': 'submit'}\nprint('<function=submit><parameter=code>')",
    "print(input())\nraise SystemExit(3)",
    "print('é😀', '\\\\n', '\\t')",
    "x = (",
    "SUBMIT\nprint(3)",
]
SAFE = [code for code in PROGRAMS if "</think>" not in code and "<function" not in code and "submit'" not in code]
"""Those that can be written as text: an agent's text is searched for these marks everywhere."""


@pytest.mark.parametrize("seed", range(3))
def test_coding_players(seed: int) -> None:
    dice = random.Random(seed)
    task = get_domain("coding").generate(seed)
    side = Side("RLAnything/Coding-v0", {"max_turns": 5})
    proof = task.proof[0]
    moves = [coding_move("RUN", dice.choice(SAFE), "7 8\n"), coding_move("TEST", dice.choice([*SAFE, proof]))]
    moves.append(coding_move("SUBMIT", proof if seed % 2 == 0 else dice.choice(SAFE)))
    got = side.play(task, moves)
    check(got)
    assert got[-1][1].won == (seed % 2 == 0)
    assert got[-1][1].done


def test_coding_giving_up_and_running_out_of_turns() -> None:
    task, side = get_domain("coding").generate(0), Side("RLAnything/Coding-v0", {"max_turns": 2})
    check(side.play(task, [Move("GIVE_UP", "give_up")]))
    got = side.play(task, [coding_move("RUN", "print(1)")] * 2)
    check(got)
    assert (got[-1][1].done, got[-1][1].won) == (True, False)


@pytest.mark.parametrize(
    ("code", "action_format"),
    # Text before </think> is skipped, and the second format has no other way to write it.
    [(code, name) for code in PROGRAMS for name in ("verbs", "code") if name == "verbs" or "</think>" not in code],
)
def test_programs_arrive_as_they_are(code: str, action_format: Any) -> None:
    for turns in (1, 8):
        action = toolset(turns, action_format).action("submit", {"code": code})
        read = read_action(action, only_submit=turns == 1, action_format=action_format)
        assert (read.verb, read.code.rstrip("\n")) == ("SUBMIT", code)
    fenced = toolset(8, action_format).action("submit", {"code": f"```python\n{SAFE[-2]}\n```"})
    assert read_action(fenced, action_format=action_format).code.rstrip("\n") == SAFE[-2]


def test_languages_and_inputs_arrive() -> None:
    action = CODING.action("run", {"code": "int main() {}", "language": "cpp", "stdin": "a <b>\n```\n"})
    read = read_action(action, languages=("python", "cpp"))
    assert (read.verb, read.language, read.stdin) == ("RUN", "cpp", "a <b>\n```\n")


def test_coding_offers_what_counts() -> None:
    assert list(toolset(8, "verbs")) == ["run", "test", "submit", "give_up"]
    assert list(toolset(1, "verbs")) == ["submit", "give_up"]
    assert list(toolset(8, "code")) == ["submit"]


def desktop_random(dice: random.Random, steps: int) -> Iterator[Move]:
    for _ in range(steps):
        x, y, key = dice.randrange(1920), dice.randrange(1080), dice.choice(["enter", "down", "f2", "a", "escape"])
        yield dice.choice(
            [
                Move(f"pyautogui.click({x}, {y})", "click", {"x": x, "y": y}),
                Move(f"pyautogui.rightClick({x}, {y})", "right_click", {"x": x, "y": y}),
                Move(f"pyautogui.doubleClick({x}, {y})", "double_click", {"x": x, "y": y}),
                Move(f"pyautogui.moveTo({x}, {y})", "move_to", {"x": x, "y": y}),
                Move(f"pyautogui.press({key!r})", "press", {"key": key}),
                Move(f"pyautogui.write({key!r})", "type_text", {"text": key}),
                Move("pyautogui.hotkey('ctrl', 's')", "hotkey", {"keys": ["ctrl", "s"]}),
                Move("pyautogui.vscroll(-3)", "scroll", {"dy": -3}),
                Move("WAIT", "wait"),
            ]
        )
    yield Move("FAIL", "fail")


DESKTOP = Side("RLAnything/OSWorld-v0", {**SCRIPTED, "max_turns": 120})


@pytest.mark.parametrize("seed", range(12))
def test_desktop_experts(seed: int) -> None:
    task = get_domain("osworld").generate(seed, kinds=KINDS)
    got = DESKTOP.play(task, desktop_moves(task.proof))
    check(got)
    assert got[-1][1].won


@pytest.mark.parametrize("seed", range(6))
def test_desktop_random_players(seed: int) -> None:
    task = get_domain("osworld").generate(seed, kinds=KINDS)
    got = DESKTOP.play(task, desktop_random(random.Random(seed), 15))
    check(got)
    assert got[-1][1].done


def test_desktop_tools_in_relative_coordinates() -> None:
    arguments = {**SCRIPTED, "relative_coordinates": 1000}
    with ToolConversation("RLAnything/OSWorld-v0", **arguments) as conversation:
        opening = conversation.start(seed=0)
        assert "x and y run from 0 to 1000" in opening.text
        assert "Send one action" not in opening.text
        assert conversation.call("click", {"x": 500, "y": 1000}).info["command"] == "ok"
        assert "must be a number up to 1000" in conversation.call("click", {"x": 500, "y": 1001}).text


def test_desktop_tools_bring_the_screen() -> None:
    with ToolConversation(
        "RLAnything/OSWorld-v0", **SCRIPTED, observation=["screenshot", "text"], screen=(640, 480)
    ) as conversation:
        for turn in (conversation.start(seed=0), conversation.call("press", {"key": "down"})):
            assert turn.screen is not None
            assert turn.screen.size == (640, 480)


def test_another_action_space_has_no_tools() -> None:
    with pytest.raises(SettingError, match="action_space='computer_13'"):
        ToolConversation("RLAnything/OSWorld-v0", **SCRIPTED, action_space="pyautogui")


def test_instructions_are_left_out_for_tools_alone() -> None:
    for env_id, words in (
        ("RLAnything/AlfWorld-v0", "Send one command"),
        ("RLAnything/Coding-v0", "Send one action"),
        ("RLAnything/OSWorld-v0", "Send one action"),
    ):
        backend = SCRIPTED if "OSWorld" in env_id else {}
        with Conversation(env_id, **backend) as text, ToolConversation(env_id, **backend) as tools:
            assert words in text.start(seed=1).text
            assert words not in tools.start(seed=1).text


# --- malformed calls ---

MALFORMED: list[tuple[str, str, Any, type[ToolCallError], str]] = [
    ("alfworld", "fly", {}, ToolCallError, r"no tool 'fly'; call one of go_to"),
    ("alfworld", "go_to" * 1000, {}, ToolCallError, "…'; call one of"),
    ("alfworld", 3, {}, ToolCallError, "no tool 'int'"),  # type: ignore[list-item]
    ("alfworld", "go_to", {}, ToolCallError, r"'receptacle' is missing. Call go_to\(receptacle: string\)"),
    ("alfworld", "go_to", {"receptacle": 3}, ToolCallError, "'receptacle': input should be a valid string"),
    ("alfworld", "go_to", {"receptacle": ""}, ToolCallError, "at least 1 character"),
    ("alfworld", "go_to", {"receptacle": "x", "b": 1}, ToolCallError, "no parameter 'b'"),
    ("alfworld", "go_to", {"receptacle": "x" * 600}, ToolCallError, "at most 512"),
    ("alfworld", "look", "{", ToolCallError, r"not valid JSON. Call look\(\)"),
    ("alfworld", "look", "[" * 100_000, ToolCallError, "not valid JSON"),
    ("alfworld", "look", "[1]", ToolCallError, "not a JSON object"),
    ("alfworld", "look", 7, ToolCallError, "not a JSON object"),
    ("alfworld", "look", {1: 2}, ToolCallError, "not a JSON object"),
    ("alfworld", "look", "1" * (MAX_CALL_LENGTH + 1), ToolCallError, "at most"),
    ("coding", "submit", {"code": "x" * 200_000}, ToolCallError, "at most 131072"),
    ("coding", "submit", {"code": "x", "language": "cobol"}, ToolCallError, "'auto', 'python' or 'cpp'"),
    ("osworld", "click", {"x": "1", "y": None}, ToolCallError, "'x': input should be a valid number; 'y'"),
    ("osworld", "click", '{"x": NaN, "y": 1e999}', ToolCallError, "finite"),
    ("osworld", "click", '{"x": 1' + "0" * 5000 + ', "y": 1}', ToolCallError, "not valid JSON|valid number"),
    ("osworld", "hotkey", {"keys": ["a"] * 9}, ToolCallError, "at most 8"),
    ("osworld", "hotkey", {"keys": []}, ToolCallError, "at least 1"),
    ("osworld", "type_text", {"text": "x" * 40_000}, ToolCallError, "at most 32768"),
    ("act", "act", {}, ToolCallError, "'action' is missing"),
]


@pytest.mark.parametrize(("domain", "name", "arguments", "error", "words"), MALFORMED)
def test_malformed_calls(domain: str, name: str, arguments: Any, error: type[ToolCallError], words: str) -> None:
    with pytest.raises(error, match=words) as found:
        TOOLSETS[domain].action(name, arguments)
    assert type(found.value) is error
    assert len(str(found.value)) < 700


def test_messages_name_a_few_faults_only() -> None:
    with pytest.raises(ToolCallError) as found:
        OSWORLD.action("click", {f"{'k' * 500}{i}": i for i in range(1000)})
    assert len(str(found.value)) < 700


@pytest.mark.parametrize("env_id", ["RLAnything/AlfWorld-v0", "RLAnything/Coding-v0", "RLAnything/OSWorld-v0"])
def test_a_malformed_call_counts_as_an_unreadable_action(env_id: str) -> None:
    arguments: dict[str, Any] = {**SCRIPTED} if "OSWorld" in env_id else {}
    arguments |= {"max_episode_steps": 3} if "AlfWorld" in env_id else {"max_turns": 3}
    with Conversation(env_id, **arguments) as text, ToolConversation(env_id, **arguments) as tools:
        text.start(seed=2)
        tools.start(seed=2)
        for name, call in (("fly", {}), ("look", {"at": 1}), ("submit", "{")):
            one, other = text.answer("Hm."), tools.call(name, call)
            assert one.info["command"] == other.info["command"] == "unreadable"
            assert isinstance(other.info["call_error"], ToolCallError)
            assert other.text.startswith(f"No action was taken: {other.info['call_error']}.\n")
            assert other.text.count("No action was taken") == 1
            assert other.text.splitlines()[-1] == one.text.splitlines()[-1]
            assert (one.reward, one.terminated, one.truncated) == (other.reward, other.terminated, other.truncated)
            assert one.info["outcome"] == other.info["outcome"]
        assert one.done


@pytest.mark.parametrize("domain", TOOLSETS)
@settings(max_examples=40)
@given(data=st.data())
def test_any_call_is_an_action_or_a_typed_error(domain: str, data: st.DataObject) -> None:
    tools = TOOLSETS[domain]
    name = data.draw(st.sampled_from(list(tools)) | st.text())
    known = list(tools[name].parameters["properties"]) if name in tools else []
    keys = st.sampled_from([*known, "other"])
    arguments = data.draw(st.dictionaries(keys, JSON) | JSON | st.text())
    for given_ in (arguments, json.dumps(arguments)):
        try:
            action = tools.action(name, given_)
        except ToolCallError:
            continue
        assert isinstance(action, str)
        if given_ not in (None, ""):
            value = json.loads(given_) if isinstance(given_, str) else given_
            jsonschema.validate(value, tools[name].parameters)


# --- declarations ---


@pytest.mark.parametrize("domain", TOOLSETS)
def test_declarations_are_complete(domain: str) -> None:
    for schema, tool in zip(TOOLSETS[domain].schemas(), TOOLSETS[domain].values(), strict=True):
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        assert schema["function"]["description"].endswith(".")
        assert tool.name.isidentifier()
        for parameter in tool.parameters["properties"].values():
            assert parameter["description"]
            assert {"type"} <= parameter.keys()


def test_an_environment_without_tools_has_one() -> None:
    class Echo(gym.Env[str, str]):
        def reset(self, **_: Any) -> tuple[str, dict[str, Any]]:
            return "hello", {"task_id": "echo-1", "outcome": None}

        def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
            return action, 0.0, False, False, {"task_id": "echo-1", "outcome": None}

    conversation = ToolConversation(Echo())
    conversation.start()
    assert list(conversation.tools) == ["act"]
    assert conversation.call("act", '{"action": "hi"}').text == "hi"


def test_schemas_are_those_of_the_openai_client() -> None:
    from openai.types.chat import ChatCompletionMessageFunctionToolCall, ChatCompletionToolParam
    from pydantic import TypeAdapter

    adapter = TypeAdapter(ChatCompletionToolParam)
    for tools in TOOLSETS.values():
        for schema in tools.schemas():
            assert adapter.validate_python(schema) == schema
    call = ChatCompletionMessageFunctionToolCall.model_validate(
        {"id": "1", "type": "function", "function": {"name": "go_to", "arguments": '{"receptacle": "fridge 1"}'}}
    )
    assert ALFWORLD.action(call.function.name, call.function.arguments) == "go to fridge 1"


def test_toolsets_are_mappings() -> None:
    assert len(ALFWORLD) == 14
    assert ALFWORLD["slice"].usage == "slice(thing: string, knife: string)"
    assert {ALFWORLD: 1}[ALFWORLD] == 1


def test_names_of_the_control_are_taken() -> None:
    def reset() -> str:
        """Begin."""
        return ""

    with pytest.raises(SettingError, match="reset"):
        Toolset(reset)
