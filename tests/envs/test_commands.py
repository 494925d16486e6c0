"""From actions to commands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlanything_envs.alfworld.commands import MAX_ACTION_LENGTH, to_command


@pytest.mark.parametrize(
    ("action", "command"),
    [
        ("put apple 1 in fridge 1", "move apple 1 to fridge 1"),
        ("put apple 1 on countertop 2", "move apple 1 to countertop 2"),
        ("put apple 1 in/on countertop 2", "move apple 1 to countertop 2"),
        ("  go to desk 1\n", "go to desk 1"),
        ("move apple 1 to fridge 1", "move apple 1 to fridge 1"),
        ("put apple 1", "put apple 1"),
        ("put in fridge 1", "put in fridge 1"),
        ("PUT apple 1 in fridge 1", "PUT apple 1 in fridge 1"),
        ("output apple 1 in fridge 1", "output apple 1 in fridge 1"),
        ("", ""),
        ("go to desk 1\ngo to desk 2", None),
        ("look\x00", None),
        ("\ud800", None),
        ("x" * (MAX_ACTION_LENGTH + 1), None),
        (" " * (MAX_ACTION_LENGTH + 1), None),
    ],
)
def test_known_answers(action, command):
    assert to_command(action) == command


@given(st.text(max_size=60), st.sampled_from(["in", "on", "in/on"]), st.text(max_size=60))
def test_whatever_is_said_is_a_command_or_none(first, word, second):
    command = to_command(f"put {first} {word} {second}")
    assert command is None or (command == command.strip() and command.isprintable())
