"""The ALFWorld environment."""

import json
import pickle

import gymnasium as gym
import numpy as np
import pytest
from forms import some_answer

from rlanything_envs import Conversation, Verdict
from rlanything_envs.alfworld.env import AlfWorldEnv
from rlanything_envs.errors import EpisodeOver, InfrastructureError, SettingError, UnknownTask
from rlanything_envs.llm.choices import matches
from rlanything_envs.views import get_view
from rlanything_task_pools import PoolError, Task, TaskFormatError
from rlanything_task_pools.alfworld import DOMAIN, KnobError
from rlanything_task_pools.alfworld.games import game_of
from rlanything_verifiers.alfworld import GameFormatError, World, write_game

ID = "RLAnything/AlfWorld-v0"


@pytest.fixture
def env():
    return gym.make(ID)


def test_the_proof_of_a_task_wins_and_nothing_before_pays(tasks, env):
    for task in tasks:
        observation, info = env.reset(options={"task": task})
        assert observation.endswith(f"Your task is to: {task.goal}")
        assert (info["task_id"], info["outcome"], info["won"]) == (task.id, None, False)
        for command in task.proof[:-1]:
            assert command in info["admissible_commands"]
            _, reward, terminated, truncated, info = env.step(command)
            assert (reward, terminated, truncated, info["outcome"], info["won"]) == (0, False, False, None, False)
            assert 0 <= info["goal_condition_rate"] < 1
        _, reward, terminated, truncated, info = env.step(task.proof[-1])
        assert (reward, terminated, truncated, info["outcome"], info["won"]) == (1.0, True, False, 1, True)
        assert info["goal_condition_rate"] == 1
        assert json.loads(json.dumps(info))["outcome"] == 1


def test_texts_and_commands_are_those_of_the_engine(task, env):
    world = World(game_of(task))
    observation, info = env.reset(options={"task": task})
    rng = np.random.default_rng(0)
    assert observation == world.reset()
    for _ in range(40):
        assert info["admissible_commands"] == world.admissible_commands
        command = info["admissible_commands"][int(rng.integers(len(info["admissible_commands"])))]
        observation, _, terminated, _, info = env.step(command)
        assert observation == world.step(command)
        if terminated:
            break


def test_put_is_an_alias_of_move(tasks, env):
    task = next(task for task in tasks if any(command.startswith("move ") for command in task.proof))
    for word in ("in/on", "in", "on"):
        env.reset(options={"task": task})
        for command in task.proof:
            old = command.replace("move ", "put ").replace(" to ", f" {word} ") if "move " in command else command
            _, reward, *_ = env.step(f"  {old}\n")
        assert reward == 1


@pytest.mark.parametrize("action", ["", "dance", "x" * 100_000, "look\nlook", "\ud800", "go to desk 999"])
def test_what_is_no_command_changes_nothing(action, task, env):
    _, before = env.reset(options={"task": task})
    observation, reward, terminated, truncated, info = env.step(action)
    assert observation == "Nothing happens."
    assert (reward, terminated, truncated) == (0, False, False)
    assert info == before | {"command": "impossible" if action == "go to desk 999" else "unreadable"}


@pytest.mark.parametrize(
    ("action", "command"),
    [
        *(("look", "ok"), ("inventory", "ok"), (" look ", "ok"), ("help", "ok")),
        *(
            ("open sky 1", "impossible"),
            ("take moon 1 from sky 1", "impossible"),
            ("put moon 1 in/on sky 1", "impossible"),
        ),
        *(("heat a with b", "impossible"), ("slice a with b", "impossible"), ("use lamp", "impossible")),
        *(("Look", "unreadable"), ("take", "unreadable"), ("take moon 1", "unreadable"), ("move a to ", "unreadable")),
        *(("go fridge 1", "unreadable"), ("I look around", "unreadable"), ("looking", "unreadable")),
    ],
)
def test_what_became_of_a_command_is_told_apart(action, command, task, env):
    _, info = env.reset(options={"task": task})
    assert info["command"] is None
    *_, info = env.step(action)
    assert info["command"] == command


