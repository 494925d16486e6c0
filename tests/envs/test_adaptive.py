"""The curriculum as a wrapper."""

import copy
import json
import threading
import time

import gymnasium as gym
import pytest

from rlanything_envs import AdaptiveDifficulty
from rlanything_envs.curriculum import ScriptedRewriter
from rlanything_envs.errors import InfrastructureError, SettingError
from rlanything_task_pools import PoolError, TaskPool

ID = "RLAnything/AlfWorld-v0"


def make(pool, limit=30, **kwargs):
    settings = {"rollouts": 4, "rewriting": "inline", **kwargs}
    return AdaptiveDifficulty(gym.make(ID, max_episode_steps=limit), pool, **settings)


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


def test_broken_engines_are_no_losses(pool):
    class Broken:
        def __getattr__(self, name):
            raise OSError("the engine is gone")

    env = make(pool)
    for _ in range(4):
        env.reset()
        env.unwrapped.world = Broken()
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


# -- rewriting beside the episodes


def lose(env, episodes, limit=2):
    """Episodes of doing nothing; their `info` and the longest reset and step."""
    infos, resets, steps = [], [0.0], [0.0]
    for _ in range(episodes):
        start = time.perf_counter()
        infos.append(env.reset()[1])
        resets.append(time.perf_counter() - start)
        for _ in range(limit):
            start = time.perf_counter()
            env.step("look")
            steps.append(time.perf_counter() - start)
    return infos, max(resets), max(steps)


class Waiting(ScriptedRewriter):
    """Works when it is told to."""

    def __init__(self):
        super().__init__()
        self.go = threading.Event()

    def rewrite(self, request, rng):
        assert self.go.wait(60)
        return super().rewrite(request, rng)


def test_reset_and_step_do_not_wait_for_a_rewriter(pool):
    rewriter = Waiting()
    env = make(pool, limit=2, rewriter=rewriter, rewriting="background")
    _, reset, step = lose(env, 40)  # the rewriter would let them wait for a minute
    assert max(reset, step) < 5
    assert len(env.curriculum._requests) >= 5
    assert pool.events() == []
    assert len(pool.outcomes()) >= 36
    rewriter.go.set()
    env.curriculum.drain(wait=True)
    assert pool.counts()["proposed"] + pool.counts()["discarded"] >= 5
    lose(env, 4)
    assert env.reset()[1]["curriculum"]["role"] == "candidate"
    env.close()


def test_in_the_background_by_default_and_tried_when_ready(pool):
    env = AdaptiveDifficulty(gym.make(ID, max_episode_steps=2), pool, rollouts=2)
    deadline = time.monotonic() + 60
    while not pool.events(kind="rejected"):
        lose(env, 1)
        assert time.monotonic() < deadline
    env.close()
    counts = pool.counts()
    assert counts["proposed"] == counts["rejected"] + counts["pending"]


# -- critiques


class Sour:
    """A reward model that thinks little of looking about."""

    def __init__(self):
        self.asked = []

    def judge(self, goal, steps):
        self.asked.append((goal, len(steps), threading.current_thread() is threading.main_thread()))
        return [(-1, -1, -1) if step.action == "look" else (1, 1, 1) for step in steps]


class Reading(ScriptedRewriter):
    critiques = ()

    def rewrite(self, request, rng):
        self.critiques = (*self.critiques, request.critique)
        return super().rewrite(request, rng)


@pytest.mark.parametrize("rewriting", ["inline", "background"])
def test_with_a_reward_model_it_collects_critiques_itself(pool, rewriting):
    judge, rewriter = Sour(), Reading()
    env = make(pool, limit=5, rewriter=rewriter, reward_model=judge, rewriting=rewriting)
    goals = {env.pool.task(info["task_id"]).goal for info in lose(env, 4, limit=5)[0]}
    assert judge.asked == []
    env.close()
    assert set(judge.asked) == {(*goals, 5, rewriting == "inline")}
    assert len(judge.asked) == 4
    (critique,) = rewriter.critiques
    assert "of 4 failed attempts: " in critique
    assert "judged wrong by every vote" in critique
    assert pool.events(kind="proposed") == [] or critique in pool.candidate(pool.events()[-1].slot).rewrite.critique


def test_won_episodes_are_not_judged_and_no_group_within_the_band(pool):
    judge, rewriter = Sour(), Reading()
    env = make(pool, rewriter=rewriter, reward_model=judge)
    for number in range(4):
        play(env, win=number < 2)
    env.reset()
    assert (judge.asked, rewriter.critiques) == ([], ())
    for _ in range(4):
        play(env, win=True)
    env.close()
    assert judge.asked == []
    assert rewriter.critiques[0].startswith("The attempts that succeeded took ")


