"""The curriculum as a wrapper."""

import gymnasium as gym
import pytest

from rlanything_envs import AdaptiveDifficulty
from rlanything_envs.curriculum import ScriptedRewriter
from rlanything_envs.errors import InfrastructureError
from rlanything_task_pools import PoolMissing, TaskPool

ID = "RLAnything/AlfWorld-v0"


@pytest.fixture
def pool(tasks, tmp_path):
    with TaskPool.create(tmp_path / "pool.sqlite", tasks) as pool:
        yield pool


def make(pool, limit=30, **kwargs):
    return AdaptiveDifficulty(gym.make(ID, max_episode_steps=limit), pool, **{"rollouts": 4, **kwargs})


def play(env, win, **reset):
    """One episode: the proof, or doing nothing until the time is up."""
    _, info = env.reset(**reset)
    task = env.pool.task(info["task_id"])
    steps = 0
    while True:
        *_, terminated, truncated, after = env.step(task.proof[steps] if win else "look")
        steps += 1
        if terminated or truncated:
            assert after["outcome"] == (1 if win else -1)
            return info


def test_groups_of_one_task(pool):
    env = make(pool)
    infos = [play(env, win=number % 2 == 0, seed=3 if number == 0 else None) for number in range(12)]
    groups = [infos[:4], infos[4:8], infos[8:]]
    assert [len({info["task_id"] for info in group}) for group in groups] == [1, 1, 1]
    assert len({group[0]["task_id"] for group in groups}) > 1
    assert all(info["curriculum"]["role"] == "active" for info in infos)
    assert all(pool.active(info["curriculum"]["slot"]).id == info["task_id"] for info in infos)
    assert pool.events() == []  # half of each group was won


def test_failures_bring_an_easier_candidate_which_is_tried_and_decided(pool):
    env = make(pool)
    first = [play(env, win=False) for _ in range(4)]
    slot = first[0]["curriculum"]["slot"]
    assert pool.candidate(slot) is None  # nothing happens before the next reset
    trial = [play(env, win=number < 2) for number in range(4)]
    assert {(info["curriculum"]["slot"], info["curriculum"]["role"]) for info in trial} == {(slot, "candidate")}
    assert pool.candidate(slot).id == trial[0]["task_id"] != first[0]["task_id"]
    env.reset()
    assert pool.active(slot).id == trial[0]["task_id"]
    assert [event.kind for event in pool.events(slot)][-2:] == ["proposed", "accepted"]
    outcomes = pool.outcomes(slot)
    assert [record.outcome.success for record in outcomes] == [False] * 4 + [True] * 2 + [False] * 2
    assert {record.outcome.role for record in outcomes[4:]} == {"candidate"}
    assert outcomes[0].outcome.steps == 30
    assert (outcomes[4].outcome.score, outcomes[4].outcome.actor) == (1.0, "agent")


def test_rewriting_never_happens_within_a_step(pool):
    class Watched(ScriptedRewriter):
        calls = 0

        def rewrite(self, request, rng):
            assert not stepping
            Watched.calls += 1
            return super().rewrite(request, rng)

    env = make(pool, limit=2, rewriter=Watched())
    stepping = False
    for _ in range(24):
        env.reset()
        stepping = True
        env.step("look")
        assert env.step("look")[3]
        stepping = False
    env.reset()
    assert Watched.calls >= 2


def test_unfinished_episodes_count_for_nothing(pool):
    env = make(pool)
    task_id = play(env, win=True)["task_id"]
    for _ in range(10):
        assert env.reset()[1]["task_id"] == task_id
        env.step("look")
    for _ in range(3):
        assert play(env, win=True)["task_id"] == task_id
    assert play(env, win=True)["curriculum"]["role"] == "candidate"


def test_a_task_of_ones_own_is_outside_the_curriculum(pool, tasks):
    env = make(pool)
    task_id = play(env, win=True)["task_id"]
    other = next(task for task in tasks if task.id != task_id)
    _, info = env.reset(options={"task": other})
    assert info["task_id"] == other.id
    assert "curriculum" not in info
    for command in other.proof:
        *_, info = env.step(command)
    assert (info["outcome"], "curriculum" in info) == (1, False)
    assert env.reset()[1]["task_id"] == task_id
    env.close()
    assert len(pool.outcomes()) == 1


