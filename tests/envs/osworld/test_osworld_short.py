"""Desktops in few words: slots, screens, commands, answers and their form, episodes."""

import ast
import re
import time

import numpy as np
import pytest
from forms import some_answer
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.errors import Unreadable
from rlanything_envs.llm.choices import matches
from rlanything_envs.osworld.accessibility import Element, read_elements
from rlanything_envs.osworld.short import VIEW, WORDS, read, write
from rlanything_envs.osworld.short.forms import answer_form
from rlanything_envs.osworld.short.gestures import MAX_PIECES, code_of
from rlanything_envs.osworld.short.screen import Screen
from rlanything_envs.osworld.short.slots import Slots
from rlanything_envs.osworld.short.words import COLUMNS, COUNTS, KEYS, LITERALS, MAX_SLOTS, NOBODY, SLOTS
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import Task
from rlanything_task_pools.osworld import DOMAIN, keys

ENV_ID = "RLAnything/OSWorld-v0"
RENAME = 'In the folder "music" on the Desktop, rename "a b.txt" to "c.txt" and "d.txt" to "e_f.txt".'


def element(role: str, name: str = "", text: str = "", x: int = 50, y: int = 50, *states: str) -> Element:
    return Element(role, name, text, "", x, y, 40, 10, frozenset(states))


def files(*names: str, title: str = "music - Thunar") -> list[Element]:
    cells = [element("table-cell", name, x=50, y=60 + 20 * n) for n, name in enumerate(names)]
    sizes = [element("table-cell", "3 bytes", x=150, y=60 + 20 * n) for n in range(len(names))]
    head = [element("table-column-header", "Name", y=40), element("table-column-header", "Size", x=150, y=40)]
    return [element("frame", title, "", 50, 50, "active"), *head, *cells, *sizes]


# --- slots ---


def test_strings_of_a_task_are_numbered_in_its_order() -> None:
    slots = Slots(RENAME)
    assert " ".join(slots.words) == "in the folder <1> on the desktop , rename <2> to <3> and <4> to <5> ."
    assert slots.texts == ["music", "a b.txt", "c.txt", "d.txt", "e_f.txt"]
    assert slots.read("a b.txt") == ["<2>"]
    assert slots.read("e_f.txt = 12, other") == ["<5>", "=", "#", ",", "other"]
    assert slots.read("strange.txt") == ["?"]
    assert slots.read("<1>") == ["?", "#", ">"], "a text on the screen cannot pass for a slot"
    assert [slots.text("<2>"), slots.text("<6>"), slots.text("<14>"), slots.text("?")] == ["a b.txt", None, None, None]


def test_unknown_words_and_numbers_are_strings_too() -> None:
    slots = Slots("set the amount of walnuts to 120. Press Ctrl+S to save the file; grep -c WORD FILE.")
    assert " ".join(slots.words) == "set the amount of <1> to <2> . press ctrl+s to save the file grep -c word file ."


@given(st.text(max_size=300))
def test_any_instruction_and_any_screen_is_said_in_known_words(text: str) -> None:
    slots = Slots(text)
    assert set(slots.words) | set(slots.read(text)) <= set(WORDS)
    assert len(slots.texts) <= MAX_SLOTS


# --- the screen ---


def test_files_are_told_with_their_numbers() -> None:
    screen = Screen.of(files("a b.txt", "z.txt", "d.txt"), Slots(RENAME))
    assert screen.lines == (("files",), ("1", "<2>"), ("2", "?"), ("3", "<4>"))
    assert [target.y for target in screen.targets] == [60, 80, 100]
    later = Screen.of(files("c.txt", "z.txt", "d.txt"), Slots(RENAME))
    assert later.news(screen) == (("1", "<3>"),)


def test_a_dialog_hides_the_window_behind_it() -> None:
    dialog = [
        element("dialog", 'Rename "a b.txt"', "", 50, 50, "active"),
        element("text", "", "a b.txt"),
        element("push-button", "Cancel", x=7),
    ]
    screen = Screen.of([*files("a b.txt"), *dialog], Slots(RENAME))
    assert screen.lines == (("dialog", "<2>"),)
    assert [button.x for button in screen.targets] == [7]