def test_every_admissible_command_is_ok_and_every_other_of_its_form_impossible(tasks, env):
    for task in tasks[:3]:
        _, info = env.reset(options={"task": task})
        known = set(info["admissible_commands"])
        for command in task.proof:
            *_, done, _, info = env.step(command)
            assert info["command"] == "ok"
            if done:
                break
            known |= set(info["admissible_commands"])
            absent = sorted(known - set(info["admissible_commands"]))
            if absent:
                *_, info = env.step(absent[0])
                assert info["command"] == "impossible"


def test_listed_commands_are_the_form_of_the_next_answer(task):
    view, rng = get_view(ID, "full"), np.random.default_rng(1)
    plain, listing = gym.make(ID), gym.make(ID, admissible="list")
    assert "choices" not in plain.reset(options={"task": task})[1]
    _, info = listing.reset(options={"task": task})
    for _ in range(6):
        form = info["choices"]
        thought, action = view.read(some_answer(form, rng))
        assert action in info["admissible_commands"]
        assert matches(form, view.write("", action))
        assert matches(form, view.write("I look around.", action))
        assert not matches(form, view.write("", "go to nowhere 1"))
        assert "\n" not in thought
        info = listing.step(action)[4]
        assert info["command"] == "ok"


def test_admissible_commands_are_listed_by_a_switch(task):
    plain, listing = gym.make(ID), gym.make(ID, admissible="list")
    for env in (plain, listing):
        env.reset(options={"task": task})
    for command in ("look", "nonsense", *task.proof):
        told, *_, info = plain.step(command)
        observation, *_, same = listing.step(command)
        assert observation == f"{told}\n\nAdmissible commands: {', '.join(info['admissible_commands'])}."
        assert ("choices" in same) != same["won"]
        assert {name: value for name, value in same.items() if name != "choices"} == info
    first, info = listing.reset(options={"task": task})
    assert first.endswith(f"{info['admissible_commands'][-1]}.")
    with pytest.raises(ValueError, match="choose 'none' or 'list'"):
        AlfWorldEnv(admissible="all")
    vector = gym.make_vec(ID, num_envs=2, vectorization_mode="vector_entry_point", admissible="list")
    texts, _ = vector.reset(options={"task": task})
    assert texts == (first, first)
    with Conversation(ID, admissible="list") as conversation:
        assert conversation.start(task).text.endswith(first)


def test_stepping_without_an_episode_is_refused(task):
    env = AlfWorldEnv()
    with pytest.raises(EpisodeOver, match="reset"):
        env.step("look")
    env.reset(options={"task": task})
    for command in task.proof:
        env.step(command)
    with pytest.raises(EpisodeOver, match="reset"):
        env.step("look")
    env.reset()
    env.close()
    env.close()
    with pytest.raises(EpisodeOver, match="reset"):
        env.step("look")


# -- the end of the time


def last_step(env, task):
    env.reset(options={"task": task})
    steps = 0
    while True:
        *_, terminated, truncated, info = env.step("look")
        steps += 1
        if terminated or truncated:
            return steps, terminated, truncated, info


@pytest.mark.parametrize(("limit", "steps"), [(None, 50), (7, 7)])
def test_time_limit(task, limit, steps):
    kwargs = {} if limit is None else {"max_episode_steps": limit}
    env = gym.make(ID, **kwargs)
    assert last_step(env, task)[:3] == (steps, False, True)
    assert last_step(env, task)[3]["outcome"] == Verdict.FAILURE == -1


def test_the_time_limit_that_comes_first_decides(task):
    inner, outer = 9, 5
    for limits in ((inner, outer), (outer, inner)):
        env = gym.make(ID, max_episode_steps=-1)
        for limit in limits:
            env = gym.wrappers.TimeLimit(env, limit)
        assert last_step(env, task)[0] == outer
        assert last_step(env, task)[3]["outcome"] == -1
    env.unwrapped.reset(options={"task": task})  # beside the limits: none holds
    assert {env.unwrapped.step("look")[4]["outcome"] for _ in range(12)} == {None}
    assert pickle.loads(pickle.dumps(env)).reset(seed=1)[1]["task_id"] == env.reset(seed=1)[1]["task_id"]


