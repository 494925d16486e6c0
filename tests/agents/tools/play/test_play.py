"""``rlanything play``: games won by script, by keys sent to prompt_toolkit, and on a real pseudo-terminal."""

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from rich.console import Console
from scripted_desktop import SCRIPTED
from typer.testing import CliRunner

from rlanything_agents.domains.solutions import in_order, solution_of
from rlanything_agents.tools.cli import app
from rlanything_agents.tools.play.game import Game, pool_tasks
from rlanything_agents.tools.play.input import Lines, Terminal, completions, joined, known_words, unfinished
from rlanything_agents.tools.play.session import Session
from rlanything_envs import Conversation
from rlanything_envs.errors import InfrastructureError
from rlanything_task_pools import Task, TaskPool, get_domain

EVIL = "\x1b[2J\x1b]0;owned\x07 [bold red]x[/bold red] \u202e"
DESKTOP = ["--env", "backend=scripted", "--env", "settle=null", "--env", "observation=text"]
TEXT_FILES = ["--knob", "kinds=edit_text"]


@pytest.fixture
def run() -> Callable[..., tuple[int, str]]:
    def invoke(*words: str, typed: str = "") -> tuple[int, str]:
        result = CliRunner(env={"COLUMNS": None, "TERM": "dumb"}).invoke(app, ["play", *words], input=typed)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    return invoke


def lines(*typed: str) -> Lines:
    return Lines(f"{line}\n" for line in typed)


@pytest.mark.parametrize(("domain", "more"), [("alfworld", []), ("coding", []), ("osworld", [*DESKTOP, *TEXT_FILES])])
def test_every_domain_is_played_to_its_win(
    run: Callable[..., tuple[int, str]], tmp_path: Path, domain: str, more: list[str]
) -> None:
    code, output = run(
        domain, "--seed", "3", *more, "--save", str(tmp_path / "t.jsonl"), typed=":hint\n:solve\n:quit\n"
    )
    assert code == 0
    assert "You solved it (score 1)" in output
    assert "1 solved, 0 not" in output
    (record,) = map(json.loads, (tmp_path / "t.jsonl").read_text().splitlines())
    assert (record["outcome"], record["error"], record["score"]) == (1, "", 1.0)
    assert record["task_id"].startswith(f"{domain}-")
    assert record["steps"][-1]["observation"]


