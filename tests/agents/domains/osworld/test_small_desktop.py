"""Desktops in few words: slots, screens, commands, grammar, transcripts, the expert, the rule of thumb, the truth."""

import ast
import re
from collections.abc import Callable

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlanything_agents.domains.osworld.dialect import DIALECT
from rlanything_agents.domains.osworld.gestures import MAX_PIECES, NoGesture, code_of
from rlanything_agents.domains.osworld.screen import Screen
from rlanything_agents.domains.osworld.slots import Slots
from rlanything_agents.domains.osworld.words import KEYS, LITERALS, MAX_SLOTS, SLOTS, WORDS
from rlanything_agents.rollout.dialect import Step, get_dialect, step_dialect

from rlanything_agents.domains.lessons import demonstrate, judge_rows
from rlanything_agents.domains.osworld.belief import Belief
from rlanything_agents.domains.osworld.expert import DesktopExpert
from rlanything_agents.domains.osworld.plan import plan
from rlanything_envs.osworld.accessibility import Element, read_elements
from rlanything_envs.osworld.env import OSWorldEnv
from rlanything_task_pools import Task

Desktops = Callable[..., list[Task]]
RENAME = 'In the folder "music" on the Desktop, rename "a b.txt" to "c.txt" and "d.txt" to "e_f.txt".'


def element(role: str, name: str = "", text: str = "", x: int = 50, y: int = 50, *states: str) -> Element:
    return Element(role, name, text, "", x, y, 40, 10, frozenset(states))


def files(*names: str, title: str = "music - Thunar") -> list[Element]:
    cells = [element("table-cell", name, x=50, y=60 + 20 * n) for n, name in enumerate(names)]
    sizes = [element("table-cell", "3 bytes", x=150, y=60 + 20 * n) for n in range(len(names))]
    head = [element("table-column-header", "Name", y=40), element("table-column-header", "Size", x=150, y=40)]
    return [element("frame", title, "", 50, 50, "active"), *head, *cells, *sizes]


def episode(env: gym.Env[str, str], task: Task, seed: int = 0, mistakes: float = 0.1) -> tuple[str, list[Step], float]:
    expert = DesktopExpert(seed, mistakes)
    opening, _ = env.reset(options={"task": task})
    observation, steps = opening, list[Step]()
    while True:
        move = expert.act(observation)
        observation, reward, terminated, truncated, _ = env.step(move.action)
        steps.append(Step(move.thought, move.action, observation))
        if terminated or truncated:
            return opening, steps, reward


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
@settings(max_examples=150)
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
@settings(max_examples=100)
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
    with pytest.raises(NoGesture):
        code_of(command, Screen.of(files("a b.txt", "z.txt"), slots), slots)


@given(text=st.text(min_size=1, max_size=60), pieces=st.lists(st.sampled_from(sorted(LITERALS)), max_size=5))
@settings(max_examples=100)
def test_what_a_task_says_is_typed_and_never_run(text: str, pieces: list[str]) -> None:
    """Whatever a string of the task holds, the code has calls of pyautogui with literal arguments and nothing else."""
    slots = Slots(f'rename "{text}"')
    command = " ".join(["type", *pieces, *SLOTS[: len(slots.texts)][:5], "enter"])
    for node in ast.parse(code_of(command, Screen("", ()), slots)).body:
        assert isinstance(node, ast.Expr)
        assert isinstance(node.value, ast.Call)
        assert re.fullmatch(r"pyautogui\.(write|press)", ast.unparse(node.value.func))
        assert all(isinstance(argument, ast.Constant) for argument in node.value.args)


@given(
    choices=st.fixed_dictionaries({name: st.integers(0, 14) for name in ("slots", "click", "line", "cell")}),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=150)