def test_a_win_on_the_last_allowed_step_is_a_win(task):
    env = gym.make(ID, max_episode_steps=len(task.proof))
    env.reset(options={"task": task})
    for command in task.proof:
        _, reward, terminated, truncated, info = env.step(command)
    assert (reward, terminated, truncated, info["outcome"]) == (1, True, True, 1)


# -- which task


def test_seeds_draw_tasks():
    one, two = AlfWorldEnv(), AlfWorldEnv()
    ids = [one.reset(seed=5)[1]["task_id"], *(one.reset()[1]["task_id"] for _ in range(5))]
    assert ids == [two.reset(seed=5)[1]["task_id"], *(two.reset()[1]["task_id"] for _ in range(5))]
    assert len(set(ids)) == 6
    assert one.reset(seed=6)[1]["task_id"] != ids[0]
    # What was drawn can be asked for again, and asking does not move the generator.
    assert one.reset(options={"task": ids[3]})[1]["task_id"] == ids[3]
    assert one.reset(seed=5)[1]["task_id"] == ids[0]


def test_generator_arguments():
    env = AlfWorldEnv(generated_split="valid_unseen", knobs={"kinds": ["heat"], "rooms": ["Kitchen"]})
    goals = {env.reset(seed=seed)[0].rsplit("Your task is to: ")[1].split()[0] for seed in range(6)}
    assert goals <= {"heat", "put"}
    with pytest.raises(KnobError, match="unknown knobs"):
        AlfWorldEnv(knobs={"size": 3})


@pytest.mark.parametrize("env_id", ["RLAnything/AlfWorld-v0", "RLAnything/Coding-v0"])
def test_an_environment_plays_after_a_first_reset_that_failed(env_id: str) -> None:
    env = gym.make(env_id)
    with pytest.raises(UnknownTask):
        env.reset(options={"task": "typo"})
    for wrong in ("x", 1, []):
        with pytest.raises(SettingError, match="give a mapping such as"):
            env.reset(options=wrong)  # type: ignore[arg-type]
    env.reset(seed=0)
    assert isinstance(env.step("look")[0], str)
    with pytest.raises(SettingError, match="tasks = True: give tasks"):
        gym.make(env_id, tasks=True)


def test_no_text_is_permission_to_run_programs_unsafely() -> None:
    with pytest.raises(SettingError, match="allow_unsafe = 'false': give True or False"):
        gym.make("RLAnything/Coding-v0", allow_unsafe="false")


def test_game_files(task, tmp_path):
    path = write_game(game_of(task), tmp_path / "one" / "game.tw-pddl")
    for source in (path, str(path), path.parent):
        observation, info = AlfWorldEnv().reset(options={"task": source})
        assert observation == World(game_of(task)).reset()
        assert info["task_id"].startswith("alfworld-")
    (tmp_path / "broken.tw-pddl").write_text("{}")
    with pytest.raises(GameFormatError, match=r"broken\.tw-pddl"):
        AlfWorldEnv().reset(options={"task": tmp_path / "broken.tw-pddl"})


def test_tasks_that_cannot_be_played(task):
    foreign = Task(domain="coding", goal="sort a list", payload={})
    bare = Task(domain="alfworld", goal="do something.", payload={"scene": {}})
    done = Task(domain="alfworld", goal="put a x.", payload={**task.payload, "goal": already_true(task)})
    for bad, words in ((foreign, "coding"), (bare, "lacks goal"), (done, "solved from the start")):
        env = AlfWorldEnv()
        with pytest.raises(TaskFormatError, match=words):
            env.reset(options={"task": bad})
        with pytest.raises(EpisodeOver):
            env.step("look")


def already_true(task):
    """A goal that holds at the start of a task's scene: some thing stays where it is."""
    home = {row[0]: row[1] for row in task.payload["scene"]["receptacles"]}
    row = next(row for row in task.payload["scene"]["things"] if row[2] and "p" in row[5])
    return {"kind": "simple", "object_type": row[1], "receptacle_type": home[row[2][0]]}


