"""Constrained decoding: exactly the admissible commands can be written, and forced tokens are not choices."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rlanything_agents.rollout.constraint import EmptyConstraint, TurnConstraint

END = 0
commands = st.sets(st.lists(st.integers(1, 4), min_size=1, max_size=5).map(lambda ids: (*ids, END)), min_size=1)
slots = st.lists(st.sets(st.integers(1, 9), min_size=1).map(lambda ids: tuple(sorted(ids))), max_size=3)


@given(commands, slots, st.randoms())
@settings(max_examples=200)
def test_every_walk_ends_in_a_command(
    tokens: set[tuple[int, ...]], slots: list[tuple[int, ...]], random: object
) -> None:
    constraint = TurnConstraint(slots, [(command, str(command)) for command in tokens])
    written: list[int] = []
    while allowed := constraint.allowed:
        assert constraint.command is None
        assert list(allowed) == sorted(set(allowed))
        written.append(random.choice(allowed))  # type: ignore[attr-defined]
        constraint.advance(written[-1])
    thought, command = written[: len(slots)], tuple(written[len(slots) :])
    assert all(token in slot for token, slot in zip(thought, slots, strict=True))
    assert command in tokens
    assert constraint.command == str(command)


@given(commands)
@settings(max_examples=100)
def test_every_command_can_be_written(tokens: set[tuple[int, ...]]) -> None:
    for command in tokens:
        constraint = TurnConstraint((), [(other, str(other)) for other in tokens])
        for token in command:
            assert token in constraint.allowed
            constraint.advance(token)
        assert constraint.command == str(command)


def test_without_commands_there_is_no_turn() -> None:
    with pytest.raises(EmptyConstraint, match="admissible"):
        TurnConstraint((), [])