def test_every_turn_of_the_grammar_is_a_command(choices: dict[str, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    constraint, ids = DIALECT.constraint(choices), list[int]()
    while allowed := constraint.allowed:
        assert list(allowed) == sorted(set(allowed))
        ids.append(int(rng.choice(allowed)))
        constraint.advance(ids[-1])
    assert ids[-1] == DIALECT.end_id
    assert len(ids) <= DIALECT.turn_limit
    thought, command = DIALECT.read_turn(ids)
    slots = Slots(" ".join(f'"s{number}"' for number in range(choices["slots"])))
    about, place = thought.split()
    assert about == "<none>" or slots.text(about)
    assert place == "<none>" or int(place) <= max(choices[name] for name in ("click", "line", "cell"))
    things = tuple(element("push-button", x=n) for n in range(choices["click"]))
    assert code_of(command, Screen("", (), things, 16), slots)
    assert [*DIALECT.thought(thought), *DIALECT.command(command)] == ids


# --- episodes ---


def test_the_dialect_is_found_and_judges_steps() -> None:
    assert step_dialect(get_dialect("osworld")) is DIALECT
    assert len(DIALECT.tokenizer) == len(WORDS) + 4 < 256


def test_a_transcript(small: gym.Env[str, str], desktops: Desktops) -> None:
    (task,) = desktops(1)
    opening, steps, _ = episode(small, task, mistakes=0)
    text = DIALECT.tokenizer.decode(DIALECT.opening(opening))
    assert re.fullmatch(
        r"<bos> in the folder <1> on the desktop , rename <2> to <3> \. <screen> files ;( \d (\?|<2>)( ;|))+ <act>",
        text,
    )
    assert [step.thought for step in steps] == [
        "<2> " + steps[0].action[-1],
        "<2> <none>",
        "<3> <none>",
        "<none> <none>",
    ]
    assert [step.action.split()[0] for step in steps] == ["click", "press", "type", "done"]
    assert DIALECT.tokenizer.decode(DIALECT.message(steps[1].observation)) == "<see> dialog <2> <act>"
    assert steps[0].observation == "same"


@pytest.mark.parametrize("split", ["train", "valid_unseen"])
def test_a_faultless_expert_wins(small: gym.Env[str, str], desktops: Desktops, split: str) -> None:
    """Every rung of every kind, with hints and without, in words that training never uses, too."""
    for task in desktops(32, split=split):
        _, steps, reward = episode(small, task, mistakes=0)
        assert reward == 1, (task.goal, steps)
        assert len(steps) <= 11


def test_an_expert_mends_its_mistakes(small: gym.Env[str, str], desktops: Desktops) -> None:
    played = [episode(small, task, seed, mistakes=0.3) for seed, task in enumerate(desktops(16))]
    assert sum(reward == 1 for *_, reward in played) >= 10
    assert any(len(steps) > 8 and reward == 1 for _, steps, reward in played)


def test_demonstrations_are_learnt_without_their_mistakes(small: gym.Env[str, str], desktops: Desktops) -> None:
    rows = demonstrate(DIALECT, small, desktops(16), max_steps=15, seed=0)
    assert len(rows) >= 14
    assert demonstrate(DIALECT, small, desktops(16), max_steps=15, seed=0) == rows
    act, end = DIALECT.tokenizer.convert_tokens_to_ids("<act>"), DIALECT.end_id
    skipped = 0
    for row in rows:
        ids, learnt = np.array(row.ids), np.array(row.learnt)
        assert DIALECT.tokenizer.unk_token_id not in row.ids
        for begin, stop in zip(np.flatnonzero(ids == act) + 1, np.flatnonzero(ids == end) + 1, strict=True):
            assert learnt[begin:stop].all() or not learnt[begin:stop].any()
            skipped += not learnt[begin]
        assert not learnt[ids == act].any()
    assert skipped > 0


def test_what_is_no_command_is_answered(small: gym.Env[str, str], desktops: Desktops) -> None:
    opening, info = small.reset(options={"task": desktops(1)[0]})
    assert info["slots"] == 3
    assert info["click"] == len(opening.splitlines()[2].split(";")) - 1 > 0
    assert info["line"] == info["cell"] == 0
    observation, reward, terminated, _, _ = small.step("dance 3")
    assert (observation, reward, terminated) == ("refused", 0, False)


# --- judging ---


def test_judge_prompts_do_not_look_ahead(small: gym.Env[str, str], desktops: Desktops) -> None:
    for task in desktops(8):
        opening, steps, _ = episode(small, task)
        prompts = DIALECT.judge_prompts(opening, steps)
        assert len(prompts) == len(steps)
        assert DIALECT.judge_prompts(opening, steps[:2]) == prompts[:2]
        assert max(map(len, prompts)) < 256
        assert all(DIALECT.tokenizer.unk_token_id not in prompt for prompt in prompts)
        assert len(DIALECT.opinions(opening, steps)) == len(steps)


def test_the_truth_is_the_evaluators(small: gym.Env[str, str], desktops: Desktops) -> None:
    (task,) = desktops(1)
    _, steps, _ = episode(small, task, mistakes=0)
    right = [step.action for step in steps]
    other = "click 2" if right[0] == "click 1" else "click 1"
    cases = {
        (*right,): [1, 1, 1, 1],
        (other, *right): [-1, 1, 1, 1, 1],
        (right[0], right[1], "press escape", *right): [1, 1, -1, 1, 1, 1, 1],
        (right[0], "done"): [1, -1],
        (*right[:2], "type <1> enter", "done"): [1, 1, -1, -1],
        ("dance", *right[:1]): [-1, 1],
        (): [],
    }
    for actions, labels in cases.items():
        judged = [Step("<none> <none>", action, "") for action in actions]
        assert DIALECT.true_labels(task.payload, judged) == labels, actions


def test_the_rule_of_thumb_is_often_right_and_sometimes_wrong(small: gym.Env[str, str], desktops: Desktops) -> None:
    """It agrees with the truth on most steps, and takes a click for the right one that says so."""
    agree = []
    for seed, task in enumerate(desktops(12)):
        opening, steps, _ = episode(small, task, seed, mistakes=0.4)
        truth = DIALECT.true_labels(task.payload, steps)
        agree += [o.score == t for o, t in zip(DIALECT.opinions(opening, steps), truth, strict=True)]
    assert np.mean(agree) > 0.8
    (task,) = desktops(1)
    opening, steps, _ = episode(small, task, mistakes=0)
    other = "click 2" if steps[0].action == "click 1" else "click 1"
    judged = [
        Step(f"<2> {other[-1]}", other, "same"),
        Step(f"<2> {other[-1]}", other, "same"),
        Step("<none> <none>", "done", "same"),
    ]
    assert [o.reason for o in DIALECT.opinions(opening, judged)] == ["progress", "repeated", "early"]
    assert DIALECT.true_labels(task.payload, judged) == [-1, -1, -1]


def test_judge_lessons_have_noise(small: gym.Env[str, str], desktops: Desktops) -> None:
    from rlanything_agents.models.small import tiny_model
    from rlanything_agents.rollout.rollout import rollout

    model = tiny_model(DIALECT.tokenizer, hidden_size=32, layers=1, heads=2, intermediate_size=64)
    trajectories = rollout(model, DIALECT, [small], desktops(4), max_steps=6, seed=0)
    assert all(len(t.steps) <= 6 and t.outcome is not None for t in trajectories)
    clean = judge_rows(DIALECT, trajectories, steps=20, label_noise=0.0, seed=0)
    turned = judge_rows(DIALECT, trajectories, steps=20, label_noise=1.0, seed=0)
    assert [row.ids[-2] for row in clean] != [row.ids[-2] for row in turned]


# --- plans from where things went wrong ---


def test_a_plan_starts_from_what_is_done() -> None:
    belief = Belief(
        "Task: x\nuse the terminal to create the file <1> in the folder <2> with two lines : <3> , then <4> .\nterminal"
    )
    write = ["type echo <3> > desktop/ <2> / <1> enter", "type echo <4> >> desktop/ <2> / <1> enter"]
    assert [command for _, command in plan(belief)] == [*write, "done"]
    belief.update(write[0], "same")
    assert [command for _, command in plan(belief)] == [write[1], "done"]
    belief.update("type echo <1> > desktop/ <2> / <1> enter", "same")
    assert [command for _, command in plan(belief)] == [*write, "done"], "what is wrong is written anew"
    belief.update("type echo", "same")
    assert plan(belief)[0][1] == "press return", "what stands on the prompt goes first"


def test_a_task_of_no_known_pattern_has_no_plan() -> None:
    assert plan(Belief("Task: dance\ndance\nfiles")) == [("<none>", "fail")]
    assert plan(Belief("")) == [("<none>", "fail")]


def test_keys_are_code() -> None:
    for code in KEYS.values():
        ast.parse(code)


@pytest.mark.slow
def test_the_same_commands_win_on_a_real_desktop(desktops: Desktops) -> None:
    from rlanything_envs.osworld.desktop import DesktopError, MissingPackages

    env = DIALECT.wrapped(OSWorldEnv(15, **{**DIALECT.environment, "backend": "bwrap"}))
    try:
        for task in desktops(8):
            try:
                opening, steps, reward = episode(env, task, mistakes=0)
            except MissingPackages as error:
                pytest.skip(str(error))
            except DesktopError as error:
                if "made no sandbox" in str(error):
                    pytest.skip(str(error))
                raise
            assert reward == 1, (task.goal, opening, steps)
    finally:
        env.close()
