"""Many environments at once: the vectors of the three domains and Gymnasium's own give the same episodes."""

import threading

import gymnasium as gym
import numpy as np
import pytest
from coding_tasks import RIGHT, WRONG, act, make_task
from gymnasium.vector import AutoresetMode
from osworld_tasks import SOLUTION, make
from scripted_desktop import SCRIPTED

from rlanything_envs.errors import EpisodeOver
from rlanything_envs.vector import ThreadedVectorEnv
from rlanything_task_pools.alfworld import DOMAIN
from rlanything_verifiers.coding.cache import RUNS

MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]
GAMES = [DOMAIN.generate(seed) for seed in range(4)]
PROOFS = {task.id: task.proof for task in GAMES}
PROGRAMS = [act("TEST", RIGHT), act("TEST", WRONG), act("SUBMIT", RIGHT)]
DOMAINS = {
    "AlfWorld": ({"tasks": GAMES, "max_episode_steps": 12}, PROOFS.__getitem__),
    "Coding": ({"tasks": [make_task()], "max_episode_steps": 4}, lambda _: PROGRAMS),
    "OSWorld": (
        {"tasks": [make()], "observation": "text", "max_episode_steps": 6, **SCRIPTED},
        lambda _: [*SOLUTION, "DONE"],
    ),
}
"""By domain, arguments and the actions that solve a task of an id, mostly before the time limit."""