def test_text_terminal_and_sheet_are_told_line_by_line() -> None:
    slots = Slots('set "volume" to 12 and "theme" to "x"')
    text = [
        element("frame", "*~/a.ini - Mousepad", "", 1, 1, "active"),
        element("text", text="[main]\nvolume = 7\n\nfoo"),
    ]
    editor = Screen.of(text, slots)
    assert editor.lines == (
        ("editor", "changed"), ("1", "[", "main", "]"), ("2", "<1>", "=", "#"), ("3", "nothing"), ("4", "?"),
    )  # fmt: skip
    assert editor.rows == 5
    printed = "user@x:~$ cat a\nold\nuser@x:~$ wc a\n 12 theme\nuser@x:~$"
    shell = [element("frame", "LXTerminal", "", 1, 1, "active"), element("terminal", text=printed)]
    assert Screen.of(shell, slots).lines == (("terminal",), ("$", "<2>", "<3>"))
    cells = {"A1": "item", "C1": "price", "A2": "volume", "B2": "5", "B3": "12", "Z9": "far"}
    sheet = [element("frame", "a.xlsx - LibreOffice Calc", "", 1, 1, "active")]
    sheet += [element("table-cell", name, text) for name, text in cells.items()]
    assert Screen.of(sheet, slots).lines[1:] == (("1", "item", "-", "price"), ("2", "<1>", "#"), ("3", "-", "<2>"))


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_tree_is_a_screen(text: str) -> None:
    tree = f"<desktop-frame>{text}</desktop-frame>"
    screen = Screen.of([*read_elements(tree), element("frame", text), element("text", text, text)], Slots(text))
    assert {word for line in screen.lines for word in line} <= set(WORDS)


# --- commands ---


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("click 2", "pyautogui.click(50, 80)"),
        ("press save", "pyautogui.hotkey('ctrl', 's')"),
        ("type <2> = <3> enter", "pyautogui.write('a b.txt = c.txt'); pyautogui.press('enter')"),
        ("type <4> tab <5>", "pyautogui.write('d.txt'); pyautogui.press('tab'); pyautogui.write('e_f.txt')"),
        ("type echo <1> > desktop/ <4> enter",
         "pyautogui.write('echo music > ~/Desktop/d.txt'); pyautogui.press('enter')"),
        ("line 1", "pyautogui.hotkey('ctrl', 'home'); pyautogui.press('home'); pyautogui.hotkey('shift', 'end')"),
        ("cell b 3", "pyautogui.hotkey('ctrl', 'home'); pyautogui.press('down', presses=2); "
         "pyautogui.press('right', presses=1)"),
        ("done", "DONE"),
        ("fail", "FAIL"),
    ],
)  # fmt: skip
def test_a_command_is_pyautogui_code(command: str, code: str) -> None:
    slots = Slots(RENAME)
    assert code_of(command, Screen.of(files("a b.txt", "z.txt"), slots), slots) == code


@pytest.mark.parametrize(
    "command",
    ["", "click", "click 3", "click 0", "click x", "press", "press f13", "type", "type <9>", "type rm", "cell e 1",
     "cell b", "line 17", "done done", "dance", "type " + "enter " * (MAX_PIECES + 1)],
)  # fmt: skip
def test_what_is_no_command_is_refused(command: str) -> None:
    slots = Slots(RENAME)
    with pytest.raises(Unreadable):
        code_of(command, Screen.of(files("a b.txt", "z.txt"), slots), slots)


@given(text=st.text(min_size=1, max_size=60), pieces=st.lists(st.sampled_from(sorted(LITERALS)), max_size=5))
def test_what_a_task_says_is_typed_and_never_run(text: str, pieces: list[str]) -> None:
    """Whatever a string of the task holds, the code has calls of pyautogui with literal arguments and nothing else."""
    slots = Slots(f'rename "{text}"')
    command = " ".join(["type", *pieces, *SLOTS[: len(slots.texts)][:5], "enter"])
    for node in ast.parse(code_of(command, Screen("", ()), slots)).body:
        assert isinstance(node, ast.Expr)
        assert isinstance(node.value, ast.Call)
        assert re.fullmatch(r"pyautogui\.(write|press)", ast.unparse(node.value.func))
        assert all(isinstance(argument, ast.Constant) for argument in node.value.args)


# --- answers ---

THOUGHTS = st.one_of(
    st.just(""),
    st.tuples(st.sampled_from((NOBODY, *SLOTS)), st.sampled_from((NOBODY, *COUNTS))).map(lambda pair: " ".join(pair)),
)
COMMANDS = st.one_of(
    st.sampled_from(["done", "fail"]),
    st.tuples(st.sampled_from(["click", "line"]), st.sampled_from(COUNTS)).map(lambda pair: " ".join(pair)),
    st.tuples(st.sampled_from(COLUMNS), st.sampled_from(COUNTS)).map(lambda pair: f"cell {pair[0]} {pair[1]}"),
    st.sampled_from(sorted(KEYS)).map(lambda key: f"press {key}"),
    st.lists(st.sampled_from((*LITERALS, *SLOTS)), min_size=1, max_size=MAX_PIECES).map(
        lambda pieces: f"type {' '.join(pieces)}"
    ),
)


@given(THOUGHTS, COMMANDS)
def test_what_is_written_is_read(thought: str, command: str) -> None:
    assert read(write(thought, command)) == (thought, command)
    assert set(write(thought, command).split()) <= set(WORDS)


