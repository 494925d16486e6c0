"""The vector environment of ALFWorld; `test_vectors` compares it with Gymnasium's."""

import time

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate

from rlanything_envs.alfworld.vector import AlfWorldVectorEnv
from rlanything_envs.errors import EpisodeOver, InvalidAction
from rlanything_task_pools.alfworld import DOMAIN

ID = "RLAnything/AlfWorld-v0"
MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED]


def test_default_is_our_vector_environment():
    vector = gym.make_vec(ID, num_envs=2)
    assert isinstance(vector, AlfWorldVectorEnv)
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert vector.max_episode_steps == 50
    assert gym.make_vec(ID, num_envs=2, max_episode_steps=None).max_episode_steps is None


def test_an_episode_in_every_mode(task):
    for mode in MODES:
        vector = AlfWorldVectorEnv(2, max_episode_steps=30, autoreset_mode=mode, tasks=[task])
        vector.reset(seed=0)
        for command in task.proof:
            observations, rewards, terminated, truncated, infos = vector.step([command, "look"])
        assert rewards.tolist() == [1, 0]
        assert terminated.tolist() == [True, False]
        assert not truncated.any()
        if mode is AutoresetMode.SAME_STEP:
            assert infos["final_info"]["outcome"].tolist() == [1, None]
            assert infos["outcome"].tolist() == [None, None]
            assert "Your task is to" in observations[0]
            assert "Your task is to" not in infos["final_obs"][0]
        else:
            assert infos["outcome"].tolist() == [1, None]
        if mode is AutoresetMode.DISABLED:
            with pytest.raises(EpisodeOver, match=r"\[0\]"):
                vector.step(["look", "look"])
            _, infos = vector.reset(options={"reset_mask": np.array([True, False])})
            assert infos["_task_id"].tolist() == [True, False]
            vector.step(["look", "look"])


def test_the_time_limit_is_a_failure(task):
    vector = AlfWorldVectorEnv(2, max_episode_steps=3, autoreset_mode="Disabled", tasks=[task])
    vector.reset(seed=0)
    for _ in range(3):
        _, rewards, terminated, truncated, infos = vector.step(["look", "look"])
    assert (rewards.any(), terminated.any(), truncated.all()) == (False, False, True)
    assert infos["outcome"].tolist() == [-1, -1]


def test_tasks_for_each_copy(tasks):
    vector = AlfWorldVectorEnv(3)
    _, infos = vector.reset(seed=0, options={"tasks": tasks[:3]})
    assert infos["task_id"].tolist() == [task.id for task in tasks[:3]]
    _, infos = vector.reset(options={"task": tasks[4]})
    assert infos["task_id"].tolist() == [tasks[4].id] * 3
    _, infos = vector.reset(seed=0, options={"tasks": [tasks[1], None, None]})
    assert infos["task_id"][0] == tasks[1].id
    assert infos["task_id"][1] != infos["task_id"][2]


def test_info_arrays_are_fresh_and_typed(task):
    vector = AlfWorldVectorEnv(2, tasks=[task])
    _, infos = vector.reset(seed=0)
    assert {key: infos[key].dtype for key in infos if not key.startswith("_")} == {
        "task_id": object,
        "command": object,
        "admissible_commands": object,
        "goal_condition_rate": np.float64,
        "won": np.bool_,
        "outcome": object,
    }
    before = [list(commands) for commands in infos["admissible_commands"]]
    infos["admissible_commands"][0].clear()
    infos["_won"][:] = False
    *_, infos = vector.step(["dance", "dance"])
    assert infos["admissible_commands"].tolist() == before
    assert infos["_won"].all()
    assert infos["command"].tolist() == ["unreadable", "unreadable"]