def test_without_one_the_trainer_pushes_them(pool):
    rewriter = Reading()
    env = make(pool, limit=2, rewriter=rewriter)
    env.add_critique("looks about all day")
    lose(env, 4)
    lose(env, 8)  # the candidate fails as well, and then another task
    env.reset()
    assert rewriter.critiques == ("looks about all day", "")


def test_a_reward_model_that_breaks_is_an_event(pool):
    class Broken:
        def judge(self, goal, steps):
            return []  # as many votes as there are no steps

    env = make(pool, limit=2, reward_model=Broken())
    lose(env, 4)
    env.close()
    assert pool.events()[0].reason == "critique-error"


def sour():
    return Sour()


def reading():
    return Reading()


def test_parts_named_by_their_place_keep_a_specification_json(pool):
    env = make(pool, limit=2, rewriter=f"{__name__}:reading", reward_model=f"{__name__}:sour")
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    lose(again, 4)
    again.close()
    assert "4 of 4 failed attempts" in again.curriculum.rewriter.critiques[0]
    with pytest.raises(ValueError, match="no_such"):
        make(pool, reward_model="no_such:thing")


# -- how it is made


def test_as_additional_wrapper_of_a_specification(pool):
    spec = copy.deepcopy(gym.spec(ID))
    settings = {"pool": str(pool.path), "rollouts": 2, "acceptance": "recommended", "operators": ["start"]}
    spec.additional_wrappers = (AdaptiveDifficulty.wrapper_spec(**settings),)
    spec.max_episode_steps = 2
    env = gym.make(spec)
    assert isinstance(env, AdaptiveDifficulty)
    lose(env, 6)
    assert env.curriculum.acceptance.name == "recommended"
    assert env.curriculum.rewriter.operators == ("start",)
    text = env.spec.to_json()
    assert json.loads(text)["additional_wrappers"][-1]["kwargs"]["operators"] == ["start"]
    again = gym.make(gym.envs.registration.EnvSpec.from_json(text))
    assert isinstance(again, AdaptiveDifficulty)
    lose(again, 2)
    assert again.spec.to_json() == text
    env.close()
    again.close()
    assert len(pool.outcomes()) == 8


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_processes_share_one_pool(pool, context):
    """Real processes play, rewrite, try and decide on one file; nothing is lost and nothing decided twice."""
    spec = copy.deepcopy(gym.spec(ID))
    spec.additional_wrappers = (AdaptiveDifficulty.wrapper_spec(pool=str(pool.path), rollouts=2, actor="both"),)
    spec.max_episode_steps = 2
    kwargs = {"context": context, "autoreset_mode": gym.vector.AutoresetMode.SAME_STEP}
    vector = gym.make_vec(spec, 3, "async", kwargs)
    episodes = 0
    try:
        _, infos = vector.reset(seed=0)
        assert infos["curriculum"]["slot"].dtype.kind == "i"
        for _ in range(60):
            *_, truncations, infos = vector.step(("look",) * 3)
            episodes += int(truncations.sum())
    finally:
        vector.close()
    assert episodes == 90
    assert len(pool.outcomes()) == 90  # those of groups cut short too
    counts = pool.counts()
    assert counts["proposed"] >= 3
    assert counts["proposed"] == counts["accepted"] + counts["rejected"] + counts["pending"]
    decided = [(event.slot, event.task_id) for event in pool.events() if event.kind in ("accepted", "rejected")]
    proposed = [(event.slot, event.task_id) for event in pool.events(kind="proposed")]
    assert all(proposed.count(trial) >= decided.count(trial) for trial in decided)
    assert all(event.reason == "not-easier" for event in pool.events(kind="rejected"))


def test_without_a_pool_tasks_are_generated():
    one, two = (AdaptiveDifficulty(gym.make(ID), pool_size=3, seed=1) for _ in range(2))
    assert len(one.pool.slots) == 3
    assert [one.pool.root(slot).id for slot in one.pool.slots] == [two.pool.root(slot).id for slot in two.pool.slots]
    other = AdaptiveDifficulty(gym.make(ID), pool_size=3, seed=2)
    assert other.pool.root(0).id != one.pool.root(0).id
    assert gym.make(one.spec).reset(seed=4)[1] == one.reset(seed=4)[1]


def test_bad_arguments(tmp_path):
    with pytest.raises(PoolError, match="no task pool at"):
        AdaptiveDifficulty(gym.make(ID), tmp_path / "none.sqlite")
    with pytest.raises(ValueError, match="names no `domain`"):
        AdaptiveDifficulty(gym.make("CartPole-v1"))
    for size in (0, 1.5, "2"):
        with pytest.raises(SettingError, match="pool_size"):
            AdaptiveDifficulty(gym.make(ID), pool_size=size)
    with pytest.raises(ValueError, match="rewriting"):
        AdaptiveDifficulty(gym.make(ID), rewriting="later", pool_size=1)
    with pytest.raises(ValueError, match="band"):
        AdaptiveDifficulty(gym.make(ID), band=(1.0, 0.0), pool_size=1)