@pytest.mark.parametrize(
    ("answer", "thought", "command"),
    [
        (" <2>  1 click   1 ", "<2> 1", "click 1"),
        ("<2> 1: click 1\nand then", "<2> 1", "click 1"),
        ("<think>so</think><none> <none> done", "so\n<none> <none>", "done"),
        ("click 1", "", "click 1"),
        ("<2> 1", "<2> 1", ""),
        ("<2> click 1", "", "<2> click 1"),
        ("pyautogui.press('enter')\nDONE", "", "pyautogui.press('enter')\nDONE"),
        ("", "", ""),
    ],
)
def test_other_answers(answer: str, thought: str, command: str) -> None:
    assert read(answer) == (thought, command)


@given(st.text(max_size=200))
def test_any_answer_is_read(answer: str) -> None:
    assert all(isinstance(part, str) for part in read(answer))


@given(
    number=st.integers(0, 14),
    app=st.sampled_from(["files", "editor", "sheet", ""]),
    rows=st.integers(0, 16),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_answer_of_the_form_is_a_command(number: int, app: str, rows: int, seed: int) -> None:
    slots = Slots(" ".join(f'"s{place}"' for place in range(number)))
    things = tuple(element("push-button", x=n) for n in range(number))
    screen = Screen(app, (), things, rows)
    answer = some_answer(answer_form(screen, slots), np.random.default_rng(seed))
    assert set(answer.split()) <= set(WORDS)
    thought, command = read(answer)
    assert write(thought, command) == answer
    assert code_of(command, screen, slots)
    about, place = thought.split()
    assert about == NOBODY or slots.text(about)
    assert place == NOBODY or int(place) <= max(number, rows)


# --- episodes ---


@pytest.fixture(scope="module")
def played() -> list[Task]:
    kinds = ("rename_files", "write_files", "count_lines", "edit_config")
    return [DOMAIN.generate(100 + n, kinds=[kinds[n % 4]], difficulty=n / 8, hints=n % 3) for n in range(8)]


def test_episodes_are_told_in_known_words_and_offer_what_is_there(played: list[Task]) -> None:
    env, rng, words = make_env(ENV_ID, "short"), np.random.default_rng(0), set(get_view(ENV_ID, "short").words)
    for task in played:
        observation, info = env.reset(options={"task": task})
        first, second = observation.split("\n")
        assert info["message"] == f"Task: {' '.join(task.goal.split())}\n{first}\n{second.removeprefix('screen ')}"
        while "choices" in info:
            assert set(observation.split()) <= words, observation
            answer = some_answer(info["choices"], rng)
            assert matches(info["choices"], answer)
            observation, _, terminated, truncated, info = env.step(answer)
            assert info["command"] in ("ok", "impossible")
            assert ("choices" in info) is not (terminated or truncated)
    env.close()


def test_a_file_is_renamed_in_four_answers() -> None:
    env = make_env(ENV_ID, "short")
    task = next(t for n in range(50) if "and" not in (t := DOMAIN.generate(n, kinds=["rename_files"], hints=0)).goal)
    observation, _ = env.reset(options={"task": task})
    row = re.search(r"(\d+) <2>", observation)
    assert row is not None
    answers = (f"<2> {row[1]} click {row[1]}", "<2> <none> press rename", "<3> <none> type <3> enter")
    told = [env.step(answer)[0] for answer in answers]
    assert told[:2] == ["same", "dialog <2>"]
    assert "<3>" in told[2]
    observation, reward, terminated, _, info = env.step("<none> <none> done")
    assert (reward, terminated, info["outcome"]) == (1, True, 1)
    env.close()


def test_the_same_code_gets_the_same_in_both_views(played: list[Task]) -> None:
    full, short = make_env(ENV_ID, **VIEW.arguments), make_env(ENV_ID, "short")
    won = 0
    for task in played:
        seen, _ = full.reset(options={"task": task})
        short.reset(options={"task": task})
        for code in [*keys(task), "DONE"]:
            seen, *outcome, info = full.step(code)
            _, *brief_outcome, told = short.step(code)
            assert brief_outcome == outcome
            assert told["message"] == seen["message"]
            assert {name: told[name] for name in info} == info
        won += info["outcome"] == 1
    assert won == len(played)
    full.close()
    short.close()


HOSTILE = ["a", " ", "<2> 1 ", "<2> 1: type ", "click 1 ", "type enter ", "<think>", "\n", '"', "-.", "dance "]


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_answers_and_tasks_are_read_at_once(piece: str, played: list[Task]) -> None:
    env = make_env(ENV_ID, "short")
    env.reset(options={"task": played[0]})
    text = piece * (100_000 // len(piece)) + "x"
    begin = time.process_time()
    observation, *_, info = env.step(text)
    Slots(text).read(text)
    assert time.process_time() - begin < 2
    assert info["command"] == "unreadable"
    assert observation == "refused"
    env.close()