def test_a_game_is_typed_left_and_played_again(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    code, output = run("--save", str(file), typed="look\n:restart\n\n:nonsense\ninventory\n:next\n:q\nlook\n")
    assert code == 0
    assert ":nonsense: there is no such command" in output
    records = [json.loads(line) for line in file.read_text().splitlines()]
    assert [[step["action"] for step in record["steps"]] for record in records] == [["look"], ["inventory"], []]
    assert [record["outcome"] for record in records] == [None] * 3
    assert records[0]["task_id"] == records[1]["task_id"] != records[2]["task_id"]


def test_programs_over_several_lines_and_from_a_file(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    program = get_domain("coding").generate(7).proof[0]
    task = tmp_path / "task.json"
    task.write_text(get_domain("coding").generate(7).to_json())
    (tmp_path / "p.py").write_text(program)
    typed = f"TEST ```\n{program}\n```\nRUN \\\n```\nprint(input() + '!')\n``` \\\n```stdin\nhello\n```\n"
    code, output = run("coding", "--task", str(task), typed=f"{typed}:load {tmp_path}/p.py SUBMIT\n")
    assert code == 0
    assert "samples accepted" in output
    assert "hello!" in output
    assert "You solved it" in output
    code, output = run("coding", "--task", str(task), typed=f":load {tmp_path}/absent.py\n:load\n")
    assert code == 0
    assert "absent.py" in output


def test_tasks_of_a_pool_in_order_and_by_id(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    tasks = [get_domain("alfworld").generate(seed) for seed in range(3)]
    TaskPool.create(tmp_path / "pool.sqlite", tasks).close()
    code, output = run("--pool", str(tmp_path), "--seed", "1", typed=":next\n:next\n")
    assert code == 0
    positions = [output.index(tasks[k].goal) for k in (1, 2, 0)]
    assert positions == sorted(positions)
    code, output = run("--pool", str(tmp_path), "--task", tasks[2].id, typed=":solve\n")
    assert tasks[2].goal in output
    assert "You solved it" in output
    assert [task.id for task, _ in zip(pool_tasks(tmp_path / "pool.sqlite", 2), range(2), strict=False)] == [  # type: ignore[union-attr]
        tasks[2].id,
        tasks[0].id,
    ]


def test_a_task_in_the_domains_own_format(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    task = {"id": "1", "instruction": "Fly to the moon.", "config": [], "evaluator": {"func": "infeasible"}}
    file = tmp_path / "task.json"
    file.write_text(json.dumps(task))
    code, output = run("osworld", "--task", str(file), *DESKTOP, typed="FAIL\n")
    assert code == 0
    assert "Fly to the moon." in output
    assert "You solved it (score 1)" in output
    file.write_text("{}")
    code, output = run("osworld", "--task", str(file), *DESKTOP)
    assert code == 2
    assert "task.json" in output


def test_text_of_a_task_cannot_move_the_cursor(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    task = get_domain("alfworld").generate(1)
    file = tmp_path / "evil.json"
    file.write_text(task.model_copy(update={"goal": f"{task.goal} {EVIL}"}).to_json())
    _, output = run("--task", str(file), typed=f"{EVIL}\n:{EVIL}\n:load {EVIL}\n:actions\n")
    assert "\\x1b[2J" in output
    assert "[bold red]x[/bold red]" in output
    assert not any(c in output for c in "\x1b\x07\u202e")


class Breaking(Conversation):
    """A conversation whose machinery fails at the second answer."""

    def answer(self, text: str):  # type: ignore[no-untyped-def]
        if text == "look":
            raise InfrastructureError("the engine broke")
        return super().answer(text)


def test_a_failure_of_the_machinery_is_no_loss(tmp_path: Path) -> None:
    console = Console(file=(tmp_path / "out").open("w"), width=100)
    game = Game(Breaking("RLAnything/AlfWorld-v0"), iter([0]), tmp_path / "t.jsonl")
    Session(game, console).play(lines("inventory", "look", "look", ":restart", ":solve"))
    game.close()
    broken, won = map(json.loads, (tmp_path / "t.jsonl").read_text().splitlines())
    assert (broken["outcome"], broken["error"]) == (None, "the engine broke")
    assert won["outcome"] == 1
    assert (game.wins, game.losses) == (1, 0)
    console.file.close()
    assert "the engine broke" in (tmp_path / "out").read_text()


# -- typing --------------------------------------------------------------------------------------------------


@given(st.lists(st.text(alphabet="`~\\ab ", max_size=8), min_size=1, max_size=12))
def test_lines_become_answers_and_none_is_lost(typed: list[str]) -> None:
    source, found = lines(*typed), list[str]()
    while True:
        try:
            found.append(source.read(""))
        except EOFError:
            break
    assert sum(answer.count("\n") + 1 for answer in found) == len(typed)
    kept = "\n".join(found).split("\n")
    assert all(
        line == was or (was.rstrip().endswith("\\") and line == was.rstrip()[:-1].rstrip())
        for line, was in zip(kept, typed, strict=True)
    )


def test_fences_and_backslashes() -> None:
    assert not unfinished("look")
    assert unfinished("TEST \\")
    assert unfinished("SUBMIT ```python")
    assert unfinished("SUBMIT\n````\nx\n```")
    assert not unfinished("SUBMIT\n````\nx = 'a\\\\'\n````")
    assert unfinished("```\nx\n``` \\")
    assert joined("RUN \\\n```\na \\\n``` \\\n```\nb\n```") == "RUN\n```\na \\\n```\n```\nb\n```"


def test_completion_of_commands_and_of_words() -> None:
    commands = ["go to bed 1", "go to desk 1", "look"]
    assert completions("GO to d", commands, []) == [("go to desk 1", 7)]
    assert completions("  lo", commands, []) == [("look", 2)]
    assert completions("print(pyautogui.cl", None, ["pyautogui.click", "DONE"]) == [("pyautogui.click", 12)]
    assert completions("su", None, ["SUBMIT"]) == [("SUBMIT", 2)]
    assert completions("x = ", None, ["SUBMIT"]) == [("SUBMIT", 0)]


def test_words_are_those_of_the_manual() -> None:
    with Conversation("RLAnything/Coding-v0") as coding:
        assert {"RUN", "TEST", "SUBMIT", "GIVE_UP"} <= set(known_words(coding.start(seed=0).text))
    with Conversation("RLAnything/OSWorld-v0", **SCRIPTED) as desktop:
        words = known_words(desktop.start(seed=0).text)
    assert {"WAIT", "DONE", "FAIL", "pyautogui.click", "pyautogui.hotkey"} <= set(words)


@given(st.text())
def test_any_message_has_words(text: str) -> None:
    assert all(word in text or "." in word for word in known_words(text))


# -- solutions -----------------------------------------------------------------------------------------------


def test_a_plan_starts_from_where_the_player_is() -> None:
    task = get_domain("alfworld").generate(3)
    follow = solution_of(task)
    first = follow([])
    assert first == task.proof[0]
    assert follow(["Action: go to fridge 1", "nonsense"]) is not None
    assert follow(list(task.proof)) is None


def test_a_fixed_way_is_only_known_to_who_is_on_it() -> None:
    follow = in_order(["a", "b"])
    assert [follow([]), follow(["a "]), follow(["b"]), follow(["a", "b"])] == ["a", "b", None, None]


def test_an_unknown_domain_has_its_proof() -> None:
    task = Task(domain="..os", goal="x", payload={}, proof=("one", "two"))
    assert solution_of(task)(["one"]) == "two"
    assert solution_of(task.model_copy(update={"domain": "toy"}))([]) == "one"


# -- terminals -----------------------------------------------------------------------------------------------


def test_tab_completes_a_whole_game() -> None:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        game = Game(Conversation("RLAnything/AlfWorld-v0"), iter([3]))
        session = Session(game, Console(quiet=True))
        terminal = Terminal(session.complete)
        game.next()
        while (hint := game.hint()) is not None:
            unique = min(k for k in range(1, len(hint) + 1) if len(session.complete(hint[:k])) == 1 or k == len(hint))
            keys.send_text(f"{hint[:unique]}\t\r")
            typed = terminal.read("> ")
            assert typed.strip() == hint
            game.answer(typed)
        assert game.turn.won


def test_enter_goes_on_in_an_open_fence() -> None:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        terminal = Terminal(lambda before: [])
        keys.send_text("TEST ```\rprint(1)\r```\r")
        assert terminal.read("> ") == "TEST ```\nprint(1)\n```"
        keys.send_text("\x04")
        with pytest.raises(EOFError):
            terminal.read("> ")


def test_a_game_on_a_real_terminal(tmp_path: Path) -> None:
    """Keys into a pseudo-terminal, Tab among them, until the game is won."""
    transcript = tmp_path / "t.jsonl"
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40", "PROMPT_TOOLKIT_NO_CPR": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "rlanything_agents", "play", "alfworld", "--seed", "3", "--save", str(transcript)],
        stdin=child, stdout=child, stderr=child, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(child)
    seen = b""

    def until(text: bytes) -> None:
        nonlocal seen
        end = time.monotonic() + 120
        while text not in seen:
            assert time.monotonic() < end, (text, seen[-2000:])
            if select.select([parent], [], [], 0.5)[0]:
                seen += os.read(parent, 65536)
        seen = seen[seen.index(text) + len(text) :]

    def ready() -> None:
        until(b"\x1b[?2004h")  # bracketed paste is switched on when keys are awaited

    try:
        until(b"Your task is to")
        ready()
        os.write(parent, b"go to cabinet 1\t\r")  # it can be done, and more than one cabinet begins so: Tab leaves it
        until(b"You arrive at cabinet 1")
        ready()
        os.write(parent, b"\x1b[A\r")  # the arrow recalls what was typed last
        until(b"cabinet 1")
        ready()
        os.write(parent, b"tak\tbowl 2 from cabinet 1\r")  # Tab adds what all commands that begin so have in common
        until(b"You pick up the bowl 2")
        ready()
        os.write(parent, b":sol\t\r")
        until(b"You solved it")
        ready()
        os.write(parent, b":quit\r")
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        os.close(parent)
    record = json.loads(transcript.read_text())
    assert record["outcome"] == 1
    assert [step["action"] for step in record["steps"][:2]] == ["go to cabinet 1"] * 2
