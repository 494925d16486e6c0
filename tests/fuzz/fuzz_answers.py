"""What models and agents write, and what services answer: actions, rewrites, judgements, unit tests, completions."""

from __future__ import annotations

import json
import logging
from functools import cache
from pathlib import Path
from typing import Any

from fuzz_table import Target, as_text, of_file, of_json, of_text
from fuzz_tasks import task

from rlanything_agents.engines.controls import read_object
from rlanything_agents.reward_models.step_judge import parse_score
from rlanything_agents.reward_models.unit_test_answers import read_unit_test
from rlanything_envs.alfworld.commands import read_answer, to_command
from rlanything_envs.alfworld.short import read as read_short_alfworld
from rlanything_envs.alfworld.tools import TOOLS as ALFWORLD_TOOLS
from rlanything_envs.coding import actions as coding_actions
from rlanything_envs.coding.list_language import read_program
from rlanything_envs.coding.messages import ran
from rlanything_envs.coding.short import read as read_short_coding
from rlanything_envs.coding.tools import toolset
from rlanything_envs.curriculum import JudgedEpisode, JudgedStep, LLMSummariser, task_critique
from rlanything_envs.curriculum.llm_rewriter import read_proposal
from rlanything_envs.errors import Unreadable
from rlanything_envs.llm import ScriptedGenerator
from rlanything_envs.llm.errors import GeneratorError, RequestFailed
from rlanything_envs.llm.log import read_log
from rlanything_envs.llm.wire import is_about_length, parse_answer, retry_after
from rlanything_envs.osworld.actions import read_action
from rlanything_envs.osworld.clicks import clicks_of
from rlanything_envs.osworld.computer_13 import action_of, read_dictionary
from rlanything_envs.osworld.coordinates import absolute
from rlanything_envs.osworld.readers import READERS
from rlanything_envs.osworld.tools import TOOLS as OSWORLD_TOOLS
from rlanything_envs.tools import ToolCallError
from rlanything_task_pools import Rejection, get_domain
from rlanything_verifiers.alfworld import Game, World
from rlanything_verifiers.coding import JudgeError, Run
from rlanything_verifiers.coding.answers import AnswerError
from rlanything_verifiers.coding.answers import read as read_answers
from rlanything_verifiers.coding.checkers import Float, Lines, Python, TextChecker, Tokens, Unordered, YesNo
from rlanything_verifiers.coding.function import complaint, result
from rlanything_verifiers.coding.sandbox.frames import pack as pack_frame
from rlanything_verifiers.coding.sandbox.frames import unpack as unpack_frame

__all__ = ["TARGETS"]


# -- actions -------------------------------------------------------------------------------------------------------


@cache
def _game() -> Game:
    from rlanything_task_pools.alfworld.rewrite import scene_and_goal

    return Game(*scene_and_goal(task("alfworld")))


def _command(text: str) -> None:
    world = World(_game())
    world.step(to_command(text) or text)
    world.step(read_answer(text))


def _code(text: str) -> None:
    clicks_of(text, (1280, 720))
    absolute(read_action(text).code, (1280, 720), 1000.0)


def _dictionary(text: str) -> None:
    absolute(action_of(read_dictionary(text), (1280, 720)).code, (1280, 720), 1000.0)


def _tool_call(text: str) -> None:
    """Arguments of a tool of each domain, and its action; refused where none of them takes them."""
    refused = []
    calls = (ALFWORLD_TOOLS, "go_to"), (toolset(8, "verbs"), "run"), (OSWORLD_TOOLS, "click"), (OSWORLD_TOOLS, "hotkey")
    for tools, name in calls:
        try:
            assert isinstance(tools.action(name, text), str)
        except ToolCallError as error:
            refused.append(error)
    if len(refused) == len(calls):
        raise refused[0]


_CODING_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"only_submit": True, "entry_point": "f", "languages": ("python", "cpp")},
    {"action_format": "code"},
)


def _coding_action(text: str) -> None:
    """Read in all ways; refused where none of them finds an action."""
    refused = []
    for options in _CODING_OPTIONS:
        try:
            coding_actions.read_action(text, **options)
        except coding_actions.Unreadable as error:
            refused.append(error)
    if len(refused) == len(_CODING_OPTIONS):
        raise refused[0]


# -- rewrites and critiques ----------------------------------------------------------------------------------------