def test_closing_and_seeding_keep_what_was_played(pool):
    env = make(pool)
    play(env, win=False)
    env.reset(seed=5)
    assert len(pool.outcomes()) == 1
    play(env, win=False)
    env.close()
    env.close()
    assert len(pool.outcomes()) == 2
    assert pool.events() == []


def test_a_complete_group_is_acted_on_when_the_environment_is_closed(pool):
    env = make(pool)
    for _ in range(4):
        play(env, win=False)
    env.close()
    assert pool.counts()["proposed"] + pool.counts()["discarded"] >= 1


def test_broken_engines_are_no_losses(pool):
    class Broken:
        def __getattr__(self, name):
            raise OSError("the engine is gone")

    env = make(pool)
    for _ in range(4):
        env.reset()
        env.unwrapped._world = Broken()
        with pytest.raises(InfrastructureError):
            env.step("look")
    env.reset()
    assert [record.outcome.success for record in pool.outcomes()] == [None] * 4
    assert pool.events() == []


def test_same_seed_same_run(tasks, tmp_path):
    def run(name):
        env = make(TaskPool.create(tmp_path / name, tasks))
        infos = [play(env, win=number % 7 < 3, seed=9 if number == 0 else None) for number in range(40)]
        env.close()
        return [(info["task_id"], info["curriculum"]) for info in infos], env.pool.events()

    one, two = run("one"), run("two")
    assert one == two
    assert one[1]


def test_two_environments_on_one_pool(pool):
    one, two = make(pool.path), make(pool.path)
    for number in range(30):
        play((one, two)[number % 2], win=False)
    counts = pool.counts()
    assert counts["outcomes"] >= 24
    assert counts["proposed"] == counts["accepted"] + counts["rejected"] + counts["pending"]
    one.close()
    two.close()


# -- how it is made


def test_from_a_path_the_spec_can_be_rebuilt_elsewhere(pool):
    env = make(pool)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert isinstance(again, AdaptiveDifficulty)
    assert again.pool.path == pool.path
    assert again.curriculum.rollouts == 4
    assert again.reset(seed=2) == env.reset(seed=2)


def test_without_a_pool_tasks_are_generated():
    one, two = (AdaptiveDifficulty(gym.make(ID), pool_size=3, seed=1) for _ in range(2))
    assert len(one.pool.slots) == 3
    assert [one.pool.root(slot).id for slot in one.pool.slots] == [two.pool.root(slot).id for slot in two.pool.slots]
    other = AdaptiveDifficulty(gym.make(ID), pool_size=3, seed=2)
    assert other.pool.root(0).id != one.pool.root(0).id
    assert gym.make(one.spec).reset(seed=4)[1] == one.reset(seed=4)[1]


def test_in_the_vector_environments_of_gymnasium(pool):
    path = str(pool.path)
    wrappers = [lambda env: AdaptiveDifficulty(env, path, rollouts=2)]
    for mode, kwargs in (("sync", {}), ("async", {"shared_memory": False})):
        vector = gym.make_vec(ID, 2, mode, kwargs, wrappers, max_episode_steps=2)
        try:
            _, infos = vector.reset(seed=0)
            assert infos["curriculum"]["slot"].dtype.kind == "i"
            for _ in range(8):
                *_, infos = vector.step(("look", "look"))
        finally:
            vector.close()
    assert pool.counts()["outcomes"] >= 8


def test_bad_arguments(tmp_path):
    with pytest.raises(PoolMissing):
        AdaptiveDifficulty(gym.make(ID), tmp_path / "none.sqlite")
    with pytest.raises(ValueError, match="names no `domain`"):
        AdaptiveDifficulty(gym.make("CartPole-v1"))
    with pytest.raises(ValueError, match="pool_size"):
        AdaptiveDifficulty(gym.make(ID), pool_size=0)
    with pytest.raises(ValueError, match="band"):
        AdaptiveDifficulty(gym.make(ID), band=(1.0, 0.0), pool_size=1)