def plain(value):
    """Arrays as lists, so that results can be compared."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def history(domain, kind, mode, steps, **more):
    """Everything that a vector of three returns in some steps; the copy in the middle does nothing but wait."""
    arguments, solution = DOMAINS[domain]
    where = (
        {"autoreset_mode": mode}
        if kind == "vector_entry_point"
        else {"vector_kwargs": {"autoreset_mode": mode, **more}}
    )
    vector = gym.make_vec(f"RLAnything/{domain}-v0", 3, kind, **where, **arguments)
    try:
        assert vector.metadata["autoreset_mode"] is mode
        observations, infos = vector.reset(seed=11)
        records, ids = [(observations, plain(infos))], list(infos["task_id"])
        turns, ended = np.zeros(3, int), np.zeros(3, bool)
        for _ in range(steps):
            if mode is AutoresetMode.DISABLED and ended.any():
                observations, infos = vector.reset(options={"reset_mask": ended})
                records.append((observations, plain(infos)))
                ids = [infos["task_id"][i] if ended[i] else ids[i] for i in range(3)]
                turns[ended], ended = 0, np.zeros(3, bool)
            plans = [["WAIT"] if i == 1 else solution(ids[i]) for i in range(3)]
            actions = [plan[min(turn, len(plan) - 1)] for plan, turn in zip(plans, turns, strict=True)]
            before = ended
            observations, rewards, terminated, truncated, infos = vector.step(actions)
            assert observations in vector.observation_space
            records.append((observations, *map(plain, (rewards, terminated, truncated, infos))))
            ended, turns = terminated | truncated, turns + 1
            turns[before if mode is AutoresetMode.NEXT_STEP else ended & (mode is AutoresetMode.SAME_STEP)] = 0
            ids = list(infos["task_id"])
        return records
    finally:
        vector.close()


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("mode", MODES)
def test_the_same_episodes_in_every_vector(domain, mode):
    steps = 45 if domain == "AlfWorld" else 14
    expected = history(domain, "sync", mode, steps)
    assert history(domain, "vector_entry_point", mode, steps) == expected
    RUNS.clear()  # else processes inherit what was judged already
    assert history(domain, "async", mode, steps, context="fork") == expected
    moves = [record for record in expected if len(record) == 5]
    verdicts = [(record[4].get("final_info") or record[4])["outcome"] for record in moves]
    ends = [
        (cut, verdict)
        for record, row in zip(moves, verdicts, strict=True)
        for cut, verdict in zip(record[3], row, strict=True)
    ]
    assert {verdict for cut, verdict in ends if cut} == {-1}, "a time limit is a failure, without any wrapper"
    assert sum(cut for cut, _ in ends) >= 2
    assert sum(verdict == 1 for _, verdict in ends) >= 2


def test_texts_of_a_spawned_process():
    arguments = {"vector_kwargs": {"context": "spawn"}, "tasks": GAMES}
    spawned, here = (
        gym.make_vec("RLAnything/AlfWorld-v0", 2, kind, **more)
        for kind, more in (("async", arguments), ("sync", {"tasks": GAMES}))
    )
    try:
        assert spawned.reset(seed=3)[0] == here.reset(seed=3)[0]
        assert spawned.step(("inventory", "look"))[0] == here.step(("inventory", "look"))[0]
    finally:
        spawned.close()


def test_all_copies_step_at_once(monkeypatch):
    vector = gym.make_vec("RLAnything/OSWorld-v0", 4, tasks=[make()], observation="text", **SCRIPTED)
    together = threading.Barrier(4, timeout=30)  # passed when all four steps run
    for slot in vector.envs:
        unwrapped, step = slot.unwrapped, slot.unwrapped.step
        monkeypatch.setattr(unwrapped, "step", lambda action, step=step: (together.wait(), step(action))[1])
    vector.reset(seed=0)
    vector.step(["WAIT"] * 4)
    vector.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupted_step_ends_before_anything_else_begins(monkeypatch, threads):
    """Ctrl-C leaves a step running, and with one thread another one waiting."""
    vector = ThreadedVectorEnv("RLAnything/AlfWorld-v0", 2, threads=threads, tasks=GAMES)
    vector.reset(seed=0)
    begun, may_end, record = threading.Semaphore(0), threading.Event(), []
    for i, slot in enumerate(vector.envs):

        def step(action, i=i):
            record.append(f"step {i} begins")
            begun.release()
            assert may_end.wait(30)
            record.append(f"step {i} ends")

        def reset(*, i=i, do=slot.unwrapped.reset, **arguments):
            record.append(f"reset {i}")
            return do(**arguments)

        monkeypatch.setattr(slot.unwrapped, "step", step)
        monkeypatch.setattr(slot.unwrapped, "reset", reset)

    def interrupted(calls):
        if all(call.done() for call in calls):
            return
        assert all(begun.acquire(timeout=30) for _ in range(threads))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rlanything_envs.vector.wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            vector.step(["look", "look"])
    threading.Timer(0.3, may_end.set).start()
    vector.reset(seed=0)
    assert sorted(record[-2:]) == ["reset 0", "reset 1"]
    assert len(record) == 2 + 2 * threads, "a step that had not begun is dropped"
    vector.close()


def test_tasks_for_each_copy_and_mistakes():
    programs = [make_task(goal) for goal in ("One.", "Two.")]
    vector = gym.make_vec("RLAnything/Coding-v0", 2, tasks=programs[:1], autoreset_mode="Disabled", max_turns=1)
    assert isinstance(vector, ThreadedVectorEnv)
    assert vector.reset(options={"tasks": programs})[1]["task_id"].tolist() == [task.id for task in programs]
    options = {"task": programs[1], "reset_mask": np.array([True, False])}
    assert vector.reset(options=options)[1]["task_id"].tolist() == [programs[1].id, None]
    assert set(options) == {"task", "reset_mask"}
    with pytest.raises(ValueError, match="1 entries for 2"):
        vector.reset(options={"tasks": programs[:1]})
    with pytest.raises(ValueError, match="seed"):
        vector.reset(seed=[1])
    with pytest.raises(ValueError, match="reset_mask"):
        vector.reset(options={"reset_mask": [True, True]})
    with pytest.raises(ValueError, match="3 actions for 2"):
        vector.step(["", "", ""])
    with pytest.raises(TypeError, match="an action is a text"):
        vector.step([act("SUBMIT", RIGHT), 3])
    vector.reset(seed=0)
    assert vector.step([act("SUBMIT", RIGHT)] * 2)[1].tolist() == [1, 1]
    with pytest.raises(EpisodeOver, match=r"\[0, 1\]"):
        vector.step(["", ""])
    vector.close()
    with pytest.raises(ValueError, match="num_envs"):
        gym.make_vec("RLAnything/Coding-v0", 0)