def _rewrite(text: str) -> None:
    proposal = read_proposal(text)
    if isinstance(proposal, Rejection):
        return
    for name in ("alfworld", "osworld"):
        result_ = get_domain(name).validate(task(name), proposal, direction="harder", author="a model")
        assert isinstance(result_, Rejection) or result_.id
    # Statements would be tried by running programs.
    knobs = get_domain("coding").with_operators(["knob"])
    assert knobs.validate(task("coding"), proposal, direction="harder", author="a model")


def _proposals() -> list[bytes]:
    import numpy as np

    rng = np.random.default_rng(0)
    domains = [get_domain(name) for name in ("alfworld", "coding", "osworld")]
    found = [
        json.dumps(
            [*domain.propose(task(domain.name), "harder", rng), *domain.propose(task(domain.name), "easier", rng)][0]
        )
        for domain in domains
    ]
    start = {"closed": ["gnome-terminal"], "done": ["/home/user/Desktop/a.txt"], "copies": None}
    found += [json.dumps({"instruction": None, "start": start}), json.dumps({"knobs": {"size": 200, "rule": None}})]
    return [text.encode() for text in found] + [f"I think so.\n```json\n{found[0]}\n```".encode()]


def _critique(text: str) -> None:
    steps = tuple(JudgedStep(action=text, observation=text, votes=(-1, -1)) for _ in range(2))
    episode = JudgedEpisode(goal=text, steps=steps, success=False)
    task_critique([episode]).text.encode()
    task_critique([episode], LLMSummariser(ScriptedGenerator([text]))).text.encode()


# -- programs and what they print ----------------------------------------------------------------------------------


def _returned(content: bytes) -> None:
    value = result(content)
    if isinstance(value, tuple):
        return
    for checker in (Float(), Unordered()):
        complaint(checker, "[1, 2.5, [3]]", value)
        complaint(checker, value.decode(errors="replace"), value)


def _printed(content: bytes) -> None:
    """An output that is compared with an expected one, and explained to the agent where it is the end of a run."""
    for checker in CHECKERS:
        for expected in (b"1 2.5\nyes", content[: len(content) // 2], content[::-1]):
            checker.complaint(expected, content)
    Python.answer(content)
    ran(Run("RE", content, content[-8192:]))


def _frame(content: bytes) -> None:
    place = 0

    def read(size: int) -> bytes:
        nonlocal place
        place += size
        return content[place - size : place]

    while unpack_frame(read) is not None:
        pass


def _named(tree: Any) -> None:
    from rlanything_agents.runs.tracking import evaluation_metrics, flatten

    if isinstance(tree, dict):
        flatten(tree)
        evaluation_metrics({"panels": {"a": tree}, "judge": tree})


def _log(path: Path) -> None:
    logger = logging.getLogger(read_log.__module__)
    logger.disabled = True  # it warns of each line that cannot be read
    try:
        list(read_log(path))
    finally:
        logger.disabled = False


CHECKERS: tuple[TextChecker, ...] = (Tokens(), Lines(), Float(), YesNo(), Unordered())
RECORD = {
    "v": 1,
    "key": "k",
    "model": "m",
    "prompt": [{"role": "user", "content": "x"}],
    "text": "y",
    "sample": 0,
    "params": {"temperature": 1.0},
    "finish_reason": "stop",
    "error": None,
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "estimated": False},
    "attempts": 1,
    "seconds": 0.5,
    "time": "2026-01-01T00:00:00.000+00:00",
}
ANSWER = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}
CLICK = {"action_type": "CLICK", "parameters": {"x": 100, "y": 200, "button": "left", "num_clicks": 2}}
PYAUTOGUI = (
    b"I click.\n```python\nimport pyautogui\npyautogui.click(100, 200, clicks=2)\npyautogui.write('a')\n```\nDONE"
)
READ = {
    "computer_use": b'<tool_call>{"name": "computer_use", "arguments": {"action": "left_click"}}</tool_call>',
    "ui_tars": b"Thought: x\nAction: drag(start_box='(1,2)', end_box='<point>3 4</point>')",
    "openai": b'{"type": "computer_call", "actions": [{"type": "click", "button": "left", "x": 1, "y": 2}]}',
    "anthropic": b'{"action": "scroll", "coordinate": [1, 2], "scroll_direction": "up", "text": "ctrl+a"}',
}
"""Answers of trained models, one of each form."""
UNIT_TEST = b"Input:\n```\n1 2\n```\nOutput:\n```\n3\n```"