def test_a_broken_engine_ends_its_own_episode_only(task):
    class Broken:
        def __getattr__(self, name):
            raise OSError("the engine is gone")

    vector = AlfWorldVectorEnv(2, tasks=[task], autoreset_mode="Disabled")
    vector.reset(seed=0)
    vector._worlds[0] = Broken()
    _, rewards, terminated, truncated, infos = vector.step(["look", "look"])
    assert (rewards.tolist(), terminated.tolist(), truncated.tolist()) == ([0, 0], [False, False], [True, False])
    assert infos["outcome"].tolist() == ["error", None]
    assert infos["task_id"].tolist() == [task.id, task.id]
    vector.reset(options={"reset_mask": truncated})
    assert not vector.step(["look", "look"])[3].any()


def test_bad_arguments(task):
    vector = AlfWorldVectorEnv(2, tasks=[task])
    with pytest.raises(EpisodeOver):
        vector.step(["look", "look"])
    vector.reset(seed=[3, None])
    with pytest.raises(ValueError, match="1 actions for 2"):
        vector.step(["look"])
    first = task.proof[0]
    with pytest.raises(InvalidAction):
        vector.step([first, 3])
    assert first in vector.envs[0].world.admissible_commands  # nothing has moved
    with pytest.raises(ValueError, match="seed has 3 entries"):
        vector.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="tasks"):
        vector.reset(options={"tasks": [task]})
    with pytest.raises(ValueError, match="tasks"):
        vector.reset(options={"tasks": []})
    for mask in ([True, False], np.array([1, 0]), np.array([True]), np.array([False, False])):
        with pytest.raises(ValueError, match="reset_mask"):
            vector.reset(options={"reset_mask": mask})
    for kwargs in ({"num_envs": 0}, {"max_episode_steps": 0}, {"autoreset_mode": "Sometimes"}):
        with pytest.raises(ValueError, match=r"num_envs|max_episode_steps|Sometimes"):
            AlfWorldVectorEnv(**kwargs)


def test_the_users_options_are_left_alone(task):
    options = {"reset_mask": np.array([True, True]), "task": task}
    AlfWorldVectorEnv(2, tasks=[task]).reset(options=options)
    assert set(options) == {"reset_mask", "task"}


def test_rendering(task):
    vector = gym.make_vec(ID, 2, "vector_entry_point", render_mode="rgb_array", tasks=[task])
    vector.reset(seed=0)
    assert [frame.shape for frame in vector.render()] == [(540, 960, 3)] * 2
    vector.close()
    assert AlfWorldVectorEnv(1, tasks=[task]).render() is None


def test_a_thousand_copies_are_fast(tasks):
    vector = gym.make_vec(ID, 1024, "vector_entry_point", tasks=tasks, autoreset_mode="SameStep")
    _, infos = vector.reset(seed=0)
    rng = np.random.default_rng(0)
    best = np.inf
    for _ in range(3):
        actions = [c[int(rng.integers(len(c)))] for c in infos["admissible_commands"]]
        start = time.process_time()
        *_, infos = vector.step(actions)
        best = min(best, time.process_time() - start)
    assert 1024 / best > 500  # steps a second of processor time; some 50,000 on an idle laptop core


# -- Gymnasium's own vector environments


def mixed_ends(vector, task):
    """One copy wins while the other goes on: outcome 1 beside None in one array."""
    vector.reset(seed=0, options={"task": task})
    for command in task.proof:
        _, rewards, terminated, _, infos = vector.step((command, "look"))
    assert rewards.tolist() == [1, 0]
    assert terminated.tolist() == [True, False]
    assert infos["outcome"].tolist() == [1, None]


def test_sync(task):
    vector = gym.make_vec(ID, 2, "sync")
    mixed_ends(vector, task)
    assert len(vector.action_space.sample()) == 2
    assert list(iterate(vector.observation_space, vector.reset(seed=0)[0]))


@pytest.mark.slow
def test_memory_of_a_thousand_copies():
    import tracemalloc

    source = [DOMAIN.generate(seed) for seed in range(4)]
    AlfWorldVectorEnv(1, tasks=source).reset(seed=0)
    tracemalloc.start()
    vector = AlfWorldVectorEnv(1024, tasks=source)
    vector.reset(seed=0)
    assert tracemalloc.get_traced_memory()[0] / 1024 < 40_000  # bytes a copy
    tracemalloc.stop()
