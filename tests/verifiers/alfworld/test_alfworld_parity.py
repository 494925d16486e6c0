"""What TextWorld said when it was recorded, our engine says; so the original need not be installed to hold to it."""

import json
import random

import pytest
from alfworld_quirks import QUIRKS
from record_parity import FILE, STEPS, game_of, recordings, replay
from reference import NativePlayer, TextWorldPlayer

from rlanything_verifiers.alfworld import GOAL_KINDS, dump_game

RECORDED = recordings()


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_the_engine_says_what_was_recorded(name: str) -> None:
    recording = RECORDED[name]
    assert replay(recording, NativePlayer(game_of(recording))) == STEPS


def test_the_recording_covers_the_rules() -> None:
    steps = [step for recording in RECORDED.values() for step in recording["steps"]]
    verbs = {step["command"].split()[0] for step in steps if step["command"] and step["feedback"] != "Nothing happens."}
    assert {"clean", "close", "cool", "examine", "go", "heat", "look", "move", "open", "slice", "take", "use"} <= verbs
    assert any(step["feedback"] == "Nothing happens." for step in steps)
    won = [recording for recording in RECORDED.values() if any(step["won"] for step in recording["steps"])]
    assert {recording["goal"]["kind"] for recording in won} == set(GOAL_KINDS)
    assert {name.rpartition(" ")[0] for name in RECORDED} >= set(QUIRKS)
    assert FILE.stat().st_size < 300_000


def test_a_difference_is_seen() -> None:
    recording = json.loads(json.dumps(RECORDED["kitchen, cool"]))
    recording["steps"][-1]["commands"].pop()
    with pytest.raises(AssertionError):
        replay(recording, NativePlayer(game_of(recording)))


@pytest.mark.textworld
def test_textworld_still_says_it() -> None:
    name = random.Random(0).choice(sorted(RECORDED))
    replay(RECORDED[name], TextWorldPlayer(dump_game(game_of(RECORDED[name]))))


@pytest.mark.slow
@pytest.mark.textworld
@pytest.mark.parametrize("name", sorted(RECORDED))
def test_textworld_still_says_all_of_it(name: str) -> None:
    replay(RECORDED[name], TextWorldPlayer(dump_game(game_of(RECORDED[name]))))