def test_official_games(alfworld_data, monkeypatch):
    monkeypatch.setenv("ALFWORLD_DATA", str(alfworld_data))
    env = gym.make(ID, split="train")
    observation, info = env.reset(seed=1)
    assert "Your task is to:" in observation
    again = AlfWorldEnv("train", data_dir=alfworld_data)
    assert again.reset(options={"task": info["task_id"]}) == (observation, info)
    with pytest.raises(UnknownTask, match="games of the split 'train'"):
        again.reset(options={"task": "alfworld-0123456789abcdef"})


def test_official_games_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    with pytest.raises(PoolError, match="ALFWORLD_DATA"):
        AlfWorldEnv("train")
    with pytest.raises(PoolError, match="json_2"):
        AlfWorldEnv("valid_seen", data_dir=tmp_path)


def test_a_game_file_that_vanishes_is_no_loss(task, tmp_path):
    path = write_game(game_of(task), tmp_path / "json_2.1.1/train/pick/trial/game.tw-pddl")
    env = AlfWorldEnv("train", data_dir=tmp_path)
    path.unlink()
    with pytest.raises(InfrastructureError, match="cannot be read"):
        env.reset(seed=0)


def test_an_unreadable_game_leaves_the_others_of_a_split(tmp_path):
    tasks = [DOMAIN.generate(seed, rooms=["Bathroom"]) for seed in range(4)]
    paths = [write_game(game_of(task), tmp_path / f"json_2.1.1/train/game-{i}/trial") for i, task in enumerate(tasks)]
    ids = [DOMAIN.load(path).id for path in paths]

    def drawn():
        env = AlfWorldEnv("train", data_dir=tmp_path)
        return env, [env.reset(seed=seed)[1]["task_id"] for seed in range(40)]

    _, whole = drawn()
    assert set(whole) == set(ids)
    paths[2].write_text("{")
    paths[3].unlink()
    paths[3].mkdir()  # found, and no file
    with pytest.warns(UserWarning, match="left out") as warnings:
        env, rest = drawn()
    assert rest == [{ids[2]: ids[0], ids[3]: ids[0]}.get(task, task) for task in whole]  # the next takes the place
    assert sorted(env.source.unreadable) == [paths[2], paths[3]]
    assert [sum(path.parent.parent.name in str(w.message) for w in warnings) for path in paths] == [0, 0, 1, 1]
    assert [env.reset(seed=seed)[1]["task_id"] for seed in range(40)] == rest
    assert env.reset(options={"task": ids[1]})[1]["task_id"] == ids[1]
    with pytest.raises(UnknownTask, match="2 of which cannot be read"):
        AlfWorldEnv("train", data_dir=tmp_path).reset(options={"task": ids[2]})
    paths[0].write_text("{")
    paths[1].write_text("{")
    with pytest.raises(InfrastructureError, match=r"all 4 games .* cannot be read"):
        env.reset(seed=0)


@pytest.mark.parametrize(
    "kwargs",
    [
        {"split": "test"},
        {"engine": "unity"},
        {"render_mode": "human"},
        {"generated_split": "test"},
        {"split": "train", "knobs": {"kinds": ["heat"]}},
        {"data_dir": "json_2.1.1"},
    ],
)
def test_bad_arguments(kwargs):
    with pytest.raises(ValueError, match=r"choose|knobs|data_dir"):
        AlfWorldEnv(**kwargs)


# -- data that is handed out


def test_an_environment_can_be_pickled(task):
    env = AlfWorldEnv(tasks=[task])
    env.reset(seed=0)
    env.step("look")
    twin = pickle.loads(pickle.dumps(env))
    assert twin.step("inventory") == env.step("inventory")


def test_games_are_shared(task):
    one, two = AlfWorldEnv(), AlfWorldEnv()
    one.reset(options={"task": task})
    two.reset(options={"task": task})
    assert one.world.game is two.world.game