TARGETS = (
    Target("alfworld action", of_text(_command), (), lambda: [b"go to shelf 1", b"> take mug 1 from shelf 1", b"look"]),
    Target(
        "alfworld short answer",
        of_text(read_short_alfworld),
        (),
        lambda: [b"find apple: go to fridge 1", b"go to fridge 1", b"<think>cold</think>put shelf\nlook"],
    ),
    Target(
        "coding action",
        of_text(_coding_action),
        (coding_actions.Unreadable,),
        lambda: [b"SUBMIT\n```python\nprint(1)\n```", b"RUN\n```python\nprint(1)\n```\n```stdin\n1\n```", b"GIVE_UP"],
    ),
    Target(
        "coding short answer",
        of_text(read_short_coding),
        (),
        lambda: [b"a_=_a[:{}] 1 2\nprint(len(a))", b"a = a[:12]\nprint(len(a))", b"<think>x</think>print(sum(a))"],
    ),
    Target(
        "tool call",
        of_text(_tool_call),
        (ToolCallError,),
        lambda: [b'{"receptacle": "fridge 1"}', b'{"code": "print(1)"}', b'{"x": 1, "y": 2.5}', b'{"keys": ["ctrl"]}'],
    ),
    Target("osworld code", of_text(_code), (Unreadable,), lambda: [PYAUTOGUI, b"WAIT", b"pyautogui.scroll(-3, 1, 2)"]),
    Target(
        "osworld dictionary",
        of_text(_dictionary),
        (Unreadable,),
        lambda: [json.dumps(CLICK).encode(), b'{"action_type": "HOTKEY", "keys": ["ctrl", "a"]}', b"DONE"],
    ),
    *(
        Target(
            f"osworld {name}",
            of_text(lambda text, read=reader.read, scale=reader.scale: read(text, (1920, 1080), scale)),
            (Unreadable,),
            lambda name=name: [READ[name]],
        )
        for name, reader in READERS.items()
    ),
    Target("rewrite", of_text(_rewrite), (), _proposals),
    Target(
        "critique", of_text(_critique), (), lambda: [b"It went to the shelf. And more.", b'{"summary": "It went."}']
    ),
    Target("judgement", of_text(parse_score), (), lambda: [b"It helps. \\boxed{1}", b"\\boxed{-1}"]),
    Target("unit test of a model", of_text(read_unit_test), (JudgeError,), lambda: [UNIT_TEST]),
    Target("small program", of_text(read_program), (), lambda: [b"import sys\nprint(sum(map(int, sys.stdin)))\n"]),
    Target("result of a function", _returned, (), lambda: [b"\n\x1d result OK [1, 2.5, [3]]\n"]),
    Target(
        "answers to asserts",
        lambda content: read_answers(content, 1),
        (AnswerError,),
        lambda: [b'[["=",["t",[1,["d",[["a",["F",[1,2]]]]],["s",[1]],["T","int"]]]]]', b'[["!","KeyError","x"]]'],
    ),
    Target("output of a program", _printed, (), lambda: [b"1 2.50\nYES\n", b"-0 +1 007\n\n  1e5"]),
    Target("frame of a container", _frame, (ValueError,), lambda: [pack_frame({"a": 1}, b"xyz")]),
    Target("completion", parse_answer, (RequestFailed,), lambda: [json.dumps(ANSWER).encode()]),
    Target(
        "refusal of a service",
        lambda content: is_about_length(400, as_text(content)),
        (),
        lambda: [b'{"error": {"message": "prompt is too long: 2 tokens > 1 maximum"}}', b'[{"error": {"code": "x"}}]'],
    ),
    Target("answer of a vLLM server", read_object, (RequestFailed,), lambda: [b'{"is_sleeping": true}']),
    Target(
        "time to wait",
        lambda content: retry_after({"retry-after": as_text(content)}),
        (),
        lambda: [b"3", b"Wed, 21 Oct 2026 07:28:00 GMT"],
    ),
    Target("log of prompts", of_file("prompts.jsonl", _log), (GeneratorError,), lambda: [json.dumps(RECORD).encode()]),
    Target("metrics for trackers", of_json(_named), (), lambda: [b'{"a": 1.5, "panels": {"b": {"rate": 1}}}']),
)
