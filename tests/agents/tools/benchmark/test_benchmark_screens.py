"""Agents that see: what goes to a service, what a chat keeps, and a button that is found by its pixels."""

import base64
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from scripted_service import Service, say, served

from rlanything_agents.tools.benchmark.episode import Episode
from rlanything_agents.tools.benchmark.errors import BenchmarkError
from rlanything_agents.tools.benchmark.player import line_of
from rlanything_agents.tools.benchmark.runner import run_benchmark
from rlanything_agents.tools.benchmark.service import ServiceAgent
from rlanything_agents.tools.benchmark.settings import ChatSettings
from rlanything_envs.conversation import Turn
from rlanything_envs.llm import Price, read_log
from rlanything_envs.message import Image
from rlanything_envs.osworld.desktop import MissingPackages, make_desktop
from rlanything_task_pools import Task, get_domain
from rlanything_task_pools.osworld import make_task, read_payload
from rlanything_task_pools.panel import Entry, Panel

GREEN = (38, 162, 105)
SCREEN = (1280, 720)


@contextmanager
def serving(answers: list[str]) -> Iterator[Service]:
    """A chat service with answers in their order, which counts no tokens."""
    with served() as service:
        service.script.extend(say(text, usage=None) for text in answers)
        yield service


def pictures(messages: list[dict[str, Any]]) -> list[np.ndarray]:
    """The pictures of a request, as a service decodes them."""
    found = []
    for message in messages:
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "image_url":
                head, _, data = part["image_url"]["url"].partition(",")
                assert head == "data:image/png;base64"
                found.append(np.asarray(PIL.Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")))
    return found


def texts(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "\n".join(p["text"] for p in content if p["type"] == "text")


def click_on_green(picture: np.ndarray) -> str:
    """An answer that clicks in the middle of what is green; one that ends the task where nothing is."""
    rows, columns = np.nonzero(np.abs(picture.astype(int) - GREEN).sum(-1) < 20)
    arguments: dict[str, Any] = {"action": "terminate", "status": "success"}
    if len(rows):
        height, width = picture.shape[:2]
        place = [round(columns.mean() * 1000 / width), round(rows.mean() * 1000 / height)]
        arguments = {"action": "left_click", "coordinate": place}
    call = {"name": "computer_use", "arguments": arguments}
    return f"Action: Press the green button.\n<tool_call>\n{json.dumps(call)}\n</tool_call>"


def screen(number: int) -> Image:
    """A screen whose shade is its number."""
    return Image(np.full((SCREEN[1], SCREEN[0], 3), number, np.uint8))


def turn(number: int, text: str = "") -> Turn:
    return Turn(text, 0.0, False, False, {"instruction": "Press it."}, screen(number))


def played(kind: Any, folder: Path, turns: int, **settings: Any) -> list[list[dict[str, Any]]]:
    """Requests of an episode of so many turns."""
    episode = Episode(get_domain("alfworld").generate(0), "", 0, 1, 0)
    with serving([f"I think.\nAction: Press {n}.\nMore." for n in range(turns)]) as service:
        agent = ServiceAgent("m", ChatSettings(base_url=service.base_url, **settings), folder / "log.jsonl", kind=kind)
        player = agent.player(episode)
        for number in range(turns):
            player.act(turn(number, "Task: Press it." if number == 0 else f"Message {number}."))
        agent.close()
    return [asked.body["messages"] for asked in service.asked]


def test_a_service_gets_one_new_picture_a_turn_and_the_last_three_at_most(tmp_path: Path) -> None:
    for number, messages in enumerate(played("openai", tmp_path, 6)):
        shades = [int(picture[0, 0, 0]) for picture in pictures(messages)]
        assert shades == list(range(max(0, number - 2), number + 1))
        assert [message["role"] for message in messages[-2:]] == ["assistant", "user"][-len(messages) :]
        first = messages[0]["content"]
        assert [part["type"] for part in first] == ["image_url", "text"]
        lines = [line for line in first[1]["text"].split("\n") if line.startswith("Step ")]
        assert lines == [f"Step {step + 1}: Press {step}." for step in range(max(0, number - 2))]
        assert "Task: Press it." in first[1]["text"]
        assert f"Message {number}." in texts(messages[-1]) or number == 0


def test_qwen3vl_is_prompted_as_published(tmp_path: Path) -> None:
    asked = played("qwen3vl", tmp_path, 4, images=2)
    for number, messages in enumerate(asked):
        assert [picture.shape for picture in pictures(messages)] == [(704, 1280, 3)] * min(2, number + 1)
        assert messages[0]["role"] == "system"
        assert '"name": "computer_use"' in messages[0]["content"]
        assert "resolution is 1000x1000" in messages[0]["content"]
        first = texts(messages[1])
        assert "\n\nInstruction: Press it.\n\nPrevious actions:\n" in first
        assert first.partition("Previous actions:\n")[2].startswith("Step 1: Press 0." if number > 1 else "None")
    assert [message["role"] for message in asked[-1]] == ["system", "user", "assistant", "user"]


def test_screens_have_their_place_in_log_and_budget(tmp_path: Path) -> None:
    played("openai", tmp_path, 2)
    records = list(read_log(tmp_path / "log.jsonl"))
    image, text = records[0].prompt[0]["content"]
    assert image == {"type": "image", "size": [1280, 720], "sha256": screen(0).digest}
    assert text == {"type": "text", "text": "Task: Press it."}
    assert 1100 < records[0].usage.prompt_tokens < 1300, "45 by 25 cells, and some words"
    assert 2200 < records[1].usage.prompt_tokens < 2600
    with serving(["unread"]) as service:  # what is on record is not asked again
        chat = ChatSettings(base_url=service.base_url, price=Price(1.0, 1.0), max_dollars=1e-9)
        again = ServiceAgent("m", chat, tmp_path / "log.jsonl").player(
            Episode(get_domain("alfworld").generate(0), "", 0, 1, 0)
        )
        assert again.act(turn(0, "Task: Press it.")).text.startswith("I think.\nAction: Press 0.")
        assert not service.asked


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("I think.\nAction: Click on Save.\n<tool_call>{}</tool_call>", "Click on Save."),
        ("<think>Action: no</think>Thought: x\nAction: click(start_box='(1,2)')", "click(start_box='(1,2)')"),
        ("```python\npyautogui.click(1, 2)\n```", "```python pyautogui.click(1, 2) ```"),
        ("Action:\n" + "x" * 500, "Action: " + "x" * 192),
        ("", ""),
    ],
)
def test_an_earlier_turn_is_one_line(answer: str, line: str) -> None:
    assert line_of(answer) == line


def test_settings_that_make_no_sense_are_refused() -> None:
    with pytest.raises(BenchmarkError, match="images = 0"):
        ChatSettings(images=0)


PAGE = """<body><p>The button stores a note.</p><a download="note.txt" href="data:text/plain,hello%20you" style="
position:absolute;left:317px;top:203px;width:120px;height:80px;background:rgb(38,162,105)"></a></body>"""


def button_task() -> Task:
    """A page with a green button that stores a file."""
    evaluator = {
        "func": "compare_text_file",
        "result": {"type": "vm_file", "path": "/home/user/Downloads/note.txt", "dest": "note.txt"},
        "expected": {"type": "cloud_file", "path": "data:;base64,aGVsbG8geW91", "dest": "gold.txt"},
    }
    page = "/home/user/Desktop/page.html"
    config = [
        {"type": "write_file", "parameters": {"path": page, "text": PAGE}},
        {"type": "launch", "parameters": {"command": ["google-chrome", page]}},
    ]
    goal = "Press the green button."
    evaluators = {"evaluators": {"evaluator1": evaluator}, "instructions": {"evaluator1": goal}}
    return make_task(read_payload({"instruction": goal, "config": config, "current": "evaluator1", **evaluators}))


class Clicker:
    """Clicks on what is green, once."""

    clicked = False

    def act(self, messages: list[dict[str, Any]]) -> str:
        """Answer a chat."""
        image = messages[-1]["content"][0]
        assert isinstance(image, Image)
        answer, self.clicked = ("DONE" if self.clicked else click_on_green(image.pixels)), True
        return answer


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["qwen3vl:seeing", "openai:seeing", "python:test_benchmark_screens:Clicker"])
def test_a_button_is_found_by_its_pixels_on_a_real_desktop(agent: str, tmp_path: Path) -> None:
    try:
        make_desktop("bwrap").close()
    except MissingPackages as error:
        pytest.skip(str(error))
    panel = Panel("button", "", "osworld", {"screen": list(SCREEN), "max_turns": 4}, (Entry(button_task()),), 1)
    environment = None
    if not agent.startswith("qwen3vl"):
        environment = {"observation": ["screenshot", "instruction", "message"], "action_space": "computer_use"}
    with served() as service:
        service.default = say("DONE")
        service.script.append(
            lambda handler, asked: say(click_on_green(pictures(asked.body["messages"])[-1]))(handler, asked)
        )
        chat = ChatSettings(base_url=service.base_url)
        found = run_benchmark(panel, agent, tmp_path / "out", environment=environment, chat=chat, workers=1)
    assert (found["total"]["rate"], found["total"]["steps"], found["errors"]) == (1.0, 2.0, [])
    assert [len(pictures(asked.body["messages"])) for asked in service.asked] == (
        [] if agent.startswith("python") else [1, 2]
    )
    (record,) = [json.loads(path.read_text()) for path in (tmp_path / "out" / "episodes").glob("*.json")]
    assert record["turns"][0]["command"] == "ok"
    picture = np.asarray(PIL.Image.open(tmp_path / "out" / "screens" / "0000" / "0000-000.webp").convert("RGB"))
    ring = np.abs(picture.astype(int) - (225, 29, 72)).sum(-1) < 90
    button = np.abs(picture.astype(int) - GREEN).sum(-1) < 90
    assert ring.sum() > 50, "a mark where it clicked"
    for where, size in zip(np.nonzero(ring), np.nonzero(button), strict=True):
        assert abs(where.mean() - size.mean()) < 10
