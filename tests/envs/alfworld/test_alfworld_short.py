"""ALFWorld in few words: brief messages, answers of a thought and a command, and nothing lost on the way."""

import time

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.alfworld.short import VIEW, ShortAlfWorld, read, write
from rlanything_envs.alfworld.texts import compact, parse_start, parse_task
from rlanything_envs.alfworld.words import GO_TO, PHASES, TYPES, WORDS
from rlanything_envs.llm.choices import matches
from rlanything_envs.views import get_view, make_env
from rlanything_task_pools import Task
from rlanything_task_pools.alfworld import DOMAIN

ENV_ID = "RLAnything/AlfWorld-v0"
ROOM = "You are in the middle of a room. Looking quickly around you, you see a cabinet 2, a cabinet 1, and a fridge 1."
EMPTY = f"-= Welcome to TextWorld, ALFRED! =-\n\n{ROOM}\n\nYour task is to: put a hot apple in fridge."

THOUGHTS = st.one_of(
    st.just(""), st.tuples(st.sampled_from(PHASES), st.sampled_from(TYPES)).map(lambda pair: " ".join(pair))
)
NAMES = st.tuples(st.sampled_from(TYPES), st.integers(1, 60)).map(lambda pair: f"{pair[0]} {pair[1]}")
COMMANDS = st.one_of(
    st.sampled_from(["look", "inventory", "help"]),
    st.tuples(st.sampled_from(["go to", "open", "close", "use", "examine"]), NAMES).map(lambda pair: " ".join(pair)),
    st.tuples(NAMES, NAMES).map(lambda pair: f"take {pair[0]} from {pair[1]}"),
    st.tuples(NAMES, NAMES).map(lambda pair: f"put {pair[0]} in/on {pair[1]}"),
    st.tuples(st.sampled_from(["heat", "cool", "clean", "slice"]), NAMES, NAMES).map(
        lambda three: f"{three[0]} {three[1]} with {three[2]}"
    ),
)


def words_in(text: str) -> set[str]:
    """The words of a text, ``go to`` being one."""
    return {word.replace("_", " ") for word in text.replace(f"{GO_TO} ", "go_to ").split()}


# -- answers -------------------------------------------------------------------------------------------------------


@given(THOUGHTS, COMMANDS)
def test_what_is_written_is_read(thought: str, command: str) -> None:
    assert read(write(thought, command)) == (thought, command)
    assert words_in(f"{thought} {command}".replace("put ", "move ").replace("in/on", "to")) <= set(WORDS)


@pytest.mark.parametrize(
    "answer",
    [
        "find apple: go to fridge 1",
        "find apple go to fridge 1",
        "find apple:go to fridge 1",
        "find apple :  go   to fridge 1 ",
        "\n find apple:\ngo to fridge 1\nThen I look inside.",
        "find apple\n\ngo to fridge 1\n",
        "<think></think>\n\nfind apple: go to fridge 1",
    ],
)
def test_an_answer_may_be_set_in_many_ways(answer: str) -> None:
    assert read(answer) == ("find apple", "go to fridge 1")


@pytest.mark.parametrize(
    ("answer", "thought", "command"),
    [
        ("go to fridge 1", "", "go to fridge 1"),
        ("look\nand more", "", "look"),
        ("put apple 1 in fridge 1", "", "put apple 1 in fridge 1"),
        ("<think>It is cold.</think>get apple: take apple 1 from fridge 1", "It is cold.\nget apple",
         "take apple 1 from fridge 1"),
        ("find apple:", "find apple", ""),
        ("find apple: dance", "find apple", "dance"),
        ("find nothing: look", "", "find nothing: look"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_other_answers(answer: str, thought: str, command: str) -> None:
    assert read(answer) == (thought, command)


# -- messages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("On the shelf 1, you see a mug 2, and a vase 1.", "mug 2 vase 1"),
        ("You open the fridge 1. The fridge 1 is open. In it, you see nothing.", "nothing"),
        ("You arrive at fridge 1. The fridge 1 is closed.", "closed"),
        ("You pick up the mug 2 from the shelf 1.", "ok"),
        ("Nothing happens.", "nothing happens"),
        ("You are carrying: a mug 2.", "carrying mug 2"),
        ("The fridge 1, you see no end", "fridge 1"),
    ],
)
def test_messages_are_short(message: str, words: str) -> None:
    assert " ".join(compact(message)) == words


def test_an_opening_tells_the_task_the_room_and_what_is_in_hand(task: Task) -> None:
    env = ShortAlfWorld(gym.make(ENV_ID))
    assert env.opening(EMPTY, {})[0] == "put a hot apple in fridge room cabinet 2 fridge 1"
    held = EMPTY.replace("\n\nYour task", "\n\nYou are carrying: a apple 3.\n\nYour task")
    assert env.opening(held, {})[0] == "put a hot apple in fridge room cabinet 2 fridge 1 take apple 3 ok"
    assert parse_start(held) == (["cabinet 2", "cabinet 1", "fridge 1"], "apple 3")


@pytest.mark.parametrize(
    "piece", ["The a 1, you see ", "Your task is to: ", " ", "a 1 ", "a", "You are carrying: a ", ".", "1"]
)
def test_long_messages_are_read_at_once(piece: str) -> None:
    text = "Your task is to: " + piece * (200_000 // len(piece)) + "x"
    begin = time.process_time()
    compact(text)
    parse_task(text, frozenset(TYPES))
    parse_start(text)
    assert time.process_time() - begin < 10  # quadratic time would be minutes


# -- episodes ------------------------------------------------------------------------------------------------------


def test_episodes_are_told_in_known_words_and_offer_their_commands(tasks: list[Task]) -> None:
    env, view, rng = make_env(ENV_ID, "short"), get_view(ENV_ID, "short"), np.random.default_rng(0)
    assert view is VIEW
    vocabulary = set(view.words)
    for task in tasks:
        observation, info = env.reset(options={"task": task})
        assert "Your task is to" in info["message"]
        for _ in range(20):
            assert words_in(observation) <= vocabulary, observation
            assert len(observation.split()) <= 64
            answer = view.write(
                f"{rng.choice(PHASES)} {rng.choice(TYPES)}", str(rng.choice(info["admissible_commands"]))
            )
            assert words_in(answer.replace(":", "")) <= vocabulary
            assert matches(info["choices"], answer)
            assert not matches(info["choices"], f"{answer} x")
            observation, _, terminated, truncated, info = env.step(answer)
            assert info["command"] == "ok"
            if terminated or truncated:
                assert "choices" not in info
                break


def test_the_same_commands_win_in_both_views(tasks: list[Task]) -> None:
    full, short = make_env(ENV_ID), make_env(ENV_ID, "short")
    for task in [*tasks, *started()]:
        (seen, info), (brief, told) = full.reset(options={"task": task}), short.reset(options={"task": task})
        assert words_in(brief) <= set(WORDS)
        assert told["message"] == seen
        for command in task.proof:
            assert matches(told["choices"], write("drop apple", command))
            seen, *outcome, info = full.step(command)
            _, *brief_outcome, told = short.step(write("drop apple", command))
            assert told["message"] == seen
            assert brief_outcome == outcome
            assert {name: told[name] for name in info} == info
        assert outcome == [1.0, True, False]
        assert told["outcome"] == 1


def started() -> list[Task]:
    """Games that begin with the wanted thing in hand."""
    domain = DOMAIN.with_operators(["start"])
    rewrites = (
        domain.validate(DOMAIN.generate(seed), {"start": "in_hand"}, direction="easier", author="test")
        for seed in range(20)
    )
    return [task for task in rewrites if isinstance(task, Task)][:2]
